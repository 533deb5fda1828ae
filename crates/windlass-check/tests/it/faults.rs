//! What each fault does, and what it does not do.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::things::Bank;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::CustomResource;
use kube::core::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use windlass::{Cx, Declaration, Machine, Outcome, States, Verb, done};
use windlass_check::{Check, ClientEvent, Faults, Oracle, Reductions, Report, Violation, check};

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "test.windlass.dev", version = "v1", kind = "Order", namespaced)]
struct OrderSpec {
    item: String,
}

fn order(name: &str, item: &str) -> Order {
    Order::new(name, OrderSpec { item: item.to_owned() })
}

fn map(name: &str, value: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        data: Some(BTreeMap::from([("value".to_owned(), value.to_owned())])),
        ..ConfigMap::default()
    }
}

fn value(map: &ConfigMap) -> &str {
    map.data.as_ref().and_then(|data| data.get("value")).map_or("", String::as_str)
}

#[derive(States)]
enum Only {
    #[state(initial, condition = "Paid")]
    Pay,
}

/// Pays, and writes down that it has: what comes in between makes it pay again.
struct Pays;

impl Machine for Pays {
    type Parent = Order;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.output::<ConfigMap>();
    }

    async fn run(&self, _: Only, cx: &Cx<Order>) -> Outcome<Only> {
        if cx.get::<ConfigMap>("receipt").await?.is_none() {
            cx.call(Bank, json!("pay")).await?;
        }
        cx.ensure(map("receipt", "paid"));
        done()
    }
}

fn paying(faults: Faults) -> Check {
    check(Pays)
        .given([order("o", "tea")])
        .service("bank", json!(0), |paid, _| {
            *paid = json!(paid.as_i64().unwrap_or(0) + 1);
            Ok(json!("thanks"))
        })
        .faults(faults)
        .always("paid at most once", |world| world.service("bank").and_then(Value::as_i64) <= Some(1))
        .eventually("there is a receipt", |world| world.has::<ConfigMap>("receipt"))
        .sometimes("it is paid", |world| world.service("bank").and_then(Value::as_i64) == Some(1))
}

fn faults_of(report: &Report) -> Vec<&str> {
    let steps = &report.violation.as_ref().and_then(Violation::trace).expect("it is violated").steps;
    steps.iter().filter_map(|step| step.fault.as_deref()).collect()
}

#[test]
fn what_may_have_happened_is_done_again() {
    for (faults, culprit) in [
        (Faults::none().crashes(1), "crash"),
        (Faults::none().lost_replies(1), "lost reply"),
        (Faults::none().partitions(1), "partition"),
        (Faults::none().duplicates(), "repeated delivery"),
    ] {
        let report = paying(faults).run();
        assert!(
            matches!(&report.violation, Some(Violation::Always { property, .. }) if property == "paid at most once"),
            "{report}"
        );
        assert_eq!(faults_of(&report), [culprit], "{report}");
    }
}

/// Marks what it has read, of that very version, and calls the bank if that is refused.
struct Marks;

impl Machine for Marks {
    type Parent = Order;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.may::<ConfigMap>([Verb::Get, Verb::Patch]);
    }

    async fn run(&self, _: Only, cx: &Cx<Order>) -> Outcome<Only> {
        if let Some(read) = cx.get::<ConfigMap>("mark").await? {
            let metadata = json!({ "resourceVersion": read.metadata.resource_version });
            let patch = json!({ "metadata": metadata, "data": { "value": "marked" } });
            if cx.patch::<ConfigMap>("mark", patch).await.is_err() {
                cx.call(Bank, json!("refused")).await?;
            }
        }
        done()
    }
}

#[test]
fn a_sender_may_get_the_refusal_of_its_own_repeated_write() {
    let check = check(Marks)
        .given([order("o", "tea")])
        .given([map("mark", "")])
        .service("bank", json!(false), |refused, _| {
            *refused = json!(true);
            Ok(json!("noted"))
        })
        .faults(Faults::none().duplicates())
        .sometimes("it is refused", |world| world.service("bank") == Some(&json!(true)));
    let check = Oracle::ALL.into_iter().fold(check, Check::without);
    check.assert();
    check.reductions(Reductions::none()).assert();
}

#[test]
fn after_a_limit_random_runs_are_drawn() {
    let report = paying(Faults::none().crashes(1)).max_states(20).run();
    assert_eq!(report.verdict(), "VIOLATED", "{report}");
    assert!(report.to_string().contains("found by a random run, that of seed "), "{report}");
    let report = paying(Faults::none()).max_states(5).run();
    assert!(report.violation.is_none() && !report.holds(), "{report}");
    assert!(
        report.to_string().contains("50 random runs after that, from seed 0 on, found nothing"),
        "{report}"
    );
    // There are no faults, so the states were visited once, by the number of steps.
    assert!(report.to_string().contains("steps deep"), "{report}");
}

