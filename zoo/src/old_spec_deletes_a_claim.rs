//! A broker was scaled up, its controller restarts and reads the spec of before: it deletes the claim that the
//! new replica has its data on.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use serde_json::json;
use windlass::{Cx, Declaration, Machine, Outcome, States, Verb, done};
use windlass_check::{Check, ClientEvent, Faults, View, check};

use crate::broker::{Broker, broker, claim, field};
use crate::by_hand::create_once;
use crate::{Specimen, Twin};

struct ScaleClaims(Twin);

#[derive(States)]
enum Step {
    #[state(initial)]
    Claims,
}

impl Machine for ScaleClaims {
    type Parent = Broker;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.may::<PersistentVolumeClaim>([Verb::Get, Verb::Create, Verb::Delete]);
    }

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        if wants_second(cx.parent()) {
            create_once(cx, &claim("mq-1", "1Gi")).await?;
            return done();
        }
        let Some(unwanted) = cx.get::<PersistentVolumeClaim>("mq-1").await? else { return done() };
        // The parent came from a cache. Before something is lost for good, the API itself is asked.
        let is_certain = match self.0 {
            Twin::Broken => true,
            Twin::Repaired => cx.get::<Broker>(cx.name()).await?.is_some_and(|broker| !wants_second(&broker)),
        };
        if is_certain {
            cx.delete(&unwanted).await?;
        }
        done()
    }
}

fn wants_second(broker: &Broker) -> bool {
    field(broker, "replicas") == "2"
}

/// Whether the user wants the second claim, and it is there.
fn is_in_use(world: &View<'_>) -> bool {
    let wanted = world.get::<Broker>("mq").is_some_and(|broker| wants_second(&broker));
    wanted && world.has::<PersistentVolumeClaim>("mq-1")
}

fn check_twin(twin: Twin) -> Check {
    check(ScaleClaims(twin))
        .given([broker(&[("replicas", "1")])])
        .client([ClientEvent::patch::<Broker>("mq", json!({ "data": { "replicas": "2" } }))])
        .faults(Faults::none().crashes(1).stale(2))
        .never_between("a claim in use is deleted", |step| {
            is_in_use(&step.before) && !step.after.has::<PersistentVolumeClaim>("mq-1")
        })
        .sometimes("the second claim is in use", is_in_use)
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "old_spec_deletes_a_claim",
        story: "After a restart the cache shows the spec from before a scale-up, and a claim in use is deleted.",
        origin: "pravega/zookeeper-operator issue 314",
        reveals: "a claim in use is deleted",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
