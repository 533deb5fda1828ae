//! The bouncer operator: the home of a bouncer.

use windlass::{Cx, Declaration, Finalizer, Machine, Outcome, States, done, waiting, watching};

use super::bouncer_deletion::BouncerDeletion;
use super::triggers::{FALLBACK, once};
use crate::api::{Bouncer, Divider, Droplet, Endpoint, Phase};
use crate::settings::MizarSettings;

/// Registers a bouncer, and looks after its deletion. Its store is the watch cache, which follows by itself.
pub struct BouncerOperator {
    settings: MizarSettings,
}

/// The steps of a reconcile.
#[derive(States)]
pub enum BouncerStep {
    /// The divider operator has provisioned it.
    #[state(initial, condition = "Observed", when_true = "It is Provisioned")]
    Observation,
}

impl BouncerOperator {
    /// The operator.
    pub fn new(settings: &MizarSettings) -> Self {
        BouncerOperator { settings: settings.clone() }
    }
}

impl Machine for BouncerOperator {
    type Parent = Bouncer;
    type State = BouncerStep;

    fn declare(&self, declaration: &mut Declaration) {
        declaration
            .name("mizar-bouncer")
            .parents(watching::<Bouncer>().when(once(|_: &Bouncer| true, |bouncer| bouncer.state().phase)))
            .watches::<Divider>(|_| Vec::new())
            .watches::<Droplet>(|_| Vec::new())
            .watches::<Endpoint>(|_| Vec::new());
    }

    async fn run(&self, _: BouncerStep, cx: &Cx<Bouncer>) -> Outcome<BouncerStep> {
        match cx.parent().state().phase {
            Phase::Provisioned => done(),
            Phase::Init => {
                waiting(FALLBACK, "NotProvisioned", "the droplet, endpoint and divider operators work on it")
            }
        }
    }

    fn finalizer(&self) -> Option<Finalizer<Bouncer>> {
        Some(Finalizer::new(BouncerDeletion::new(&self.settings)))
    }
}
