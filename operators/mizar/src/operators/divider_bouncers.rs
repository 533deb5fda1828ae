//! The bouncer operator, for dividers: every bouncer of the VPC learns of the divider, and the divider of every bouncer.

use windlass::{Cx, Declaration, Machine, Outcome, States, done, to, watching};

use super::parts::{all_bouncers, droplets_of_bouncers, droplets_of_divider, on, one_divider};
use super::program::Program;
use super::triggers::once;
use super::view::{Group, Selection};
use crate::api::{Bouncer, Divider, DividerState, Droplet, Phase};
use crate::mistake::Mistake;
use crate::settings::MizarSettings;
use crate::tables::Inventory;

/// Provisions dividers.
pub struct DividerBouncers {
    settings: MizarSettings,
}

/// The steps of a reconcile.
#[derive(States)]
pub enum DividerBouncersStep {
    /// All bouncers know the divider.
    #[state(
        initial,
        condition = "BouncersUpdated",
        when_true = "All bouncers of the VPC know it",
        next(DividerUpdated)
    )]
    BouncersUpdated,
    /// The divider knows all bouncers.
    #[state(condition = "DividerUpdated", when_true = "It knows all bouncers of the VPC", next(Provisioned))]
    DividerUpdated,
    /// It works.
    Provisioned,
}

impl DividerBouncers {
    /// The operator.
    pub fn new(settings: &MizarSettings) -> Self {
        DividerBouncers { settings: settings.clone() }
    }

    fn selection<'a>(&'a self, divider: &'a Divider) -> Selection<'a> {
        Selection {
            dividers_of: Some(&divider.spec.vpc),
            bouncers_of: Some(Group::Vpc(&divider.spec.vpc)),
            ..Selection::of(&self.settings.namespace)
        }
    }
}

impl Machine for DividerBouncers {
    type Parent = Divider;
    type State = DividerBouncersStep;

    fn declare(&self, declaration: &mut Declaration) {
        declaration
            .name("mizar-divider-bouncers")
            .parents(watching::<Divider>().when(once(
                |divider: &Divider| divider.state().droplet.is_some(),
                |divider| {
                    let state = divider.state();
                    (state.droplet, state.left, state.bouncers_on)
                },
            )))
            .watches::<Bouncer>(|_| Vec::new())
            .watches::<Droplet>(|_| Vec::new());
    }

    async fn run(&self, step: DividerBouncersStep, cx: &Cx<Divider>) -> Outcome<DividerBouncersStep> {
        let (divider, state) = (cx.parent(), cx.parent().state());
        let (Some(vni), Some(droplet)) = (state.vni, &state.droplet) else { return done() };
        let is_done = state.bouncers_on.as_ref() == Some(droplet) && state.left.is_empty();
        let selection = self.selection(divider);
        match step {
            DividerBouncersStep::BouncersUpdated => {
                if is_done {
                    return to(DividerBouncersStep::DividerUpdated);
                }
                let parts =
                    |inventory: &Inventory| on(droplets_of_bouncers(inventory), &one_divider(cx.name(), vni));
                let sends_only_new = self.settings.has(Mistake::SendsOnlyTheNewDivider);
                let selection = Selection { only_divider: sends_only_new.then(|| cx.name()), ..selection };
                match Program::new(&self.settings, selection, &parts).run(cx).await?.or_wait(&self.settings) {
                    Ok(_) => to(DividerBouncersStep::DividerUpdated),
                    Err(waits) => waits,
                }
            }
            DividerBouncersStep::DividerUpdated if is_done => to(DividerBouncersStep::Provisioned),
            DividerBouncersStep::DividerUpdated => {
                let parts =
                    |inventory: &Inventory| on(droplets_of_divider(divider), &all_bouncers(inventory, vni));
                match Program::new(&self.settings, selection, &parts).run(cx).await?.or_wait(&self.settings) {
                    Ok(inventory) => {
                        let names =
                            inventory.bouncers.iter().filter_map(|bouncer| bouncer.metadata.name.clone());
                        cx.report(&DividerState {
                            phase: Phase::Provisioned,
                            left: Vec::new(),
                            bouncers_on: state.droplet.clone(),
                            bouncers: names.collect(),
                            ..state
                        })?;
                        to(DividerBouncersStep::Provisioned)
                    }
                    Err(waits) => waits,
                }
            }
            DividerBouncersStep::Provisioned => done(),
        }
    }
}
