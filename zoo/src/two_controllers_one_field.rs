//! An operator sets the number of replicas that its user has asked for, an autoscaler the number that the load
//! asks for: each corrects what the other one has done, for ever.

use k8s_openapi::api::apps::v1::StatefulSet;
use serde_json::json;
use windlass::{Controller, Cx, Declaration, Error, Kind, Machine, ObjectRef, Outcome, States, Verb, done};
use windlass_check::{Check, View, check};

use crate::broker::{Broker, broker, stateful_set};
use crate::by_hand::patch;
use crate::{Specimen, Twin};

struct Operator(Twin);
struct Autoscaler;

#[derive(States)]
enum Step {
    #[state(initial)]
    Replicas,
}

impl Machine for Operator {
    type Parent = Broker;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.watches(|_: &StatefulSet| vec![ObjectRef::new("default", "mq")]);
        declaration.may::<StatefulSet>([Verb::Patch]);
    }

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        match self.0 {
            Twin::Broken => scale(cx, 1).await?,
            // The number of replicas is the autoscaler's affair.
            Twin::Repaired => {}
        }
        done()
    }
}

impl Machine for Autoscaler {
    type Parent = StatefulSet;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.may::<StatefulSet>([Verb::Patch]);
    }

    async fn run(&self, _: Step, cx: &Cx<StatefulSet>) -> Outcome<Step> {
        scale(cx, 2).await?;
        done()
    }
}

async fn scale<P: Kind>(cx: &Cx<P>, replicas: i32) -> Result<(), Error> {
    patch::<_, StatefulSet>(cx, "mq", json!({ "spec": { "replicas": replicas } })).await
}

fn replicas(world: &View<'_>) -> i32 {
    let set = world.get::<StatefulSet>("mq");
    set.and_then(|set| set.spec.replicas).unwrap_or(0)
}

fn check_twin(twin: Twin) -> Check {
    check(Operator(twin))
        .and(Controller::new(Autoscaler))
        .given([broker(&[])])
        .given([stateful_set("mq", "1Gi")])
        .sometimes("there are two replicas", |world| replicas(world) == 2)
        // While each has seen what the other one wrote last, versions only grow: the shortest trace of all would be
        // looked for among ever new states.
        .max_states(10_000)
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "two_controllers_one_field",
        story: "An operator and an autoscaler both set the number of replicas, and put each other right for ever.",
        origin: "operator-framework/operator-sdk issue 3367",
        reveals: "converges",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
