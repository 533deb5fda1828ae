//! The finalizer goes when the release of a disk was asked for, not when the disk is gone: nothing is left to
//! ask again.

use serde_json::{Value, json};
use windlass::{Cx, Finalizer, Machine, Outcome, Service, States, done, requeue_after, secs};
use windlass_check::{Check, ClientEvent, View, check};

use crate::broker::{Broker, broker};
use crate::{Specimen, Twin};

struct MakeDisk(Twin);
struct ReleaseDisk(Twin);

#[derive(States)]
enum Step {
    #[state(initial)]
    Disk,
}

/// The cloud: a release detaches a disk that is attached, and removes one that is not.
struct Cloud;

impl Service for Cloud {
    const NAME: &'static str = "cloud";
    type Request = &'static str;
    /// What became of the disk.
    type Response = String;
}

impl Machine for MakeDisk {
    type Parent = Broker;
    type State = Step;

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        cx.call(Cloud, "make").await?;
        done()
    }

    fn finalizer(&self) -> Option<Finalizer<Broker>> {
        Some(Finalizer::new(ReleaseDisk(self.0)))
    }
}

impl Machine for ReleaseDisk {
    type Parent = Broker;
    type State = Step;

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        let disk = cx.call(Cloud, "release").await?;
        if self.0 == Twin::Repaired && disk != "gone" {
            return requeue_after(secs(1), "DiskIsLeft");
        }
        done()
    }
}

fn answer(disk: &mut Value, request: &Value) -> Value {
    *disk = match (request.as_str(), disk.as_str()) {
        (Some("make"), _) => json!("attached"),
        (_, Some("attached")) => json!("detached"),
        _ => json!("gone"),
    };
    disk.clone()
}

/// A broker that has its disk, and so its finalizer.
fn held_broker() -> Broker {
    let mut broker = broker(&[]);
    broker.metadata.finalizers = Some(vec!["windlass.dev/make-disk".to_owned()]);
    broker
}

fn has_disk(world: &View<'_>) -> bool {
    world.service("cloud").is_some_and(|disk| disk != "gone")
}

fn check_twin(twin: Twin) -> Check {
    check(MakeDisk(twin))
        .given([held_broker()])
        .client([ClientEvent::delete::<Broker>("mq")])
        .service("cloud", json!("attached"), |disk, request| Ok(answer(disk, request)))
        .always("a disk has a broker", |world| !has_disk(world) || world.has::<Broker>("mq"))
        .eventually("nothing is left", |world| !has_disk(world) && !world.has::<Broker>("mq"))
        .sometimes("a disk is on its way out", |world| world.service("cloud") == Some(&json!("detached")))
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "finalizer_gone_too_early",
        story: "The finalizer goes once the release of a disk was asked for, although the disk is still there.",
        origin: "kubernetes/cloud-provider-gcp pull request 865",
        reveals: "a disk has a broker",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
