//! What a machine declares decides when it is notified: in the checker as on a cluster.

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;
use windlass::{
    Cx, Declaration, Machine, ObjectRef, Outcome, changed, done, secs, watching, watching_metadata,
};
use windlass_check::{Check, ClientEvent, Faults, Violation, check};

use crate::things::{Only, Thing, map, thing};

/// Makes `out` as long as there is a ConfigMap `token` with the label `valid`.
struct Follows(fn(&mut Declaration));

impl Machine for Follows {
    type Parent = Thing;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        // Its own outputs would notify it of every ConfigMap that it owns, and of no other.
        (self.0)(declaration.name("follows").output::<ConfigMap>());
    }

    async fn run(&self, _: Only, cx: &Cx<Thing>) -> Outcome<Only> {
        let token = cx.get::<ConfigMap>("token").await?;
        let labels = token.and_then(|token| token.metadata.labels).unwrap_or_default();
        if labels.contains_key("valid") {
            cx.ensure(map("out"));
        }
        done()
    }
}

fn token() -> ConfigMap {
    let mut token = map("token");
    token.metadata.labels = Some([("valid".to_owned(), "yes".to_owned())].into());
    token
}

fn all() -> Vec<ObjectRef> {
    vec![ObjectRef::new("default", "t")]
}

/// The token comes, and then a client does something that ends it.
fn ends(declare: fn(&mut Declaration), end: ClientEvent) -> Check {
    check(Follows(declare))
        .given([thing("t")])
        .client([ClientEvent::create(token()), end])
        .sometimes("out is made", |world| world.has::<ConfigMap>("out"))
        .eventually("out is gone", |world| !world.has::<ConfigMap>("out"))
}

fn loses_its_label() -> ClientEvent {
    ClientEvent::patch::<ConfigMap>("token", json!({"metadata": {"labels": null}}))
}

fn is_deleted() -> ClientEvent {
    ClientEvent::delete::<ConfigMap>("token")
}

#[test]
fn an_object_that_loses_its_label_notifies() {
    for end in [loses_its_label, is_deleted] {
        let faults = || Faults::none().crashes(1);
        ends(
            |it| {
                it.watch(watching::<ConfigMap>().labels("valid"), |_| all());
            },
            end(),
        )
        .faults(faults())
        .assert();
        ends(
            |it| {
                it.watch(watching_metadata::<ConfigMap>().labels("valid"), |_| all());
            },
            end(),
        )
        .faults(faults())
        .assert();
    }
}

#[test]
fn what_is_not_selected_does_not_notify() {
    let other = |it: &mut Declaration| {
        it.watch(watching::<ConfigMap>().labels("other"), |_| all());
    };
    let report = check(Follows(other))
        .given([thing("t")])
        .client([ClientEvent::create(token())])
        .eventually("out is made", |world| world.has::<ConfigMap>("out"))
        .run();
    assert!(matches!(report.violation, Some(Violation::Eventually { .. })), "{report}");
}

#[test]
fn a_predicate_that_swallows_deletions_is_found_out() {
    let never_gone = |it: &mut Declaration| {
        it.watch(watching::<ConfigMap>().when(|_, after| after.is_some()), |_| all());
    };
    let report = ends(never_gone, is_deleted()).run();
    assert!(matches!(report.violation, Some(Violation::Eventually { .. })), "{report}");
    ends(never_gone, loses_its_label()).assert();
    // Those that are ready-made do not swallow them.
    let labels = |it: &mut Declaration| {
        it.watch(watching::<ConfigMap>().when(changed::labels), |_| all());
    };
    ends(labels, is_deleted()).assert();
    ends(labels, loses_its_label()).assert();
    let annotations = |it: &mut Declaration| {
        it.watch(watching::<ConfigMap>().when(changed::annotations), |_| all());
    };
    let report = ends(annotations, loses_its_label()).run();
    assert!(matches!(report.violation, Some(Violation::Eventually { .. })), "{report}");
}

#[test]
fn a_resync_finds_changes_that_no_watch_reports() {
    let report = ends(|_| {}, is_deleted()).run();
    assert!(matches!(report.violation, Some(Violation::Eventually { .. })), "{report}");
    ends(
        |it| {
            it.resync(secs(60));
        },
        is_deleted(),
    )
    .assert();
}

#[test]
fn parents_that_are_not_selected_are_left_alone() {
    let declare = |it: &mut Declaration| {
        it.parents(watching::<Thing>().labels("!other")).watches(|_: &ConfigMap| all());
    };
    let mut parent = thing("t");
    parent.metadata.labels = Some([("other".to_owned(), "1".to_owned())].into());
    let comes = ClientEvent::patch::<Thing>("t", json!({"metadata": {"labels": null}}));
    let report =
        check(Follows(declare)).given([parent.clone()]).client([ClientEvent::create(token()), comes]);
    report.eventually("out is made", |world| world.has::<ConfigMap>("out")).assert();
    check(Follows(declare))
        .given([parent])
        .client([ClientEvent::create(token())])
        .always("nothing is made for others", |world| !world.has::<ConfigMap>("out"))
        .assert();
}

#[test]
#[should_panic(
    expected = "follows cannot watch Thing.test.windlass.dev by these fields: field label not supported: spec.a"
)]
fn fields_that_cannot_be_selected_by_are_refused() {
    let by_field = |it: &mut Declaration| {
        it.parents(watching::<Thing>().fields("spec.a=b"));
    };
    check(Follows(by_field)).given([thing("t")]).run();
}
