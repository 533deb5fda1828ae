//! The controller: two steps.

use k8s_openapi::api::core::v1::ConfigMap;
use windlass::{Cx, Declaration, Machine, Outcome, States, done, fail_for_good, to};

use crate::kind::{Greeting, config_map};

/// Greets.
pub struct Greeter;

/// The steps of a reconcile. Each is a condition in the status.
#[derive(States)]
pub enum Step {
    /// The name to greet is set.
    #[state(initial, condition = "Addressed", next(Greet))]
    Address,
    /// The ConfigMap.
    #[state(condition = "Greeted")]
    Greet,
}

impl Machine for Greeter {
    type Parent = Greeting;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.output::<ConfigMap>();
    }

    async fn run(&self, step: Step, cx: &Cx<Greeting>) -> Outcome<Step> {
        match step {
            Step::Address if cx.parent().spec.who.is_empty() => {
                fail_for_good("EmptyName", "spec.who is empty: set it to the name to greet")
            }
            Step::Address => to(Step::Greet),
            Step::Greet => {
                cx.ensure(config_map(cx.parent()));
                done()
            }
        }
    }
}
