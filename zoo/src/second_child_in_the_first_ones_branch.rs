//! Two children are made in one branch, which the first one guards: a crash between them, and the second is
//! never made.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Service;
use windlass::{Cx, Declaration, Machine, Outcome, States, Verb, done};
use windlass_check::{Check, Faults, check};

use crate::broker::{Broker, broker, service, stateful_set};
use crate::{Specimen, Twin};

struct MakeBroker(Twin);

#[derive(States)]
enum Step {
    #[state(initial)]
    Children,
}

impl Machine for MakeBroker {
    type Parent = Broker;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.may::<StatefulSet>([Verb::Get, Verb::Create]).may::<Service>([Verb::Get, Verb::Create]);
    }

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        let is_new = cx.get::<StatefulSet>("mq").await?.is_none();
        if is_new {
            cx.create(&stateful_set("mq", "10Gi")).await?;
        }
        let needs_service = match self.0 {
            Twin::Broken => is_new,
            Twin::Repaired => cx.get::<Service>("mq").await?.is_none(),
        };
        if needs_service {
            cx.create(&service("mq")).await?;
        }
        done()
    }
}

fn check_twin(twin: Twin) -> Check {
    check(MakeBroker(twin))
        .given([broker(&[])])
        .faults(Faults::none().crashes(1))
        .eventually("the broker can be reached", |world| world.has::<Service>("mq"))
        .sometimes("the set is there and the service is not", |world| {
            world.has::<StatefulSet>("mq") && !world.has::<Service>("mq")
        })
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "second_child_in_the_first_ones_branch",
        story: "Two children are made where the first is missing; after a crash between them the second is never made.",
        origin: "infinispan/infinispan-operator issue 337",
        reveals: "the broker can be reached",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
