//! To note a phase, the whole object is written back as it was read, without its version so that there are no
//! conflicts: what the user has changed since is lost.

use serde_json::json;
use windlass::{Cx, Declaration, Machine, Outcome, States, Verb, done};
use windlass_check::{Check, ClientEvent, View, check};

use crate::broker::{Broker, broker, field};
use crate::by_hand::patch;
use crate::{Specimen, Twin};

struct NotePhase(Twin);

#[derive(States)]
enum Step {
    #[state(initial)]
    Phase,
}

impl Machine for NotePhase {
    type Parent = Broker;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.may::<Broker>([Verb::Update, Verb::Patch]);
    }

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        if field(cx.parent(), "phase") == "Ready" {
            return done();
        }
        match self.0 {
            Twin::Broken => {
                let mut broker = cx.parent().clone();
                broker.data.get_or_insert_default().insert("phase".to_owned(), "Ready".to_owned());
                broker.metadata.resource_version = None;
                cx.update(&broker).await?;
            }
            Twin::Repaired => {
                patch::<_, Broker>(cx, cx.name(), json!({ "data": { "phase": "Ready" } })).await?;
            }
        }
        done()
    }
}

fn reads(world: &View<'_>, name: &str, value: &str) -> bool {
    world.get::<Broker>("mq").is_some_and(|broker| field(&broker, name) == value)
}

fn check_twin(twin: Twin) -> Check {
    check(NotePhase(twin))
        .given([broker(&[("replicas", "1")])])
        .client([ClientEvent::patch::<Broker>("mq", json!({ "data": { "replicas": "3" } }))])
        .eventually("there are three replicas, as the user said", |world| reads(world, "replicas", "3"))
        .sometimes("it is ready", |world| reads(world, "phase", "Ready"))
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "whole_object_written_back",
        story: "A phase is written with the whole object as it was read, over what the user has changed since.",
        origin: "chideat/valkey-operator pull request 108",
        reveals: "there are three replicas, as the user said",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
