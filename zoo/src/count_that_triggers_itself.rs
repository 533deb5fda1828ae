//! Every reconcile notes in the object that there was one more: the note is a change, and so the next reconcile
//! begins.

use serde_json::json;
use windlass::{Cx, Declaration, Machine, Outcome, States, Verb, done};
use windlass_check::{Check, check};

use crate::broker::{Broker, broker, field};
use crate::by_hand::patch;
use crate::{Specimen, Twin};

struct NoteReconciles(Twin);

#[derive(States)]
enum Step {
    #[state(initial)]
    Note,
}

impl Machine for NoteReconciles {
    type Parent = Broker;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.may::<Broker>([Verb::Patch]);
    }

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        let note = match self.0 {
            Twin::Broken => {
                let before: u32 = field(cx.parent(), "reconciles").parse().unwrap_or(0);
                json!({ "reconciles": (before + 1).to_string() })
            }
            // The same note again changes nothing, and triggers nothing.
            Twin::Repaired => json!({ "reconciled": "true" }),
        };
        patch::<_, Broker>(cx, cx.name(), json!({ "data": note })).await?;
        done()
    }
}

fn check_twin(twin: Twin) -> Check {
    check(NoteReconciles(twin))
        .given([broker(&[])])
        .clock(3)
        .always("the second reconcile is the last", |world| world.clock("mq") <= 2)
        .sometimes("there is a second one", |world| world.clock("mq") == 2)
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "count_that_triggers_itself",
        story: "Every reconcile counts itself in the object's data, and the changed count starts the next.",
        origin: "sky-uk/kfp-operator issue 625",
        reveals: "the second reconcile is the last",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
