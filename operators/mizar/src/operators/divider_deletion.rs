//! The workflow that deletes a divider: it forgets the bouncers, and they forget it.

use windlass::{Cx, Machine, Outcome, States, done, fail_for_good, to};

use super::parts::{all_bouncers, all_droplets_of_bouncers, droplets_of_divider, on, one_divider};
use super::program::Program;
use super::view::{Group, Selection};
use crate::api::Divider;
use crate::mistake::Mistake;
use crate::settings::MizarSettings;
use crate::tables::Inventory;

/// The finalizer machine of the divider operator.
pub(crate) struct DividerDeletion {
    settings: MizarSettings,
}

/// The steps of the workflow.
#[derive(States)]
pub(crate) enum DividerDeletionStep {
    /// The divider knows no bouncer.
    #[state(initial, condition = "DividerCleared", when_true = "It knows no bouncer", next(BouncersForget))]
    DividerForgets,
    /// No bouncer knows the divider.
    #[state(condition = "BouncersCleared", when_true = "No bouncer knows it")]
    BouncersForget,
}

impl DividerDeletion {
    pub(crate) fn new(settings: &MizarSettings) -> Self {
        DividerDeletion { settings: settings.clone() }
    }
}

impl Machine for DividerDeletion {
    type Parent = Divider;
    type State = DividerDeletionStep;

    async fn run(&self, step: DividerDeletionStep, cx: &Cx<Divider>) -> Outcome<DividerDeletionStep> {
        let divider = cx.parent();
        let Some(vni) = divider.state().vni else { return done() };
        if self.settings.has(Mistake::FailsToDelete) {
            return fail_for_good("KeyError", "vpc");
        }
        let selection = Selection {
            dividers_of: Some(&divider.spec.vpc),
            bouncers_of: Some(Group::Vpc(&divider.spec.vpc)),
            ..Selection::of(&self.settings.namespace)
        };
        let at_divider =
            |inventory: &Inventory| on(droplets_of_divider(divider), &all_bouncers(inventory, vni));
        let at_bouncers =
            |inventory: &Inventory| on(all_droplets_of_bouncers(inventory), &one_divider(cx.name(), vni));
        match step {
            DividerDeletionStep::DividerForgets => {
                match Program::new(&self.settings, selection, &at_divider)
                    .run(cx)
                    .await?
                    .or_wait(&self.settings)
                {
                    Ok(_) => to(DividerDeletionStep::BouncersForget),
                    Err(waits) => waits,
                }
            }
            DividerDeletionStep::BouncersForget => {
                match Program::new(&self.settings, selection, &at_bouncers)
                    .run(cx)
                    .await?
                    .or_wait(&self.settings)
                {
                    Ok(_) => done(),
                    Err(waits) => waits,
                }
            }
        }
    }
}
