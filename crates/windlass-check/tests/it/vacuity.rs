//! Verdicts that say less than they seem to, and verdicts that say all that is wrong.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};
use windlass::{Cx, Declaration, Machine, Outcome, Service, done, fail_for_good, requeue_after, secs};
use windlass_check::{Check, ClientEvent, Faults, Oracle, Violation, check};

use crate::things::{Only, Thing, map, thing};

#[derive(Clone, Copy)]
enum How {
    Fails,
    Waits,
    NotesWhoCameFirst,
    Succeeds,
}

struct Maker(How);

struct Visitors;

impl Service for Visitors {
    const NAME: &'static str = "visitors";
    type Request = Value;
    type Response = Value;
}

impl Machine for Maker {
    type Parent = Thing;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.output::<ConfigMap>();
    }

    async fn run(&self, _: Only, cx: &Cx<Thing>) -> Outcome<Only> {
        match self.0 {
            How::Fails => return fail_for_good("Hopeless", "it is hopeless"),
            How::Waits => return requeue_after(secs(1), "WaitingForGodot"),
            How::NotesWhoCameFirst => {
                let first = cx.call(Visitors, json!(cx.name())).await?;
                let mut note = map(cx.name());
                note.data = Some(BTreeMap::from([("first".to_owned(), first.to_string())]));
                cx.ensure(note);
            }
            How::Succeeds => cx.ensure(map("made")),
        }
        done()
    }
}

fn making(how: How) -> Check {
    check(Maker(how)).given([thing("a")])
}

#[test]
fn a_controller_that_can_only_fail_is_a_violation() {
    let report = making(How::Fails).run();
    let Some(Violation::Never { property }) = &report.violation else { panic!("{report}") };
    assert_eq!(property, "a reconcile of `maker` does not fail (Hopeless: it is hopeless)");
    assert!(making(How::Fails).without(Oracle::CanSucceed).run().holds());
}

#[test]
fn a_controller_that_only_waits_is_noted() {
    let report = making(How::Waits).assert();
    assert!(report.notes.iter().any(|note| note.contains("it always waits (WaitingForGodot)")), "{report}");
    assert_eq!(making(How::Succeeds).assert().notes, Vec::<String>::new());
}

#[test]
fn an_event_that_never_succeeds_is_noted() {
    let events = [
        ClientEvent::patch::<Thing>("absent", json!({ "spec": { "value": "1" } })),
        ClientEvent::patch::<Thing>("a", json!({ "spec": { "value": "1" } })),
    ];
    let report = making(How::Succeeds).client(events).assert();
    assert_eq!(
        report.notes,
        [
            "event 1 of script 1, `patch things default/absent`, never succeeds: things.test.windlass.dev \"absent\" not found"
        ]
    );
}

#[test]
fn all_violated_rules_are_reported_the_users_first() {
    let report = check(Maker(How::NotesWhoCameFirst))
        .given([thing("a"), thing("b")])
        .service("visitors", json!(null), |first, name| {
            if first.is_null() {
                *first = name.clone();
            }
            Ok(first.clone())
        })
        .always("there is no note of b", |world| !world.has::<ConfigMap>("b"))
        .eventually("there is none of a", |world| !world.has::<ConfigMap>("a"))
        .run();
    let rules = |violation: &Violation| match violation {
        Violation::Always { property, .. } | Violation::Eventually { property, .. } => property.clone(),
        Violation::AtRest { message, .. } => message.lines().next().unwrap_or_default().to_owned(),
        other => panic!("{other}"),
    };
    let all: Vec<String> = report.violation.iter().chain(&report.further).map(rules).collect();
    assert_eq!(all[..2], ["there is no note of b", "there is none of a"], "{report}");
    assert!(all[2].starts_with("\"one result\""), "{report}");
    // It says which fields differ, and in which services.
    let text = report.to_string();
    assert!(text.contains("configmaps default/a:") && text.contains("service visitors"), "{text}");
}

#[test]
fn ends_may_differ_in_fields_that_are_named() {
    let visited = |check: Check| {
        check.given([thing("b")]).service("visitors", json!({}), |state, name| {
            if state["first"].is_null() {
                state["first"] = name.clone();
            }
            Ok(state["first"].clone())
        })
    };
    assert!(visited(making(How::NotesWhoCameFirst)).run().violation.is_some());
    visited(making(How::NotesWhoCameFirst)).may_differ(["/data/first", "/first"]).assert();
    // The state of the service is enough to distinguish ends.
    let report = visited(making(How::NotesWhoCameFirst)).may_differ(["/data/first"]).run();
    assert!(
        matches!(&report.violation, Some(Violation::AtRest { message, .. }) if message.contains("service visitors")),
        "{report}"
    );
    let report = making(How::Succeeds).faults(Faults::none().crashes(1)).only_first_violation().run();
    assert!(report.holds(), "{report}");
}

#[test]
fn a_property_that_panics_is_named_and_has_a_trace() {
    let report = making(How::Succeeds)
        .always("it can be read", |world| {
            assert!(!world.has::<ConfigMap>("made"), "cannot read it");
            true
        })
        .run();
    let Some(Violation::Always { property, trace }) = &report.violation else { panic!("{report}") };
    assert_eq!(property, "it can be read");
    assert!(!trace.steps.is_empty());
    assert!(
        report.notes.contains(&"the property \"it can be read\" panicked: cannot read it".to_owned()),
        "{report}"
    );
}

#[test]
fn a_limit_says_which_it_is_and_what_was_seen() {
    let report = making(How::Succeeds).faults(Faults::none().crashes(3)).max_states(40).run();
    let note = report.notes.iter().find(|note| note.starts_with("the limit of 40 states (Check::max_states"));
    assert!(note.is_some_and(|note| note.contains("everything that needs no fault was seen")), "{report}");
}

#[test]
fn a_step_that_changes_nothing_is_no_step_to_a_rule() {
    // The event is refused, so nothing happens but that the script goes on.
    let refused = ClientEvent::patch::<Thing>("absent", json!({ "spec": { "value": "1" } }));
    check(Maker(How::Succeeds)).client([refused]).never_between("anything at all", |_| true).assert();
    let report = making(How::Succeeds).never_between("anything at all", |_| true).run();
    assert!(matches!(report.violation, Some(Violation::Step { .. })), "{report}");
}
