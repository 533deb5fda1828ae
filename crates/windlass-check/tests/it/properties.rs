//! What each kind of property finds, and what it does not.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use windlass::{Cx, Declaration, Machine, Outcome, States, Verb, done, requeue_after, secs, to};
use windlass_check::{ClientEvent, Faults, Oracle, Reductions, Report, Violation, check};

use crate::things::{Only, Thing, map, thing};

#[derive(States)]
enum Two {
    #[state(initial, condition = "TokenSeen", next(Make))]
    Wait,
    #[state(condition = "Made")]
    Make,
}

/// Waits for a ConfigMap `token`, then makes `out`.
struct WaitsForToken;

impl Machine for WaitsForToken {
    type Parent = Thing;
    type State = Two;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.output::<ConfigMap>();
    }

    async fn run(&self, step: Two, cx: &Cx<Thing>) -> Outcome<Two> {
        match step {
            Two::Wait if cx.get::<ConfigMap>("token").await?.is_none() => requeue_after(secs(5), "NoToken"),
            Two::Wait => to(Two::Make),
            Two::Make => {
                cx.ensure(map("out"));
                done()
            }
        }
    }
}

#[test]
fn what_never_comes_is_shown_with_the_loop_that_waits_for_it() {
    let report = check(WaitsForToken)
        .given([thing("t")])
        .eventually("out is made", |world| world.has::<ConfigMap>("out"))
        .run();
    let Some(Violation::Eventually { property, repeats, .. }) = &report.violation else { panic!("{report}") };
    assert_eq!(property, "out is made");
    let loops = repeats.to_string();
    assert!(
        loops.contains("get configmaps default/token") && loops.contains("it is time to look at"),
        "{report}"
    );
}

#[test]
fn what_a_client_brings_later_is_waited_for() {
    let report = check(WaitsForToken)
        .given([thing("t")])
        .client([ClientEvent::create(map("token"))])
        .faults(Faults::none().crashes(1).duplicates().reorders())
        .always("no out without a token", |world| {
            !world.has::<ConfigMap>("out") || world.has::<ConfigMap>("token")
        })
        .eventually("out is made", |world| world.has::<ConfigMap>("out"))
        .assert();
    assert_eq!(report.ends.len(), 1);
}

/// Creates two objects side by side.
struct Together;

impl Machine for Together {
    type Parent = Thing;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.may::<ConfigMap>([Verb::Create]);
    }

    async fn run(&self, _: Only, cx: &Cx<Thing>) -> Outcome<Only> {
        let (left, right) = (map("left"), map("right"));
        for created in cx.all([cx.create(&left), cx.create(&right)]).await {
            match created {
                Err(windlass::Error::Api(status)) if status.code == 409 => {}
                other => drop(other?),
            }
        }
        done()
    }
}

#[test]
fn requests_of_one_batch_land_in_any_order() {
    check(Together)
        .given([thing("t")])
        .faults(Faults::none().crashes(1))
        .sometimes("left first", |world| world.has::<ConfigMap>("left") && !world.has::<ConfigMap>("right"))
        .sometimes("right first", |world| world.has::<ConfigMap>("right") && !world.has::<ConfigMap>("left"))
        .eventually("both", |world| world.has::<ConfigMap>("left") && world.has::<ConfigMap>("right"))
        .assert();
}

#[test]
fn a_vacuous_check_says_so() {
    let report = check(Together)
        .given([thing("t")])
        .sometimes("something else", |world| world.has::<ConfigMap>("else"))
        .run();
    assert!(
        matches!(&report.violation, Some(Violation::Never { property }) if property == "something else"),
        "{report}"
    );
}

#[test]
fn a_limit_is_not_a_proof() {
    let report = check(Together).given([thing("t")]).faults(Faults::none().crashes(2)).max_states(10).run();
    assert!(!report.holds() && report.violation.is_none());
    assert!(report.to_string().contains("NOT DECIDED"), "{report}");
}

/// Remembers in memory whether it has made its object: forgotten in a crash, and wrong in between.
struct TrustsItsMemory(std::sync::atomic::AtomicBool);

impl Machine for TrustsItsMemory {
    type Parent = Thing;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.may::<ConfigMap>([Verb::Create]);
    }

    async fn run(&self, _: Only, cx: &Cx<Thing>) -> Outcome<Only> {
        if !self.0.swap(true, std::sync::atomic::Ordering::Relaxed) {
            cx.create(&map("out")).await?;
        }
        done()
    }
}

#[test]
fn state_that_is_kept_in_memory_is_not_deterministic() {
    let report = check(TrustsItsMemory(false.into())).given([thing("t")]).run();
    assert!(
        matches!(report.violation, Some(Violation::Code { bug: windlass::Bug::NotDeterministic { .. }, .. })),
        "{report}"
    );
}

