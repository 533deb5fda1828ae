//! The bouncer operator, for endpoints: every bouncer of the network learns of the endpoint, and the container runtime gets
//! its interface.

use serde_json::json;
use windlass::{Cx, Declaration, Machine, Outcome, States, done, to, waiting, watching};

use super::parts::{Parts, droplets_of_bouncers, interface, on, one_endpoint};
use super::program::{Part, Program};
use super::triggers::{FALLBACK, once};
use super::view::{Endpoints, Group, Selection};
use crate::api::{Bouncer, Droplet, Endpoint, EndpointType, Phase};
use crate::mistake::Mistake;
use crate::settings::MizarSettings;
use crate::tables::Inventory;

/// Provisions endpoints.
pub struct EndpointBouncers {
    settings: MizarSettings,
}

/// The steps of a reconcile.
#[derive(States)]
pub enum EndpointBouncersStep {
    /// All bouncers know the endpoint.
    #[state(
        initial,
        condition = "BouncerReady",
        when_true = "All bouncers of the network know it",
        next(InterfaceReady, Provisioned)
    )]
    BouncersUpdated,
    /// The container runtime can ask for the interface.
    #[state(
        condition = "InterfaceReady",
        when_true = "Its interface is known on its droplet",
        next(Provisioned)
    )]
    InterfaceReady,
    /// It works.
    Provisioned,
}

impl EndpointBouncers {
    /// The operator.
    pub fn new(settings: &MizarSettings) -> Self {
        EndpointBouncers { settings: settings.clone() }
    }
}

/// An endpoint and the bouncers of its network.
pub(super) fn around<'a>(settings: &'a MizarSettings, cx: &'a Cx<Endpoint>) -> Selection<'a> {
    let (vpc, net) = (cx.parent().spec.vpc.as_str(), cx.parent().spec.net.as_str());
    Selection {
        bouncers_of: Some(Group::Net { vpc, net }),
        endpoints: Endpoints::One { namespace: cx.namespace(), name: cx.name() },
        ..Selection::of(&settings.namespace)
    }
}

impl Machine for EndpointBouncers {
    type Parent = Endpoint;
    type State = EndpointBouncersStep;

    fn declare(&self, declaration: &mut Declaration) {
        declaration
            .name("mizar-endpoint-bouncers")
            .parents(watching::<Endpoint>().when(once(
                |endpoint: &Endpoint| endpoint.state().address.ip.is_some(),
                |endpoint| {
                    let state = endpoint.state();
                    (state.address, endpoint.bouncers_know(), state.hosted)
                },
            )))
            .watches::<Bouncer>(|_| Vec::new())
            .watches::<Droplet>(|_| Vec::new());
    }

    async fn run(&self, step: EndpointBouncersStep, cx: &Cx<Endpoint>) -> Outcome<EndpointBouncersStep> {
        match step {
            EndpointBouncersStep::BouncersUpdated => self.bouncers(cx).await,
            EndpointBouncersStep::InterfaceReady => self.interface(cx).await,
            EndpointBouncersStep::Provisioned => {
                if cx.parent().state().phase == Phase::Init {
                    let created = cx.parent().metadata.creation_timestamp.as_ref();
                    let now = cx.now().await;
                    let created = created.map_or(now.unix_seconds(), |created| created.0.as_second());
                    let delay = format!("{}s", now.unix_seconds() - created);
                    cx.report(&json!({ "phase": Phase::Provisioned, "provisionDelay": delay }))?;
                }
                done()
            }
        }
    }
}

impl EndpointBouncers {
    async fn bouncers(&self, cx: &Cx<Endpoint>) -> Outcome<EndpointBouncersStep> {
        let endpoint = cx.parent();
        if endpoint.state().address.ip.is_none() {
            return waiting(FALLBACK, "NotAllocated", "it has no address yet");
        }
        let next = match endpoint.spec.r#type {
            EndpointType::Simple if endpoint.spec.droplet.is_some() => EndpointBouncersStep::InterfaceReady,
            _ => EndpointBouncersStep::Provisioned,
        };
        let keeps_backends =
            self.settings.has(Mistake::KeepsLastBackends) && endpoint.spec.backends.is_empty();
        let is_scaled = endpoint.spec.r#type == EndpointType::Scaled;
        if endpoint.is_known_to_bouncers()
            || (keeps_backends && is_scaled && endpoint.bouncers_know().is_some())
        {
            return to(next);
        }
        let selection = around(&self.settings, cx);
        let parts = |inventory: &Inventory| on(droplets_of_bouncers(inventory), &one_endpoint(endpoint));
        match Program::new(&self.settings, selection, &parts).run(cx).await?.or_wait(&self.settings) {
            Ok(inventory) => {
                let placed = inventory.bouncers.iter().filter(|bouncer| bouncer.placed().is_some());
                let names: Vec<String> = placed.filter_map(|bouncer| bouncer.metadata.name.clone()).collect();
                if names.is_empty() {
                    let message = format!("no bouncer of the subnet {:?} is placed", endpoint.spec.net);
                    return waiting(self.settings.retry_interval, "NoBouncer", message);
                }
                cx.report(&json!({ "bouncers": names }))?;
                to(next)
            }
            Err(waits) => waits,
        }
    }

    async fn interface(&self, cx: &Cx<Endpoint>) -> Outcome<EndpointBouncersStep> {
        let (endpoint, state) = (cx.parent(), cx.parent().state());
        if state.phase == Phase::Provisioned {
            return to(EndpointBouncersStep::Provisioned);
        }
        if !state.hosted {
            return waiting(FALLBACK, "NotHosted", "the endpoint operator works on it");
        }
        let selection = around(&self.settings, cx);
        let parts = |_: &Inventory| -> Parts {
            let part = interface(endpoint).map(|scope| Part::of([scope]));
            endpoint.spec.droplet.clone().zip(part).into_iter().collect()
        };
        match Program::new(&self.settings, selection, &parts).run(cx).await?.or_wait(&self.settings) {
            Ok(_) => to(EndpointBouncersStep::Provisioned),
            Err(waits) => waits,
        }
    }
}
