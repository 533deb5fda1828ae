//! The generation for which a claim was formatted is noted in an annotation; any other generation formats it anew, even
//! if only the number of replicas has changed.
//!
//! The checker once had this wrong. It renumbered states by default, so that a generation that no controller had read and
//! not yet written back was 1 again, and the one in the annotation was never another: this controller *held*, in 13
//! states, and the one by which it was found in 17. What code makes of a version, a generation or a uid is now
//! compared with what it makes of others, and states are renumbered only if that is the same.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use serde_json::json;
use windlass::{Cx, Declaration, Machine, Outcome, States, Verb, done};
use windlass_check::{Check, ClientEvent, View, check};

use crate::broker::{claim, stateful_set, storage};
use crate::{Specimen, Twin};

const FORMATTED_FOR: &str = "formatted-for";
const DATA: &str = "data";

struct FormatClaim(Twin);

#[derive(States)]
enum Step {
    #[state(initial)]
    Format,
}

impl Machine for FormatClaim {
    type Parent = StatefulSet;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.may::<PersistentVolumeClaim>([Verb::Get, Verb::Update]);
    }

    async fn run(&self, _: Step, cx: &Cx<StatefulSet>) -> Outcome<Step> {
        let Some(mut claim) = cx.get::<PersistentVolumeClaim>("data-mq-0").await? else { return done() };
        let wanted = match self.0 {
            Twin::Broken => cx.parent().metadata.generation.unwrap_or(0).to_string(),
            // What the claim was formatted for is its storage, whatever else has changed.
            Twin::Repaired => storage(cx.parent()).to_owned(),
        };
        let notes = claim.metadata.annotations.get_or_insert_default();
        match notes.get(FORMATTED_FOR) {
            Some(noted) if *noted == wanted => return done(),
            Some(_) => drop(notes.insert(DATA.to_owned(), "wiped".to_owned())),
            None => drop(notes.insert(DATA.to_owned(), "kept".to_owned())),
        }
        notes.insert(FORMATTED_FOR.to_owned(), wanted);
        cx.update(&claim).await?;
        done()
    }
}

fn data_is(world: &View<'_>, wanted: &str) -> bool {
    let notes = world.get::<PersistentVolumeClaim>("data-mq-0").and_then(|claim| claim.metadata.annotations);
    notes.is_some_and(|notes| notes.get(DATA).is_some_and(|data| data == wanted))
}

fn check_twin(twin: Twin) -> Check {
    check(FormatClaim(twin))
        .given([stateful_set("mq", "1Gi")])
        .given([claim("data-mq-0", "1Gi")])
        .client([
            ClientEvent::wait_until("the claim is formatted", |world| data_is(world, "kept")),
            ClientEvent::patch::<StatefulSet>("mq", json!({ "spec": { "replicas": 2 } })),
        ])
        .always("the data is kept", |world| !data_is(world, "wiped"))
        .sometimes("the claim is formatted", |world| data_is(world, "kept"))
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "generation_kept_in_an_annotation",
        story: "A claim is formatted anew for every generation but the noted one; the user scales, and the data is wiped. \
                While every state was renumbered, the generation never changed, and this held in 13 states.",
        origin: "a wrong verdict of this checker",
        reveals: "the data is kept",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
