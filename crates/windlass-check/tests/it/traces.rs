//! What a trace shows: which of several objects of one name, and what happens to services.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};
use windlass::{Cx, Declaration, Machine, Outcome, Service, Verb, done, requeue_after, secs};
use windlass_check::{Check, ClientEvent, Counterexample, Faults, Oracle, check};

use crate::things::{Bank, Only, Thing, map, thing};

/// Somebody else opens it.
struct Gate;

impl Service for Gate {
    const NAME: &'static str = "gate";
    type Request = Value;
    type Response = Value;
}

/// Deletes a ConfigMap that has expired, by its name, once the gate is open.
struct DeletesByName;

impl Machine for DeletesByName {
    type Parent = Thing;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.watches::<ConfigMap>(|_| Vec::new()).may::<ConfigMap>([Verb::Get, Verb::Delete]);
    }

    async fn run(&self, _: Only, cx: &Cx<Thing>) -> Outcome<Only> {
        if cx.call(Gate, json!("ask")).await? != json!("open") {
            return requeue_after(secs(1), "GateClosed");
        }
        let Some(mut seen) = cx.cached::<ConfigMap>("shared").await? else { return done() };
        if seen.data.as_ref().is_some_and(|data| data.contains_key("expired")) {
            seen.metadata.uid = None;
            cx.delete(&seen).await?;
        }
        done()
    }
}

fn replacing(gate: &str) -> Check {
    let mut expired = map("shared");
    expired.data = Some(BTreeMap::from([("expired".to_owned(), String::new())]));
    check(DeletesByName)
        .given([thing("t")])
        .given([expired])
        .service("gate", json!(gate), |gate, request| {
            if request == "open" {
                *gate = json!("open");
            }
            Ok(gate.clone())
        })
        .service_reads("gate", |request| request == "ask")
        .client([
            ClientEvent::delete::<ConfigMap>("shared"),
            ClientEvent::create(map("shared")),
            ClientEvent::call(Gate, &json!("open")),
        ])
        .only_first_violation()
}

fn counterexample(check: &Check) -> Counterexample {
    let report = check.run();
    check.counterexample("traced", &report).unwrap_or_else(|| panic!("{report}"))
}

/// The lines in which all of some words occur, in order, one per entry.
fn assert_in_order(text: &str, expected: &[&str]) {
    let mut lines = text.lines();
    for words in expected {
        assert!(lines.any(|line| line.contains(words)), "missing, or not in this order: {words}\n{text}");
    }
}

#[test]
fn two_objects_of_one_name_are_distinguished() {
    let check = replacing("open");
    let report = check.run();
    let hits = "delete configmaps default/shared#2 -> 200; it was decided on another object: configmaps default/shared#1";
    let expected = [
        "get configmaps default/shared#1 -> 200",
        "delete configmaps default/shared#1 -> 200",
        "- configmaps default/shared#1",
        "create configmaps default/shared#2 -> 201",
        "+ configmaps default/shared#2",
        hits,
        "- configmaps default/shared#2",
    ];
    assert_in_order(&report.to_string(), &expected);
    let document = counterexample(&check);
    assert_in_order(&document.to_string(), &expected);
    // Only where there are two of a name.
    assert!(!document.to_string().contains("default/t#"), "{document}");
    let diagram = document.to_mermaid().replace("#35;", "#");
    assert_in_order(&diagram, &["- configmaps default/shared#1", "+ configmaps default/shared#2"]);
    let page = document.to_html();
    for object in ["configmaps default/shared#1", "configmaps default/shared#2"] {
        assert!(page.contains(&format!("\"object\":\"{object}\"")), "{object}");
    }
    // The steps themselves have no numbers, so that they can be found again one by one.
    let again = check.replay(&Counterexample::from_json(&document.to_json()).expect("it was just written"));
    assert!(again.is_reproduced(), "{again}");
}

