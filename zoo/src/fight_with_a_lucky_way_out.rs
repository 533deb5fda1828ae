//! Two controllers write their own address into one DNS record, again and again. A third pins the record if it finds the
//! first one's address there: a matter of luck.
//!
//! The checker once could not find this. `eventually` assumed strong fairness: a step that is possible again and again is
//! taken at last, so the third comes at the right time at last, and the fight *held*. With `Fairness::Weak` only
//! an action that is possible without a break is taken for certain; the third may come too late for ever.

use serde_json::{Value, json};
use windlass::{
    Controller, Cx, Declaration, Machine, Outcome, Service, States, done_and_requeue_after, secs, watching,
};
use windlass_check::{Check, Fairness, check};

use crate::broker::{Broker, object};
use crate::{Specimen, Twin};

/// The DNS: one record, which can be pinned.
struct Dns;

impl Service for Dns {
    const NAME: &'static str = "dns";
    type Request = Value;
    type Response = Value;
}

/// Publishes the address of its broker, which is called like its label.
struct Publish {
    broker: &'static str,
    /// Whether it leaves a record alone that another one has written.
    yields: bool,
}

/// Pins the record if it is the address of `blue`.
struct Pin;

#[derive(States)]
enum Step {
    #[state(initial)]
    Record,
}

impl Machine for Publish {
    type Parent = Broker;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.name(self.broker);
        declaration.parents(watching::<Broker>().labels(&format!("for={}", self.broker)));
    }

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        let only_if_mine = self.yields;
        cx.call(Dns, json!({ "publish": self.broker, "onlyIfMine": only_if_mine })).await?;
        done_and_requeue_after(secs(60))
    }
}

impl Machine for Pin {
    type Parent = Broker;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.parents(watching::<Broker>().labels("for=pin"));
    }

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        cx.call(Dns, json!({ "pinIf": "blue" })).await?;
        done_and_requeue_after(secs(60))
    }
}

fn dns(record: &mut Value, request: &Value) {
    let is = |record: &Value, wanted: &Value| record["address"] == *wanted;
    if record["pinned"] == true {
        return;
    }
    if is(record, &request["pinIf"]) {
        record["pinned"] = json!(true);
    }
    let wanted = &request["publish"];
    if wanted.is_string() && (request["onlyIfMine"] == false || is(record, wanted)) {
        record["address"] = wanted.clone();
    }
}

fn broker_for(label: &str) -> Broker {
    object(json!({ "metadata": { "name": label, "labels": { "for": label } } }))
}

fn check_twin(twin: Twin) -> Check {
    let green = Publish { broker: "green", yields: twin == Twin::Repaired };
    check(Publish { broker: "blue", yields: false })
        .and(Controller::new(green))
        .and(Controller::new(Pin))
        .given(["blue", "green", "pin"].map(broker_for))
        .service("dns", json!({ "address": "blue", "pinned": false }), |record, request| {
            dns(record, request);
            Ok(Value::Null)
        })
        .eventually("the record is pinned", |world| {
            world.service("dns").is_some_and(|dns| dns["pinned"] == true)
        })
        .fairness(Fairness::Weak)
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "fight_with_a_lucky_way_out",
        story: "Two controllers overwrite each other's DNS record for ever; a third could end that at one point of the \
                fight. Under strong fairness it does at last, and this held; with Fairness::Weak it need not.",
        origin: "a wrong verdict of this checker",
        reveals: "the record is pinned",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
