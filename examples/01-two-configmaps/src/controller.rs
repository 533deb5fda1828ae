//! The controller: two states, one ConfigMap each.

use k8s_openapi::api::core::v1::ConfigMap;
use windlass::{Cx, Declaration, Machine, Outcome, States, done, to};

use crate::pair::{Pair, config_map};

/// Makes two ConfigMaps for each `Pair`, one after the other.
pub struct TwoConfigMaps;

/// The steps of a reconcile. Each is a status condition.
#[derive(States)]
pub enum Step {
    /// The first ConfigMap.
    #[state(initial, condition = "FirstReady", next(Second))]
    First,
    /// The second ConfigMap.
    #[state(condition = "SecondReady")]
    Second,
}

impl Machine for TwoConfigMaps {
    type Parent = Pair;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.name("two-configmaps").output::<ConfigMap>();
    }

    async fn run(&self, step: Step, cx: &Cx<Pair>) -> Outcome<Step> {
        match step {
            Step::First => {
                cx.ensure(config_map("cm1", cx.parent()));
                to(Step::Second)
            }
            Step::Second => {
                cx.ensure(config_map("cm2", cx.parent()));
                done()
            }
        }
    }
}
