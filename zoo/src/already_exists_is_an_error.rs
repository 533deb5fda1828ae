//! Children are created one after the other, and one that is there already is an error: after a crash between
//! them, every later try fails at the first.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Service;
use serde_json::json;
use windlass::{Cx, Declaration, Machine, Outcome, States, Verb, done};
use windlass_check::{Check, Faults, check};

use crate::broker::{Broker, broker, field, service, stateful_set};
use crate::by_hand::{create_once, patch};
use crate::{Specimen, Twin};

struct CreateBroker(Twin);

#[derive(States)]
enum Step {
    #[state(initial)]
    Children,
}

impl Machine for CreateBroker {
    type Parent = Broker;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration
            .may::<StatefulSet>([Verb::Create])
            .may::<Service>([Verb::Create])
            .may::<Broker>([Verb::Patch]);
    }

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        if field(cx.parent(), "phase") == "Created" {
            return done();
        }
        let set = stateful_set("mq", "1Gi");
        match self.0 {
            Twin::Broken => cx.create(&set).await.map(drop)?,
            Twin::Repaired => create_once(cx, &set).await?,
        }
        create_once(cx, &service("mq")).await?;
        patch::<_, Broker>(cx, cx.name(), json!({ "data": { "phase": "Created" } })).await?;
        done()
    }
}

fn check_twin(twin: Twin) -> Check {
    check(CreateBroker(twin))
        .given([broker(&[])])
        .faults(Faults::none().crashes(1))
        .eventually("the broker can be reached", |world| world.has::<Service>("mq"))
        .sometimes("the set is there and the service is not", |world| {
            world.has::<StatefulSet>("mq") && !world.has::<Service>("mq")
        })
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "already_exists_is_an_error",
        story: "A child that is there already is taken for a failure; after a crash every later try fails, for ever.",
        origin: "SwissDataScienceCenter/amalthea issue 392",
        reveals: "the broker can be reached",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
