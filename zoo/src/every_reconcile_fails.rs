//! A controller reads a field by a name that no broker has, and takes every broker for invalid.
//!
//! The checker once had this wrong. A reconcile that ends with `fail_for_good` is not repeated, so the world comes to
//! rest at once, and a property that demands nothing of a world in which nothing happens is true there: it *held*. A
//! controller none of whose reconciles can succeed is now a violation.

use k8s_openapi::api::apps::v1::StatefulSet;
use serde_json::json;
use windlass::{Cx, Declaration, Machine, Outcome, States, Verb, done, fail_for_good};
use windlass_check::{Check, check};

use crate::broker::{Broker, broker, field, stateful_set};
use crate::by_hand::patch;
use crate::{Specimen, Twin};

struct ScaleBroker(Twin);

#[derive(States)]
enum Step {
    #[state(initial)]
    Replicas,
}

impl Machine for ScaleBroker {
    type Parent = Broker;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.may::<StatefulSet>([Verb::Patch]);
    }

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        let name = match self.0 {
            Twin::Broken => "replica",
            Twin::Repaired => "replicas",
        };
        let Ok(replicas) = field(cx.parent(), name).parse::<i32>() else {
            return fail_for_good("InvalidSpec", "the number of replicas is missing");
        };
        patch::<_, StatefulSet>(cx, "mq", json!({ "spec": { "replicas": replicas.min(3) } })).await?;
        done()
    }
}

fn check_twin(twin: Twin) -> Check {
    check(ScaleBroker(twin)).given([broker(&[("replicas", "5")])]).given([stateful_set("mq", "1Gi")]).always(
        "there are at most three replicas",
        |world| {
            let spec = world.get::<StatefulSet>("mq").and_then(|set| set.spec.replicas);
            spec.unwrap_or(1) <= 3
        },
    )
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "every_reconcile_fails",
        story: "A controller looks for a field by a wrong name and fails for good with every object. Nothing happened, so \
                nothing was violated, and this held.",
        origin: "a wrong verdict of this checker",
        reveals: "a reconcile of `scale-broker` does not fail (InvalidSpec: the number of replicas is missing)",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
