//! The endpoint operator, for bouncers: the bouncer learns of every endpoint of its network, and later they of it.

use windlass::{Cx, Declaration, Machine, Outcome, States, done, to, waiting, watching};

use super::parts::{agents, all_endpoints, droplets_of_bouncer, on};
use super::program::Program;
use super::triggers::{FALLBACK, once};
use super::view::{Endpoints, Group, Selection};
use crate::api::{Bouncer, BouncerState, Droplet, Endpoint, Phase};
use crate::mistake::Mistake;
use crate::settings::MizarSettings;
use crate::tables::Inventory;

/// Lets bouncers and endpoints know of each other when a bouncer is new, or elsewhere.
pub struct BouncerEndpoints {
    settings: MizarSettings,
}

/// The steps of a reconcile.
#[derive(States)]
pub enum BouncerEndpointsStep {
    /// The bouncer knows all endpoints.
    #[state(
        initial,
        condition = "EndpointReady",
        when_true = "It knows all endpoints of its network",
        next(EndpointsUpdated)
    )]
    BouncerUpdated,
    /// All endpoints know the bouncer.
    #[state(condition = "EndpointsUpdated", when_true = "All endpoints of its network know it")]
    EndpointsUpdated,
}

impl BouncerEndpoints {
    /// The operator.
    pub fn new(settings: &MizarSettings) -> Self {
        BouncerEndpoints { settings: settings.clone() }
    }
}

/// A bouncer's network: its bouncers and its endpoints.
pub(super) fn network_of<'a>(settings: &'a MizarSettings, bouncer: &'a Bouncer) -> Selection<'a> {
    let (vpc, net) = (bouncer.spec.vpc.as_str(), bouncer.spec.net.as_str());
    Selection {
        bouncers_of: Some(Group::Net { vpc, net }),
        endpoints: Endpoints::OfNetwork { vpc, net },
        ..Selection::of(&settings.namespace)
    }
}

impl Machine for BouncerEndpoints {
    type Parent = Bouncer;
    type State = BouncerEndpointsStep;

    fn declare(&self, declaration: &mut Declaration) {
        declaration
            .name("mizar-bouncer-endpoints")
            .parents(watching::<Bouncer>().when(once(
                |bouncer: &Bouncer| bouncer.state().droplet.is_some(),
                |bouncer| {
                    let state = bouncer.state();
                    (state.droplet, state.left, state.phase, state.endpoints_on, state.agents_on)
                },
            )))
            .watches::<Endpoint>(|_| Vec::new())
            .watches::<Droplet>(|_| Vec::new());
    }

    async fn run(&self, step: BouncerEndpointsStep, cx: &Cx<Bouncer>) -> Outcome<BouncerEndpointsStep> {
        let (bouncer, state) = (cx.parent(), cx.parent().state());
        let (Some(vni), Some(droplet)) = (state.vni, &state.droplet) else { return done() };
        let selection = network_of(&self.settings, bouncer);
        match step {
            BouncerEndpointsStep::BouncerUpdated => {
                if state.endpoints_on.as_ref() == Some(droplet) {
                    return to(BouncerEndpointsStep::EndpointsUpdated);
                }
                let parts = |inventory: &Inventory| {
                    on(droplets_of_bouncer(bouncer), &all_endpoints(inventory, bouncer, vni))
                };
                match Program::new(&self.settings, selection, &parts).run(cx).await?.or_wait(&self.settings) {
                    Ok(inventory) => {
                        let endpoints = u32::try_from(inventory.endpoints.len()).unwrap_or(u32::MAX);
                        let endpoints_on = state.droplet.clone();
                        let provisioned = self.settings.has(Mistake::MovesWhatIsNotItsOwn);
                        let phase = if provisioned { Phase::Provisioned } else { state.phase };
                        cx.report(&BouncerState { phase, endpoints, endpoints_on, ..state })?;
                        to(BouncerEndpointsStep::EndpointsUpdated)
                    }
                    Err(waits) => waits,
                }
            }
            BouncerEndpointsStep::EndpointsUpdated => {
                if state.agents_on.as_ref() == Some(droplet) {
                    return done();
                }
                if state.phase != Phase::Provisioned {
                    return waiting(FALLBACK, "NotProvisioned", "the divider operator works on it");
                }
                let parts = |inventory: &Inventory| agents(inventory);
                match Program::new(&self.settings, selection, &parts).run(cx).await?.or_wait(&self.settings) {
                    Ok(_) => {
                        cx.report(&BouncerState { agents_on: state.droplet.clone(), ..state })?;
                        done()
                    }
                    Err(waits) => waits,
                }
            }
        }
    }
}
