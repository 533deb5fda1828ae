//! What becomes of ensured outputs in every interleaving: of states that wait or fail, and of fenced ones.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::core::ObjectMeta;
use serde_json::json;
use windlass::{Bug, Cx, Declaration, Machine, Outcome, Output, done, fail_for_good, requeue_after, secs};
use windlass_check::{Between, Check, ClientEvent, Faults, View, Violation, check};

use crate::things::{Only, Thing, ThingSpec};

fn thing(name: &str, value: &str) -> Thing {
    Thing::new(name, ThingSpec { value: value.to_owned() })
}

/// What the machine does with its output.
#[derive(Clone, Copy)]
enum How {
    EnsureAndWait,
    EnsureAndFail,
    DrawEachTime,
    DrawOnce,
    Plain,
    Fenced,
}

struct Maker(How);

impl Machine for Maker {
    type Parent = Thing;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.output::<ConfigMap>().output::<Secret>();
    }

    async fn run(&self, _: Only, cx: &Cx<Thing>) -> Outcome<Only> {
        let copy = map("copy", &cx.parent().spec.value);
        match self.0 {
            How::EnsureAndWait => {
                cx.ensure(copy);
                return requeue_after(secs(5), "WaitingForSomebody");
            }
            How::EnsureAndFail => {
                cx.ensure(copy);
                return fail_for_good("Hopeless", "it is hopeless");
            }
            How::DrawEachTime => cx.ensure(secret(&cx.random_password(8).await)),
            How::DrawOnce => cx.ensure(Output::from(secret(&cx.random_password(8).await)).only_if_absent()),
            How::Plain => cx.ensure(copy),
            How::Fenced => cx.ensure(Output::from(copy).fenced()),
        }
        done()
    }
}

fn map(name: &str, value: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        data: Some(BTreeMap::from([("value".to_owned(), value.to_owned())])),
        ..ConfigMap::default()
    }
}

fn secret(password: &str) -> Secret {
    Secret {
        metadata: ObjectMeta { name: Some("login".to_owned()), ..ObjectMeta::default() },
        string_data: Some(BTreeMap::from([("password".to_owned(), password.to_owned())])),
        ..Secret::default()
    }
}

#[test]
fn what_a_waiting_state_ensures_exists() {
    check(Maker(How::EnsureAndWait))
        .given([thing("a", "1")])
        .faults(Faults::none().crashes(1).duplicates())
        .eventually("the copy exists", |world| world.has::<ConfigMap>("copy"))
        .assert();
}

#[test]
fn an_output_that_a_failing_state_drops_is_a_bug() {
    let report = check(Maker(How::EnsureAndFail)).given([thing("a", "1")]).run();
    let Some(Violation::Code { bug: Bug::OutputNotApplied { state, outputs, .. }, .. }) = &report.violation
    else {
        panic!("{report}")
    };
    assert_eq!((state.as_str(), outputs.as_str()), ("Make", "ConfigMap default/copy"));
}

fn drawing(how: How) -> Check {
    let password = |world: &View<'_>| world.get::<Secret>("login").and_then(|secret| secret.data);
    check(Maker(how))
        .given([thing("a", "1")])
        .faults(Faults::none().crashes(1).duplicates().lost_replies(1))
        .never_between("the password changes", move |step: &Between<'_>| {
            let (before, after) = (password(&step.before), password(&step.after));
            before.is_some() && before != after
        })
        .eventually("there is a password", |world| world.has::<Secret>("login"))
}

#[test]
fn a_password_that_is_created_only_if_absent_is_drawn_once() {
    let report = drawing(How::DrawOnce).assert();
    assert!(report.exploration.kinds.iter().any(|(kind, times)| *kind == "random draw" && *times > 0));
    let report = drawing(How::DrawEachTime).run();
    let Some(Violation::Step { message, .. }) = &report.violation else { panic!("{report}") };
    assert!(message.contains("the password changes"), "{report}");
}

fn copying(how: How) -> Check {
    let value = |world: &View<'_>| {
        let copy = world.get::<ConfigMap>("copy")?;
        copy.data?.get("value").cloned()
    };
    check(Maker(how))
        .given([thing("a", "old")])
        .client([ClientEvent::patch::<Thing>("a", json!({ "spec": { "value": "new" } }))])
        .faults(Faults::none().crashes(1).duplicates())
        .never_between("the old value comes back", move |step: &Between<'_>| {
            value(&step.before).as_deref() == Some("new") && value(&step.after).as_deref() == Some("old")
        })
        .eventually("the copy is new", move |world| value(world).as_deref() == Some("new"))
}

#[test]
fn late_and_repeated_writes_of_a_fenced_output_bring_nothing_back() {
    copying(How::Fenced).assert();
    let report = copying(How::Plain).run();
    let Some(Violation::Step { message, .. }) = &report.violation else { panic!("{report}") };
    assert!(message.contains("the old value comes back"), "{report}");
}
