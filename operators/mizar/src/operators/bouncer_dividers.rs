//! The divider operator, for bouncers: the bouncer learns of every divider of the VPC, and they of it.

use windlass::{Cx, Declaration, Machine, Outcome, States, done, to, waiting, watching};

use super::parts::{all_dividers, droplets_of_bouncer, droplets_of_dividers, on, one_bouncer};
use super::program::Program;
use super::triggers::{FALLBACK, once};
use super::view::{Group, Selection};
use crate::api::{Bouncer, BouncerState, Divider, Droplet, Phase};
use crate::settings::MizarSettings;
use crate::tables::Inventory;

/// Provisions bouncers.
pub struct BouncerDividers {
    settings: MizarSettings,
}

/// The steps of a reconcile.
#[derive(States)]
pub enum BouncerDividersStep {
    /// The bouncer knows all dividers.
    #[state(
        initial,
        condition = "DividersKnown",
        when_true = "It knows all dividers of the VPC",
        next(DividersUpdated)
    )]
    BouncerUpdated,
    /// All dividers know the bouncer.
    #[state(condition = "DividerReady", when_true = "All dividers of the VPC know it", next(Provisioned))]
    DividersUpdated,
    /// It works.
    Provisioned,
}

impl BouncerDividers {
    /// The operator.
    pub fn new(settings: &MizarSettings) -> Self {
        BouncerDividers { settings: settings.clone() }
    }
}

/// A bouncer's VPC: its dividers and its bouncers.
pub(super) fn vpc_of<'a>(settings: &'a MizarSettings, bouncer: &'a Bouncer) -> Selection<'a> {
    Selection {
        dividers_of: Some(&bouncer.spec.vpc),
        bouncers_of: Some(Group::Vpc(&bouncer.spec.vpc)),
        ..Selection::of(&settings.namespace)
    }
}

impl Machine for BouncerDividers {
    type Parent = Bouncer;
    type State = BouncerDividersStep;

    fn declare(&self, declaration: &mut Declaration) {
        declaration
            .name("mizar-bouncer-dividers")
            .parents(watching::<Bouncer>().when(once(
                |bouncer: &Bouncer| {
                    let state = bouncer.state();
                    state.droplet.is_some() && state.endpoints_on == state.droplet
                },
                |bouncer| {
                    let state = bouncer.state();
                    (state.droplet, state.left, state.dividers_on)
                },
            )))
            .watches::<Divider>(|_| Vec::new())
            .watches::<Droplet>(|_| Vec::new());
    }

    async fn run(&self, step: BouncerDividersStep, cx: &Cx<Bouncer>) -> Outcome<BouncerDividersStep> {
        let (bouncer, state) = (cx.parent(), cx.parent().state());
        let (Some(vni), Some(droplet)) = (state.vni, &state.droplet) else { return done() };
        if state.endpoints_on.as_ref() != Some(droplet) {
            return waiting(FALLBACK, "EndpointsNotReady", "the endpoint operator works on it");
        }
        let is_done = state.dividers_on.as_ref() == Some(droplet) && state.left.is_empty();
        let selection = vpc_of(&self.settings, bouncer);
        match step {
            BouncerDividersStep::BouncerUpdated => {
                if is_done {
                    return to(BouncerDividersStep::DividersUpdated);
                }
                let parts =
                    |inventory: &Inventory| on(droplets_of_bouncer(bouncer), &all_dividers(inventory, vni));
                match Program::new(&self.settings, selection, &parts).run(cx).await?.or_wait(&self.settings) {
                    Ok(_) => to(BouncerDividersStep::DividersUpdated),
                    Err(waits) => waits,
                }
            }
            BouncerDividersStep::DividersUpdated if is_done => to(BouncerDividersStep::Provisioned),
            BouncerDividersStep::DividersUpdated => {
                let parts =
                    |inventory: &Inventory| on(droplets_of_dividers(inventory), &one_bouncer(bouncer, vni));
                match Program::new(&self.settings, selection, &parts).run(cx).await?.or_wait(&self.settings) {
                    Ok(inventory) => {
                        let names =
                            inventory.dividers.iter().filter_map(|divider| divider.metadata.name.clone());
                        cx.report(&BouncerState {
                            phase: Phase::Provisioned,
                            left: Vec::new(),
                            dividers_on: state.droplet.clone(),
                            dividers: names.collect(),
                            ..state
                        })?;
                        to(BouncerDividersStep::Provisioned)
                    }
                    Err(waits) => waits,
                }
            }
            BouncerDividersStep::Provisioned => done(),
        }
    }
}
