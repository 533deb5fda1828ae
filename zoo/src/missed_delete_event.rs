//! The disk of a pod is released when the pod is seen to end: the watch breaks, the next one begins with what
//! is there, and a pod that is gone is not there.

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use windlass::{Cx, Declaration, Machine, ObjectRef, Outcome, Service, States, Verb, done};
use windlass_check::{Check, ClientEvent, Faults, check};

use crate::broker::{Broker, object, pod};
use crate::by_hand::patch;
use crate::{Specimen, Twin};

/// Its parents are notes, made when a pod ends, under the name of the pod.
struct ReleaseDisks(Twin);

#[derive(States)]
enum Step {
    #[state(initial)]
    Disk,
}

/// The cloud, with the one disk that there is.
struct Cloud;

impl Service for Cloud {
    const NAME: &'static str = "cloud";
    /// What is to become of the disk.
    type Request = &'static str;
    type Response = ();
}

impl Machine for ReleaseDisks {
    type Parent = Broker;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration
            .watches(|pod: &Pod| {
                let ends = pod.metadata.deletion_timestamp.is_some();
                pod.metadata
                    .name
                    .iter()
                    .filter(|_| ends)
                    .map(|name| ObjectRef::new("default", name))
                    .collect()
            })
            .create_missing(|note| object::<Broker>(json!({ "metadata": { "name": note.name } })));
        declaration.may::<Pod>([Verb::Patch]);
    }

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        cx.call(Cloud, "released").await?;
        if self.0 == Twin::Repaired && cx.get::<Pod>(cx.name()).await?.is_some() {
            patch::<_, Pod>(cx, cx.name(), json!({ "metadata": { "finalizers": null } })).await?;
        }
        done()
    }
}

/// The repaired controller's pods are held until their disks are released: they cannot go unseen.
fn pod_with_disk(twin: Twin) -> Pod {
    let mut pod = pod("mq-0");
    if twin == Twin::Repaired {
        pod.metadata.finalizers = Some(vec!["disks.example.com/release".to_owned()]);
    }
    pod
}

fn check_twin(twin: Twin) -> Check {
    check(ReleaseDisks(twin))
        .given([pod_with_disk(twin)])
        .client([ClientEvent::delete::<Pod>("mq-0")])
        .service("cloud", json!("in use"), |disk, request| {
            *disk = request.clone();
            Ok(Value::Null)
        })
        .faults(Faults::none().watch_gaps(1))
        .eventually("the disk is released", |world| world.service("cloud") == Some(&json!("released")))
        .sometimes("the pod is gone", |world| !world.has::<Pod>("mq-0"))
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "missed_delete_event",
        story: "A pod's disk is released when the watch reports the pod's end; while the watch is broken, it never does.",
        origin: "dotnet/dotnet-operator-sdk issue 675",
        reveals: "the disk is released",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