/// Deletes the object that has a name, not the one that it has seen.
struct DeletesByName;

impl Machine for DeletesByName {
    type Parent = Thing;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.may::<ConfigMap>([Verb::Get, Verb::Delete]);
    }

    async fn run(&self, _: Only, cx: &Cx<Thing>) -> Outcome<Only> {
        let Some(mut seen) = cx.get::<ConfigMap>("shared").await? else { return done() };
        if seen.data.as_ref().is_some_and(|data| data.contains_key("expired")) {
            seen.metadata.uid = None;
            cx.delete(&seen).await?;
        }
        done()
    }
}

#[test]
fn a_late_delete_without_a_uid_hits_the_wrong_object() {
    let mut expired = map("shared");
    expired.data = Some(BTreeMap::from([("expired".to_owned(), String::new())]));
    let script = [ClientEvent::delete::<ConfigMap>("shared"), ClientEvent::create(map("shared"))];
    let check = check(DeletesByName)
        .given([thing("t")])
        .given([expired])
        .client(script)
        .eventually("the new one stays", |world| world.has::<ConfigMap>("shared"));
    // It is caught when it strikes, and by what it leads to; what the user asked for is reported first.
    let report = check.run();
    assert!(matches!(report.violation, Some(Violation::Eventually { .. })), "{report}");
    let Some(Violation::Step { message, .. }) = report.further.first() else { panic!("{report}") };
    assert!(message.contains("another object than the one it decided on"), "{message}");
    let report = check.clone().only_first_violation().run();
    assert!(
        matches!(report.violation, Some(Violation::Step { .. })) && report.further.is_empty(),
        "{report}"
    );
    let report = check.without(Oracle::SameObject).run();
    assert!(matches!(report.violation, Some(Violation::Eventually { .. })), "{report}");
}

#[test]
fn violations_are_shown_with_as_few_faults_as_possible() {
    let all = Faults::none().crashes(1).duplicates().reorders();
    // This needs no fault at all, whatever is allowed.
    let report = check(WaitsForToken)
        .given([thing("t")])
        .faults(all)
        .eventually("out is made", |world| world.has::<ConfigMap>("out"))
        .run();
    assert_eq!(faults_of(&report), [""; 0], "{report}");
    // And this needs a crash between the creation and the end. (That a later reconcile fails needs none.)
    let report = check(CreatesOnce)
        .given([thing("t")])
        .without(Oracle::CanSucceed)
        .without(Oracle::QuietAtRest)
        .faults(Faults::none().crashes(2).reorders())
        .clock(1)
        .eventually("a reconcile comes to its end", |world| world.clock("t") == 1)
        .run();
    assert_eq!(faults_of(&report), ["crash"], "{report}");
}

fn faults_of(report: &Report) -> Vec<&str> {
    let steps = &report.violation.as_ref().and_then(Violation::trace).expect("it is violated").steps;
    steps.iter().filter_map(|step| step.fault.as_deref()).collect()
}

/// Creates an object by hand, and takes it for a failure that it is there already.
struct CreatesOnce;

impl Machine for CreatesOnce {
    type Parent = Thing;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.may::<ConfigMap>([Verb::Create]);
    }

    async fn run(&self, _: Only, cx: &Cx<Thing>) -> Outcome<Only> {
        cx.create(&map("out")).await?;
        done()
    }
}

/// Writes another value on every reconcile, and is triggered by it.
struct Flips;

impl Machine for Flips {
    type Parent = Thing;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.output::<ConfigMap>();
    }

    async fn run(&self, _: Only, cx: &Cx<Thing>) -> Outcome<Only> {
        let before = cx.get::<ConfigMap>("out").await?;
        let was_on = before.and_then(|map| map.data).is_some_and(|data| data.contains_key("on"));
        let mut after = map("out");
        after.data = Some(BTreeMap::from([(if was_on { "off" } else { "on" }.to_owned(), String::new())]));
        cx.ensure(after);
        done()
    }
}

#[test]
fn a_hot_loop_is_a_loop_although_versions_grow() {
    let report = check(Flips).given([thing("t")]).run();
    let Some(Violation::AtRest { message, repeats, .. }) = &report.violation else { panic!("{report}") };
    assert!(message.contains("converges"), "{report}");
    assert!(
        repeats
            .to_string()
            .contains("~ configmaps default/out: data.off: none -> \"\", data.on: \"\" -> none"),
        "{report}"
    );
    // Without renumbering, every turn of the loop is new.
    let report = check(Flips)
        .given([thing("t")])
        .reductions(Reductions { versions: false, ..Reductions::default() })
        .max_states(10_000)
        .run();
    assert!(report.violation.is_none() && !report.holds(), "{report}");
}
