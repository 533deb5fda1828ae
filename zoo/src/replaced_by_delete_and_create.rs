//! To give a broker more storage, its set is deleted, its claim grows, and the set is made anew: a crash after
//! the delete, and nothing says any more that the claim has yet to grow.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use serde_json::json;
use windlass::{Cx, Declaration, Error, Machine, Outcome, States, Verb, done};
use windlass_check::{Check, Faults, check};

use crate::broker::{Broker, broker, claim, field, stateful_set, storage};
use crate::by_hand::patch;
use crate::{Specimen, Twin};

struct GrowBroker(Twin);

#[derive(States)]
enum Step {
    #[state(initial)]
    Storage,
}

impl Machine for GrowBroker {
    type Parent = Broker;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration
            .may::<StatefulSet>([Verb::Get, Verb::Create, Verb::Delete])
            .may::<PersistentVolumeClaim>([Verb::Patch]);
    }

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        let wanted = field(cx.parent(), "storage");
        if self.0 == Twin::Repaired {
            // The claim itself says whether it must grow, and the set stays until it has.
            grow(cx, wanted).await?;
        }
        let mut set = cx.get::<StatefulSet>("mq").await?;
        if let Some(old) = set.take_if(|set| storage(set) != wanted) {
            cx.delete(&old).await?;
            if self.0 == Twin::Broken {
                grow(cx, wanted).await?;
            }
        }
        if set.is_none() {
            cx.create(&stateful_set("mq", wanted)).await?;
        }
        done()
    }
}

async fn grow(cx: &Cx<Broker>, storage: &str) -> Result<(), Error> {
    let annotations = json!({ "storage": storage });
    patch::<_, PersistentVolumeClaim>(cx, "mq", json!({ "metadata": { "annotations": annotations } })).await
}

fn check_twin(twin: Twin) -> Check {
    check(GrowBroker(twin))
        .given([broker(&[("storage", "15Gi")])])
        .given([stateful_set("mq", "10Gi")])
        .given([claim("mq", "10Gi")])
        .faults(Faults::none().crashes(1))
        .eventually("the claim has grown", |world| {
            world.get::<PersistentVolumeClaim>("mq").is_some_and(|claim| storage(&claim) == "15Gi")
        })
        .sometimes("there is no set", |world| !world.has::<StatefulSet>("mq"))
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "replaced_by_delete_and_create",
        story: "A set is deleted, its claim grows, the set is made anew; after a crash behind the delete the claim never grows.",
        origin: "rabbitmq/cluster-operator issue 782",
        reveals: "the claim has grown",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
