//! A broker is marked as handled before it is: a crash in between, and it is never handled.

use k8s_openapi::api::core::v1::Service;
use serde_json::json;
use windlass::{Cx, Declaration, Error, Machine, Outcome, States, Verb, done};
use windlass_check::{Check, Faults, check};

use crate::broker::{Broker, broker, field, service};
use crate::by_hand::{create_once, patch};
use crate::{Specimen, Twin};

struct HandleBroker(Twin);

#[derive(States)]
enum Step {
    #[state(initial)]
    Handle,
}

impl Machine for HandleBroker {
    type Parent = Broker;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.may::<Service>([Verb::Create]).may::<Broker>([Verb::Patch]);
    }

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        if field(cx.parent(), "phase") == "Handled" {
            return done();
        }
        match self.0 {
            Twin::Broken => {
                mark(cx).await?;
                create_once(cx, &service("mq")).await?;
            }
            Twin::Repaired => {
                create_once(cx, &service("mq")).await?;
                mark(cx).await?;
            }
        }
        done()
    }
}

async fn mark(cx: &Cx<Broker>) -> Result<(), Error> {
    patch::<_, Broker>(cx, cx.name(), json!({ "data": { "phase": "Handled" } })).await
}

fn check_twin(twin: Twin) -> Check {
    check(HandleBroker(twin))
        .given([broker(&[])])
        .faults(Faults::none().crashes(1))
        .eventually("the broker can be reached", |world| world.has::<Service>("mq"))
        .sometimes("it is handled", |world| {
            world.get::<Broker>("mq").is_some_and(|broker| field(&broker, "phase") == "Handled")
        })
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "marked_before_done",
        story: "A broker is marked as handled, and then handled; after a crash in between it never is.",
        origin: "eclipse-theia/theia-cloud issue 221",
        reveals: "the broker can be reached",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
