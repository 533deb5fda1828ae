//! Two brokers have a service of the same name: whichever is reconciled takes it from the other one, which is
//! notified and takes it back.

use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt;
use serde_json::json;
use windlass::{Cx, Declaration, Machine, ObjectRef, Outcome, States, Verb, done};
use windlass_check::{Check, Oracle, View, check};

use crate::broker::{Broker, broker, service};
use crate::by_hand::patch;
use crate::{Specimen, Twin};

struct TakeService(Twin);

#[derive(States)]
enum Step {
    #[state(initial)]
    Service,
}

impl Machine for TakeService {
    type Parent = Broker;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        let brokers = || vec![ObjectRef::new("default", "mq"), ObjectRef::new("default", "other")];
        declaration.watches(move |_: &Service| brokers());
        declaration.may::<Service>([Verb::Patch]);
    }

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        let Some(shared) = cx.get::<Service>("shared").await? else { return done() };
        let is_mine = match owner(&shared) {
            Some(owner) if self.0 == Twin::Repaired || owner == cx.name() => return done(),
            _ => json!({ "owner": cx.name() }),
        };
        patch::<_, Service>(cx, "shared", json!({ "metadata": { "annotations": is_mine } })).await?;
        done()
    }
}

fn owner(service: &Service) -> Option<&str> {
    service.annotations().get("owner").map(String::as_str)
}

fn other_broker() -> Broker {
    let mut other = broker(&[]);
    other.metadata.name = Some("other".to_owned());
    other
}

fn belongs_to(world: &View<'_>, broker: &str) -> bool {
    world.get::<Service>("shared").is_some_and(|service| owner(&service) == Some(broker))
}

fn check_twin(twin: Twin) -> Check {
    check(TakeService(twin))
        .given([broker(&[]), other_broker()])
        .given([service("shared")])
        .sometimes("one broker has the service", |world| belongs_to(world, "mq"))
        .sometimes("the other one has it", |world| belongs_to(world, "other"))
        // First come, first served: whose the service is depends on the order.
        .without(Oracle::OneResult)
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "two_parents_one_child",
        story: "Two brokers name the same service, and take it from each other for ever.",
        origin: "operator-framework/operator-marketplace pull request 254",
        reveals: "converges",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
