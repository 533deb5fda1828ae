//! The divider operator: the home of a divider.

use windlass::{Cx, Declaration, Finalizer, Machine, Outcome, States, done, waiting, watching};

use super::divider_deletion::DividerDeletion;
use super::triggers::{FALLBACK, once};
use crate::api::{Bouncer, Divider, Droplet, Phase};
use crate::settings::MizarSettings;

/// Registers a divider, and looks after its deletion. Its store is the watch cache, which follows by itself.
pub struct DividerOperator {
    settings: MizarSettings,
}

/// The steps of a reconcile.
#[derive(States)]
pub enum DividerStep {
    /// The bouncer operator has provisioned it.
    #[state(initial, condition = "Observed", when_true = "It is Provisioned")]
    Observation,
}

impl DividerOperator {
    /// The operator.
    pub fn new(settings: &MizarSettings) -> Self {
        DividerOperator { settings: settings.clone() }
    }
}

impl Machine for DividerOperator {
    type Parent = Divider;
    type State = DividerStep;

    fn declare(&self, declaration: &mut Declaration) {
        declaration
            .name("mizar-divider")
            .parents(watching::<Divider>().when(once(|_: &Divider| true, |divider| divider.state().phase)))
            .watches::<Bouncer>(|_| Vec::new())
            .watches::<Droplet>(|_| Vec::new());
    }

    async fn run(&self, _: DividerStep, cx: &Cx<Divider>) -> Outcome<DividerStep> {
        match cx.parent().state().phase {
            Phase::Provisioned => done(),
            Phase::Init => {
                waiting(FALLBACK, "NotProvisioned", "the droplet and bouncer operators work on it")
            }
        }
    }

    fn finalizer(&self) -> Option<Finalizer<Divider>> {
        Some(Finalizer::new(DividerDeletion::new(&self.settings)))
    }
}
