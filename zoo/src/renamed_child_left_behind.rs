//! A child's name is part of what the user asks for: when it changes, a new child is made and the old one stays.

use k8s_openapi::api::core::v1::Service;
use serde_json::json;
use windlass::{Cx, Declaration, Machine, Outcome, States, Verb, done};
use windlass_check::{Check, ClientEvent, check};

use crate::broker::{Broker, broker, field, service};
use crate::by_hand::create_once;
use crate::{Specimen, Twin};

struct ExposeBroker(Twin);

#[derive(States)]
enum Step {
    #[state(initial)]
    Service,
}

impl Machine for ExposeBroker {
    type Parent = Broker;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        if self.0 == Twin::Repaired {
            declaration.output::<Service>();
        }
        declaration.may::<Service>([Verb::Create]);
    }

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        let service = service(field(cx.parent(), "service"));
        match self.0 {
            Twin::Broken => create_once(cx, &service).await?,
            // What a run does not ensure any more is pruned.
            Twin::Repaired => cx.ensure(service),
        }
        done()
    }
}

fn check_twin(twin: Twin) -> Check {
    check(ExposeBroker(twin))
        .given([broker(&[("service", "old")])])
        .client([ClientEvent::patch::<Broker>("mq", json!({ "data": { "service": "new" } }))])
        .eventually("only the new service is there", |world| {
            world.has::<Service>("new") && !world.has::<Service>("old")
        })
        .sometimes("the old service is there", |world| world.has::<Service>("old"))
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "renamed_child_left_behind",
        story: "The user renames a child; a new one is made, and nothing deletes the old one.",
        origin: "gardener/etcd-druid issue 931",
        reveals: "only the new service is there",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
