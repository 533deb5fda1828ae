//! A write that carries no resource version is sent, its sender crashes, and it arrives after what its
//! successor has written.

use k8s_openapi::api::apps::v1::StatefulSet;
use serde_json::json;
use windlass::{Cx, Declaration, Machine, Outcome, States, Verb, done};
use windlass_check::{Check, ClientEvent, Faults, View, check};

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
        declaration.may::<StatefulSet>([Verb::Get, Verb::Update, Verb::Patch]);
    }

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        let replicas: i32 = field(cx.parent(), "replicas").parse().unwrap_or(1);
        match self.0 {
            Twin::Broken => {
                patch::<_, StatefulSet>(cx, "mq", json!({ "spec": { "replicas": replicas } })).await?;
            }
            Twin::Repaired => {
                let Some(mut set) = cx.get::<StatefulSet>("mq").await? else { return done() };
                set.spec.replicas = Some(replicas);
                // It carries the version that was read: late, it is refused.
                cx.update(&set).await?;
            }
        }
        done()
    }
}

fn replicas(world: &View<'_>) -> i32 {
    let set = world.get::<StatefulSet>("mq");
    set.and_then(|set| set.spec.replicas).unwrap_or(0)
}

fn check_twin(twin: Twin) -> Check {
    check(ScaleBroker(twin))
        .given([broker(&[("replicas", "2")])])
        .given([stateful_set("mq", "1Gi")])
        .client([ClientEvent::patch::<Broker>("mq", json!({ "data": { "replicas": "3" } }))])
        .faults(Faults::none().crashes(1).reorders())
        .eventually("there are three replicas", |world| replicas(world) == 3)
        .sometimes("there are two", |world| replicas(world) == 2)
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "late_write_without_a_version",
        story: "A write without a resource version arrives after a crash, and undoes what was written since.",
        origin: "infinispan/infinispan-operator issue 2166",
        reveals: "there are three replicas",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