#[test]
fn a_stale_read_says_which_object_it_returned() {
    // It reads only after the new one is there: it decides on the old one only if the read is stale.
    let check = replacing("closed").faults(Faults::none().stale(2));
    assert_in_order(
        &check.run().to_string(),
        &[
            "create configmaps default/shared#2 -> 201",
            "~ service gate: \"closed\" -> \"open\"",
            "get configmaps default/shared#1 -> 200; by now another object has the name: configmaps default/shared#2",
            "delete configmaps default/shared#2 -> 200; it was decided on another object: configmaps default/shared#1",
        ],
    );
}

/// Pays for whatever it sees.
struct Pays;

impl Machine for Pays {
    type Parent = Thing;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.name("pays");
    }

    async fn run(&self, _: Only, cx: &Cx<Thing>) -> Outcome<Only> {
        cx.call(Bank, json!({ "for": cx.name() })).await?;
        done()
    }
}

fn paying() -> Check {
    check(Pays)
        .given([thing("t")])
        .service("bank", json!({ "payments": [], "open": true }), |bank, request| {
            if let Some(payments) = bank["payments"].as_array_mut() {
                payments.push(request["for"].clone());
            }
            Ok(json!("thanks"))
        })
        .service("idle", json!(0), |_, _| Ok(Value::Null))
        .only_first_violation()
        .always("paid at most once", |world| {
            world
                .service("bank")
                .and_then(|bank| bank["payments"].as_array())
                .is_none_or(|paid| paid.len() <= 1)
        })
}

#[test]
fn a_service_has_a_lane_and_its_state_is_shown_where_it_changes() {
    let check = paying();
    let expected = [
        "call bank {\"for\":\"t\"} -> \"thanks\"",
        "~ service bank: payments: [] -> [\"t\"]",
        "~ service bank: payments: [\"t\"] -> [\"t\",\"t\"]",
    ];
    assert_in_order(&check.run().to_string(), &expected);
    let document = counterexample(&check);
    assert_in_order(&document.to_string(), &expected);
    let diagram = document.to_mermaid();
    let lane = diagram.lines().find_map(|line| line.trim().strip_suffix(" as bank")).expect("a lane");
    let number = lane.strip_prefix("participant ").expect("a participant");
    assert!(diagram.contains(&format!("->>{number}: in state Make of default/t")), "{diagram}");
    assert!(diagram.contains(&format!("Note over {number}: ~ service bank")), "{diagram}");
    // A service that does not occur has none.
    assert!(!diagram.contains("as idle"), "{diagram}");
    assert_eq!(document.services["bank"]["open"], json!(true));
    assert!(check.replay(&document).is_reproduced());
    // A page from before services were recorded can be read, and replayed.
    let mut old = document;
    old.services.clear();
    old.steps.iter_mut().for_each(|step| {
        step.services.clear();
        step.objects.clear();
    });
    assert!(check.replay(&old).is_reproduced());
}

/// A service that is called like the lane of the API server.
struct Database;

impl Service for Database {
    const NAME: &'static str = "database";
    type Request = Value;
    type Response = Value;
}

/// Notes that a service did not answer.
struct GivesUp;

impl Machine for GivesUp {
    type Parent = Thing;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.output::<ConfigMap>();
    }

    async fn run(&self, _: Only, cx: &Cx<Thing>) -> Outcome<Only> {
        if cx.call(Database, Value::Null).await.is_err() {
            cx.ensure(map("failed"));
        }
        done()
    }
}

#[test]
fn faults_of_a_service_are_shown_on_its_lane() {
    for (faults, name) in
        [(Faults::none().errors(1), "error answer"), (Faults::none().partitions(1), "partition")]
    {
        let check = check(GivesUp)
            .given([thing("t")])
            .service("database", json!(0), |_, _| Ok(Value::Null))
            .faults(faults)
            .without(Oracle::OneResult)
            .always("it answers", |world| !world.has::<ConfigMap>("failed"));
        let document = counterexample(&check);
        let fault = document.steps.iter().find(|step| step.fault.as_deref() == Some(name));
        // The lane of the API server is another one.
        let lane = fault.and_then(|step| step.receiver.as_deref());
        assert_eq!(lane, Some("service database"), "{document}");
        let lanes = document.steps.iter().filter_map(|step| step.receiver.as_deref());
        assert!(lanes.into_iter().any(|lane| lane == "database"), "{document}");
    }
}
