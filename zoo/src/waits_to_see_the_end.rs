//! A claim is deleted when its pod is seen to end: the watch reports the pod only when it is gone, and the
//! claim stays for ever.

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use serde_json::json;
use windlass::{Cx, Declaration, Machine, ObjectRef, Outcome, States, Verb, done};
use windlass_check::{Check, ClientEvent, check};

use crate::broker::{Broker, broker, claim, pod};
use crate::{Specimen, Twin};

struct DropClaims(Twin);

#[derive(States)]
enum Step {
    #[state(initial)]
    Claims,
}

impl Machine for DropClaims {
    type Parent = Broker;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.watches(|_: &Pod| vec![ObjectRef::new("default", "mq")]);
        declaration.may::<PersistentVolumeClaim>([Verb::Get, Verb::Delete]);
    }

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        let pod = cx.get::<Pod>("mq-0").await?;
        let is_over = match self.0 {
            // A watcher may miss every version but the last.
            Twin::Broken => pod.is_some_and(|pod| pod.metadata.deletion_timestamp.is_some()),
            Twin::Repaired => pod.is_none_or(|pod| pod.metadata.deletion_timestamp.is_some()),
        };
        if is_over && let Some(claim) = cx.get::<PersistentVolumeClaim>("mq-0").await? {
            cx.delete(&claim).await?;
        }
        done()
    }
}

/// A pod that is held until its log is shipped, and so ends in two steps.
fn held_pod() -> Pod {
    let mut pod = pod("mq-0");
    pod.metadata.finalizers = Some(vec!["logs.example.com/ship".to_owned()]);
    pod
}

fn check_twin(twin: Twin) -> Check {
    check(DropClaims(twin))
        .given([broker(&[])])
        .given([held_pod()])
        .given([claim("mq-0", "1Gi")])
        .client([
            ClientEvent::delete::<Pod>("mq-0"),
            ClientEvent::patch::<Pod>("mq-0", json!({ "metadata": { "finalizers": null } })),
        ])
        .eventually("the claim is gone", |world| !world.has::<PersistentVolumeClaim>("mq-0"))
        .sometimes("the pod is gone and the claim is not", |world| {
            !world.has::<Pod>("mq-0") && world.has::<PersistentVolumeClaim>("mq-0")
        })
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "waits_to_see_the_end",
        story: "A claim goes when its pod is seen to be ending; a pod that ends between two looks leaves its claim behind.",
        origin: "instaclustr/cassandra-operator issue 398",
        reveals: "the claim is gone",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
