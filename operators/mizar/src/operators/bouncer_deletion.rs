//! The workflow that deletes a bouncer: endpoints and dividers forget it, and it forgets them.

use windlass::{Cx, Machine, Outcome, States, done, fail_for_good, to};

use super::bouncer_dividers::vpc_of;
use super::bouncer_endpoints::network_of;
use super::parts::{
    Parts, agents, all_dividers, all_droplets_of_dividers, all_endpoints, droplets_of_bouncer, on,
    one_bouncer,
};
use super::program::Program;
use super::view::Selection;
use crate::api::Bouncer;
use crate::mistake::Mistake;
use crate::settings::MizarSettings;
use crate::tables::Inventory;

/// The finalizer machine of the bouncer operator.
pub(crate) struct BouncerDeletion {
    settings: MizarSettings,
}

/// The steps of the workflow.
#[derive(States)]
pub(crate) enum BouncerDeletionStep {
    /// No endpoint knows the bouncer.
    #[state(
        initial,
        condition = "EndpointsCleared",
        when_true = "No endpoint knows it",
        next(EndpointsForgotten)
    )]
    EndpointsForget,
    /// The bouncer knows no endpoint.
    #[state(condition = "EndpointsForgotten", when_true = "It knows no endpoint", next(DividersForget))]
    EndpointsForgotten,
    /// No divider knows the bouncer.
    #[state(condition = "DividersCleared", when_true = "No divider knows it", next(DividersForgotten))]
    DividersForget,
    /// The bouncer knows no divider.
    #[state(condition = "DividersForgotten", when_true = "It knows no divider")]
    DividersForgotten,
}

impl BouncerDeletion {
    pub(crate) fn new(settings: &MizarSettings) -> Self {
        BouncerDeletion { settings: settings.clone() }
    }
}

impl Machine for BouncerDeletion {
    type Parent = Bouncer;
    type State = BouncerDeletionStep;

    async fn run(&self, step: BouncerDeletionStep, cx: &Cx<Bouncer>) -> Outcome<BouncerDeletionStep> {
        use BouncerDeletionStep::{DividersForget, DividersForgotten, EndpointsForget, EndpointsForgotten};
        let bouncer = cx.parent();
        let Some(vni) = bouncer.state().vni else { return done() };
        if self.settings.has(Mistake::FailsToDelete) {
            return fail_for_good("KeyError", "vpc");
        }
        let parts = |inventory: &Inventory| -> Parts {
            let here = || droplets_of_bouncer(bouncer);
            match step {
                EndpointsForget => agents(inventory),
                EndpointsForgotten => on(here(), &all_endpoints(inventory, bouncer, vni)),
                DividersForget => on(all_droplets_of_dividers(inventory), &one_bouncer(bouncer, vni)),
                DividersForgotten => on(here(), &all_dividers(inventory, vni)),
            }
        };
        let selection: Selection<'_> = match step {
            EndpointsForget | EndpointsForgotten => network_of(&self.settings, bouncer),
            DividersForget | DividersForgotten => vpc_of(&self.settings, bouncer),
        };
        match Program::new(&self.settings, selection, &parts).run(cx).await?.or_wait(&self.settings) {
            Err(waits) => waits,
            Ok(_) => match step {
                EndpointsForget => to(EndpointsForgotten),
                EndpointsForgotten => to(DividersForget),
                DividersForget => to(DividersForgotten),
                DividersForgotten => done(),
            },
        }
    }
}
