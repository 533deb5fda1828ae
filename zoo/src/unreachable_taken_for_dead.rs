//! A leader that does not answer, not even when it is asked again, is taken for dead: cut off from the operator,
//! it goes on leading, and there are two leaders.

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use windlass::{Cx, Declaration, Machine, Outcome, Service, States, Verb, done};
use windlass_check::{Check, Faults, Oracle, View, check};

use crate::broker::{Broker, broker, pod};
use crate::{Specimen, Twin};

struct FailOver(Twin);

#[derive(States)]
enum Step {
    #[state(initial)]
    Leader,
}

/// The broker that leads at first. To be asked is enough.
struct First;

impl Service for First {
    const NAME: &'static str = "mq-0";
    type Request = ();
    type Response = ();
}

/// The broker that stands by. To be asked is to lead.
struct Second;

impl Service for Second {
    const NAME: &'static str = "mq-1";
    type Request = ();
    type Response = ();
}

impl Machine for FailOver {
    type Parent = Broker;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.may::<Pod>([Verb::Get, Verb::Delete]);
    }

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        // One lost message is no reason for a failover.
        if cx.call(First, ()).await.is_ok() || cx.call(First, ()).await.is_ok() {
            return done();
        }
        if self.0 == Twin::Repaired
            && let Some(pod) = cx.get::<Pod>("mq-0").await?
        {
            // A broker whose pod is gone leads no one, whether it can be reached or not.
            cx.delete(&pod).await?;
        }
        cx.call(Second, ()).await?;
        done()
    }
}

fn second_leads(world: &View<'_>) -> bool {
    world.service("mq-1") == Some(&json!("leads"))
}

fn check_twin(twin: Twin) -> Check {
    check(FailOver(twin))
        .given([broker(&[])])
        .given([pod("mq-0"), pod("mq-1")])
        .service("mq-0", json!("leads"), |_, _| Ok(Value::Null))
        .service("mq-1", json!("stands by"), |state, _| {
            *state = json!("leads");
            Ok(Value::Null)
        })
        .faults(Faults::none().partitions(1))
        .always("there is one leader at most", |world| !(world.has::<Pod>("mq-0") && second_leads(world)))
        .sometimes("the second broker leads", second_leads)
        // Where there was a partition, there may have been a failover.
        .without(Oracle::OneResult)
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "unreachable_taken_for_dead",
        story: "A leader that the operator cannot reach is taken for dead, and another one is made leader beside it.",
        origin: "cloudnative-pg/cloudnative-pg issue 7407",
        reveals: "there is one leader at most",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
