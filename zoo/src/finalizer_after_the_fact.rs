//! A disk is made for a claim, and then the claim gets a finalizer: deleted in between, it leaves its disk
//! behind.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::ResourceExt;
use serde_json::{Value, json};
use windlass::{Cx, Declaration, Error, Machine, ObjectRef, Outcome, Service, States, Verb, done};
use windlass_check::{Check, ClientEvent, View, check};

use crate::broker::{Broker, broker, claim};
use crate::by_hand::patch;
use crate::{Specimen, Twin};

const FINALIZER: &str = "disks.example.com/release";

struct MakeDisks(Twin);

#[derive(States)]
enum Step {
    #[state(initial)]
    Disk,
}

/// The cloud: it keeps one disk per uid.
struct Cloud;

impl Service for Cloud {
    const NAME: &'static str = "cloud";
    type Request = (&'static str, String);
    type Response = ();
}

impl Machine for MakeDisks {
    type Parent = Broker;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.watches(|_: &PersistentVolumeClaim| vec![ObjectRef::new("default", "mq")]);
        declaration.may::<PersistentVolumeClaim>([Verb::Patch]);
    }

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        let Some(claim) = cx.get::<PersistentVolumeClaim>("mq-0").await? else { return done() };
        let uid = claim.uid().unwrap_or_default();
        // Others hold the claim as well: Kubernetes itself, as long as a pod uses it.
        let (own, others): (Vec<_>, Vec<_>) = claim.finalizers().iter().partition(|name| *name == FINALIZER);
        let with_own = || others.iter().map(|name| name.as_str()).chain([FINALIZER]).collect();
        if claim.metadata.deletion_timestamp.is_some() {
            if !own.is_empty() {
                cx.call(Cloud, ("release", uid)).await?;
                set_finalizers(cx, &claim, others.iter().map(|name| name.as_str()).collect()).await?;
            }
        } else if own.is_empty() {
            match self.0 {
                Twin::Broken => {
                    cx.call(Cloud, ("make", uid)).await?;
                    set_finalizers(cx, &claim, with_own()).await?;
                }
                // The claim with its finalizer is looked at again, and then the disk is made.
                Twin::Repaired => set_finalizers(cx, &claim, with_own()).await?,
            }
        } else {
            cx.call(Cloud, ("make", uid)).await?;
        }
        done()
    }
}

async fn set_finalizers(
    cx: &Cx<Broker>,
    claim: &PersistentVolumeClaim,
    finalizers: Vec<&str>,
) -> Result<(), Error> {
    let metadata = json!({ "resourceVersion": claim.resource_version(), "finalizers": finalizers });
    patch::<_, PersistentVolumeClaim>(cx, &claim.name_any(), json!({ "metadata": metadata })).await
}

fn has_disk(world: &View<'_>) -> bool {
    world.service("cloud").and_then(Value::as_array).is_some_and(|disks| !disks.is_empty())
}

fn check_twin(twin: Twin) -> Check {
    check(MakeDisks(twin))
        .given([broker(&[])])
        .given([claim("mq-0", "1Gi")])
        .client([ClientEvent::delete::<PersistentVolumeClaim>("mq-0")])
        .service("cloud", json!([]), |disks, request| {
            let others = disks.as_array().into_iter().flatten().filter(|disk| **disk != request[1]);
            let mut left: Vec<Value> = others.cloned().collect();
            left.extend((request[0] == "make").then(|| request[1].clone()));
            *disks = left.into();
            Ok(Value::Null)
        })
        .always("a disk has a claim", |world| !has_disk(world) || world.has::<PersistentVolumeClaim>("mq-0"))
        .sometimes("there is a disk", has_disk)
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "finalizer_after_the_fact",
        story: "A disk is made before its claim has a finalizer; a claim that is deleted in between leaves it behind.",
        origin: "outscale/cluster-api-provider-outscale issue 917",
        reveals: "a disk has a claim",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
