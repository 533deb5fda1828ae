//! What was made is remembered in the process, which forgets it when it crashes and believes it when it is
//! out of date.

use std::sync::atomic::{AtomicBool, Ordering};

use k8s_openapi::api::core::v1::Service;
use windlass::{Cx, Declaration, Machine, Outcome, States, Verb, done};
use windlass_check::{Check, check};

use crate::broker::{Broker, broker, service};
use crate::{Specimen, Twin};

struct MakeBroker {
    twin: Twin,
    has_service: AtomicBool,
}

#[derive(States)]
enum Step {
    #[state(initial)]
    Service,
}

impl Machine for MakeBroker {
    type Parent = Broker;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.may::<Service>([Verb::Get, Verb::Create]);
    }

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        let has_service = match self.twin {
            Twin::Broken => self.has_service.swap(true, Ordering::Relaxed),
            Twin::Repaired => cx.get::<Service>("mq").await?.is_some(),
        };
        if !has_service {
            cx.create(&service("mq")).await?;
        }
        done()
    }
}

fn check_twin(twin: Twin) -> Check {
    check(MakeBroker { twin, has_service: AtomicBool::new(false) })
        .given([broker(&[])])
        .eventually("the broker can be reached", |world| world.has::<Service>("mq"))
        .sometimes("the broker cannot be reached yet", |world| !world.has::<Service>("mq"))
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "remembered_in_memory",
        story: "What was made is remembered in the process only, so that the same answers lead to other requests.",
        origin: "kubernetes/kubernetes issue 78124",
        reveals: "NotDeterministic",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