#[test]
fn what_has_not_happened_is_done_in_the_end() {
    for (faults, name) in [
        (Faults::none().lost_requests(2), "lost request"),
        (Faults::none().errors(2), "error answer"),
        (Faults::none().watch_gaps(1), "watch gap"),
    ] {
        let report = copying(faults).assert();
        let struck =
            report.exploration.kinds.iter().find(|(kind, _)| *kind == name).expect("the kind is known");
        assert!(struck.1 > 0 && report.never_struck.is_empty(), "{report}");
    }
}

/// Copies the item of an order.
struct Copies;

impl Machine for Copies {
    type Parent = Order;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.output::<ConfigMap>();
    }

    async fn run(&self, _: Only, cx: &Cx<Order>) -> Outcome<Only> {
        cx.ensure(map("copy", &cx.parent().spec.item));
        done()
    }
}

fn copying(faults: Faults) -> Check {
    let change = ClientEvent::patch::<Order>("o", json!({ "spec": { "item": "coffee" } }));
    check(Copies)
        .given([order("o", "tea")])
        .client([change])
        .faults(faults)
        .never_between("it goes back to tea", |step| {
            let [before, after] = [&step.before, &step.after].map(|world| world.get::<ConfigMap>("copy"));
            matches!((&before, &after), (Some(before), Some(after)) if value(before) == "coffee" && value(after) == "tea")
        })
        .eventually("it is coffee", |world| {
            world.get::<ConfigMap>("copy").is_some_and(|copy| value(&copy) == "coffee")
        })
}

#[test]
fn after_a_restart_time_may_go_back() {
    let without = copying(Faults::none().stale(2)).assert();
    assert!(without.never_struck.is_empty(), "{without}");
    let report = copying(Faults::none().watch_gaps(1).stale(2)).run();
    let Some(Violation::Step { message, .. }) = &report.violation else { panic!("{report}") };
    assert!(message.contains("it goes back to tea"), "{report}");
    assert_eq!(faults_of(&report), ["watch gap", "stale read"], "{report}");
}

#[test]
fn what_was_sent_before_a_crash_may_arrive_after_what_is_sent_after_it() {
    let report = copying(Faults::none().crashes(1)).run();
    let Some(Violation::Step { message, trace }) = &report.violation else { panic!("{report}") };
    assert!(message.contains("it goes back to tea"), "{report}");
    assert_eq!(faults_of(&report), ["crash"], "{report}");
    assert!(trace.steps.last().is_some_and(|step| step.text.contains("delivers LATE")), "{report}");
}

/// Writes down when it began, and is sure that this is past.
struct TrustsItsClock;

impl Machine for TrustsItsClock {
    type Parent = Order;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.output::<ConfigMap>();
    }

    async fn run(&self, _: Only, cx: &Cx<Order>) -> Outcome<Only> {
        let now = cx.now().await.unix_seconds();
        let begun = cx.get::<ConfigMap>("begun").await?.map(|begun| value(&begun).parse().unwrap_or(0));
        assert!(begun.is_none_or(|begun: i64| begun <= now), "it began in the future");
        cx.ensure(map("begun", &begun.unwrap_or(now).to_string()));
        done()
    }
}

#[test]
fn clocks_jump_back_and_a_panic_is_shown_with_its_trace() {
    let on = |faults| check(TrustsItsClock).given([order("o", "tea")]).faults(faults);
    on(Faults::none().crashes(1)).assert();
    let report = on(Faults::none().clock_jumps(1, Duration::from_secs(3600))).run();
    let Some(Violation::Code { bug: windlass::Bug::Panicked { message, .. }, .. }) = &report.violation else {
        panic!("{report}")
    };
    assert_eq!(message, "it began in the future");
    assert_eq!(faults_of(&report), ["clock jump"], "{report}");
}

#[test]
fn two_processes_and_two_workers_reconcile_at_the_same_time() {
    // Two processes may both find that nothing was paid yet; two workers never take the same object.
    let report = paying(Faults::none()).replicas(2).run();
    assert!(matches!(report.violation, Some(Violation::Always { .. })), "{report}");
    paying(Faults::none()).workers(2).assert();
    // Two orders want the same receipt: with one worker the second finds that of the first before it pays.
    let two = |workers| {
        let check = paying(Faults::none()).given([order("p", "tea")]).workers(workers);
        check.without(Oracle::CanSucceed).without(Oracle::OneResult).run()
    };
    assert!(two(1).holds(), "{}", two(1));
    assert!(matches!(two(2).violation, Some(Violation::Always { .. })), "{}", two(2));
}

#[test]
fn a_fault_that_cannot_strike_is_named() {
    // Nothing here asks for what a cache may answer late: there is no write but its own.
    let report = check(TrustsItsClock).given([order("o", "tea")]).faults(Faults::none().stale(1)).run();
    assert_eq!(report.never_struck, ["stale read"], "{report}");
    assert!(report.to_string().contains("never possible"), "{report}");
}
