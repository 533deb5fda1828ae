//! A mistake for the checker to find: the same controller, but it creates the second ConfigMap first.

use k8s_openapi::api::core::v1::ConfigMap;
use windlass::{Cx, Declaration, Machine, Outcome, States, done, to};

use crate::pair::{Pair, config_map};

/// The mutant of [`TwoConfigMaps`](crate::TwoConfigMaps). At rest it cannot be distinguished from the original.
pub struct SecondFirst;

/// The steps of a reconcile, in the wrong order.
#[derive(States)]
pub enum Step {
    /// The second ConfigMap.
    #[state(initial, condition = "SecondReady", next(First))]
    Second,
    /// The first ConfigMap.
    #[state(condition = "FirstReady")]
    First,
}

impl Machine for SecondFirst {
    type Parent = Pair;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.output::<ConfigMap>();
    }

    async fn run(&self, step: Step, cx: &Cx<Pair>) -> Outcome<Step> {
        match step {
            Step::Second => {
                cx.ensure(config_map("cm2", cx.parent()));
                to(Step::First)
            }
            Step::First => {
                cx.ensure(config_map("cm1", cx.parent()));
                done()
            }
        }
    }
}
