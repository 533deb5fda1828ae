//! A mistake for the checker to find: it creates the ConfigMap, and fails if it exists already.

use k8s_openapi::api::core::v1::ConfigMap;
use windlass::{Cx, Declaration, Machine, Outcome, States, Verb, done};

use crate::kind::{Greeting, config_map};

/// Seems to work: the first reconcile of a greeting succeeds.
pub struct CreatesOnce;

/// Its one step.
#[derive(States)]
pub enum Step {
    /// The ConfigMap.
    #[state(initial, condition = "Greeted")]
    Greet,
}

impl Machine for CreatesOnce {
    type Parent = Greeting;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.may::<ConfigMap>([Verb::Create]);
    }

    async fn run(&self, _: Step, cx: &Cx<Greeting>) -> Outcome<Step> {
        cx.create(&config_map(cx.parent())).await?;
        done()
    }
}
