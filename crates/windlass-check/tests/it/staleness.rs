//! Caches are behind as the runtime's are: each kind by itself, and an own write brings one object up to date.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::core::ObjectMeta;
use serde_json::{Value, json};
use windlass::{Controller, Cx, Declaration, Machine, ObjectRef, Outcome, Select, Verb, done, watching};
use windlass_check::{Check, ClientEvent, Faults, Reductions, Report, Violation, check};

use crate::things::{Bank, Only, Thing, map, thing};

fn secret(name: &str) -> Secret {
    let labels = [("app".to_owned(), "lock".to_owned())].into();
    let metadata = ObjectMeta { name: Some(name.to_owned()), labels: Some(labels), ..ObjectMeta::default() };
    Secret { metadata, ..Secret::default() }
}

fn always_violated(report: &Report) -> &str {
    match &report.violation {
        Some(Violation::Always { property, .. }) => property,
        _ => panic!("{report}"),
    }
}

/// What a machine can look for before it goes on.
#[derive(Clone, Copy, PartialEq)]
enum Lock {
    /// An object of the kind of the signal.
    SameKind,
    /// One of another kind, of which all are watched.
    OtherKind,
    /// One of a kind that is not watched.
    NotWatched,
    /// One of a kind of which some are watched, by its name.
    SomeWatched,
    /// The same, in a list of those that are watched.
    SomeListed,
}

/// Goes on when it sees the signal, and trusts that it then sees the lock too, which was made before the signal.
struct Trusts(Lock);

impl Machine for Trusts {
    type Parent = Thing;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        let parent = || vec![ObjectRef::new("default", "t")];
        declaration.output::<ConfigMap>();
        declaration.watches::<ConfigMap>(move |_| parent());
        match self.0 {
            Lock::SameKind => {}
            Lock::OtherKind => drop(declaration.watches::<Secret>(move |_| parent())),
            Lock::NotWatched => drop(declaration.may::<Secret>([Verb::Get])),
            Lock::SomeWatched | Lock::SomeListed => {
                declaration.watch(watching::<Secret>().labels("app=lock"), move |_| parent());
            }
        }
    }

    async fn run(&self, _: Only, cx: &Cx<Thing>) -> Outcome<Only> {
        let signal = cx.cached::<ConfigMap>("signal").await?;
        let is_three = signal.is_some_and(|signal| signal.data.is_some_and(|data| data["value"] == "3"));
        if is_three {
            let is_locked = match self.0 {
                Lock::SameKind => cx.cached::<ConfigMap>("lock").await?.is_some(),
                Lock::SomeListed => {
                    !cx.list_cached::<Secret>(Select::all().labels("app=lock")).await?.is_empty()
                }
                _ => cx.cached::<Secret>("lock").await?.is_some(),
            };
            cx.ensure(map(if is_locked { "locked" } else { "unlocked" }));
        }
        done()
    }
}

/// The lock is made, then the signal, which then changes more often than a cache may miss.
fn trusting(lock: Lock) -> Check {
    let made = match lock {
        Lock::SameKind => ClientEvent::create(map("lock")),
        _ => ClientEvent::create(secret("lock")),
    };
    let write =
        |value: &str| ClientEvent::patch::<ConfigMap>("signal", json!({ "data": { "value": value } }));
    check(Trusts(lock))
        .given([thing("t")])
        .client([made, ClientEvent::create(map("signal")), write("1"), write("2"), write("3")])
        .faults(Faults::none().stale(1))
        .always("it sees the lock", |world| !world.has::<ConfigMap>("unlocked"))
        .eventually("it goes on", |world| world.has::<ConfigMap>("locked"))
}

#[test]
fn each_kind_is_behind_by_itself() {
    let report = trusting(Lock::OtherKind).run();
    assert_eq!(always_violated(&report), "it sees the lock", "{report}");
    // The bound is on the writes to one object: that of the lock may be missing while the signal changes four times.
    assert_eq!(report.oldest_views["secrets"], 1, "{report}");
    assert!(
        report.to_string().contains("oldest views reached, in writes to one object: configmaps 1, secrets 1"),
        "{report}"
    );
}

#[test]
fn within_a_kind_changes_are_seen_in_their_order() {
    trusting(Lock::SameKind).assert();
}

#[test]
fn what_is_not_in_a_cache_is_read_from_the_server() {
    trusting(Lock::NotWatched).assert();
    // That an object is missing in a cache of some objects says nothing; that a list of just these is empty does.
    trusting(Lock::SomeWatched).assert();
    let report = trusting(Lock::SomeListed).run();
    assert_eq!(always_violated(&report), "it sees the lock", "{report}");
}

/// Keeps one ConfigMap of a generated name: what the cache does not show, it makes.
struct KeepsOne;

impl Machine for KeepsOne {
    type Parent = Thing;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration
            .watches::<ConfigMap>(|_| vec![ObjectRef::new("default", "t")])
            .may::<ConfigMap>([Verb::Create]);
    }

    async fn run(&self, _: Only, cx: &Cx<Thing>) -> Outcome<Only> {
        if cx.list_cached::<ConfigMap>(Select::all()).await?.is_empty() {
            let mut map = map("");
            map.metadata.name = None;
            map.metadata.generate_name = Some("kept-".to_owned());
            cx.create(&map).await?;
        }
        done()
    }
}

fn keeping(faults: Faults) -> Check {
    check(KeepsOne)
        .given([thing("t")])
        .faults(faults)
        .always("at most one", |world| world.all::<ConfigMap>().len() <= 1)
        .eventually("one", |world| world.all::<ConfigMap>().len() == 1)
}

#[test]
fn an_own_write_brings_no_other_object_up_to_date() {
    // Its own create is in the cache as soon as it is answered.
    keeping(Faults::none().stale(2)).assert();
    // The answer is lost, and the cache does not have the object yet. That the failure is then written to the status of the
    // parent brings the parent up to date, and nothing else.
    let report = keeping(Faults::none().stale(2).lost_replies(1)).run();
    assert_eq!(always_violated(&report), "at most one", "{report}");
}

/// Copies the value, and says so when it reads a value that is older than what it has copied.
struct GoesForward;

impl Machine for GoesForward {
    type Parent = Thing;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.output::<ConfigMap>();
    }

    async fn run(&self, _: Only, cx: &Cx<Thing>) -> Outcome<Only> {
        let seen = &cx.parent().spec.value;
        let copy = cx.get::<ConfigMap>("copy").await?.and_then(|copy| copy.data?.get("value").cloned());
        if copy.as_ref().is_some_and(|copy| copy > seen) {
            cx.ensure(map("back"));
        } else {
            let mut copy = map("copy");
            copy.data = Some([("value".to_owned(), seen.clone())].into());
            cx.ensure(copy);
        }
        done()
    }
}

#[test]
fn time_goes_back_with_a_new_watch_and_not_without() {
    let forward = |faults| {
        let change = ClientEvent::patch::<Thing>("t", json!({ "spec": { "value": "2" } }));
        check(GoesForward)
            .given([thing("t")])
            .client([change])
            .faults(faults)
            .always("time goes on", |world| !world.has::<ConfigMap>("back"))
            .eventually("copied", |world| world.has::<ConfigMap>("copy"))
    };
    for holds in [Faults::none().stale(2), Faults::none().crashes(1), Faults::none().watch_gaps(1)] {
        forward(holds).assert();
    }
    for back in [Faults::none().stale(2).crashes(1), Faults::none().stale(2).watch_gaps(1)] {
        let report = forward(back).run();
        assert_eq!(always_violated(&report), "time goes on", "{report}");
        let Some(trace) = report.violation.as_ref().and_then(Violation::trace) else { panic!("{report}") };
        assert!(
            trace.steps.iter().any(|step| step.text.contains("again") && step.text.contains("behind")),
            "{report}"
        );
    }
}

/// Pays for what its cache shows no receipt of. Its parents have no status, which makes for fewer states.
struct Pays;

impl Machine for Pays {
    type Parent = ConfigMap;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.watches::<Secret>(|_| Vec::new()).may::<Secret>([Verb::Create]);
    }

    async fn run(&self, _: Only, cx: &Cx<ConfigMap>) -> Outcome<Only> {
        let receipt = format!("{}-receipt", cx.name());
        if cx.cached::<Secret>(&receipt).await?.is_none() {
            cx.call(Bank, json!(cx.name())).await?;
            cx.create(&secret(&receipt)).await?;
        }
        done()
    }
}

#[test]
fn reductions_change_no_verdict_of_stale_views() {
    let pay = |paid: &mut Value, name: &Value| {
        let name = name.as_str().unwrap_or_default();
        paid[name] = json!(paid[name].as_u64().unwrap_or(0) + 1);
        Ok(Value::Null)
    };
    let paying = |reductions, faults| {
        check(Pays)
            .given([map("one"), map("two")])
            .service("bank", json!({ "one": 0, "two": 0 }), pay)
            .faults(faults)
            .reductions(reductions)
            .always("each is paid once", |world| {
                let paid = world.service("bank").and_then(Value::as_object);
                paid.is_some_and(|paid| paid.values().all(|times| times.as_u64() <= Some(1)))
            })
    };
    let mut states = [usize::MAX; 2];
    for (symmetry, partial_order) in [(false, false), (true, false), (false, true), (true, true)] {
        let reductions = Reductions { symmetry, partial_order, ..Reductions::default() };
        let report = paying(reductions, Faults::none().stale(1)).assert();
        states[usize::from(symmetry)] = states[usize::from(symmetry)].min(report.states());
        let report = paying(reductions, Faults::none().stale(1).watch_gaps(1)).run();
        assert_eq!(always_violated(&report), "each is paid once", "{reductions:?}: {report}");
    }
    // What is still to be delivered is permuted with the names.
    let [all, merged] = states;
    assert!(merged * 10 < all * 6, "{states:?}");
}

#[test]
fn a_partition_keeps_a_view_old_whatever_the_bound() {
    // Cut off, no watch delivers: it misses both values and its own status, although one write is the bound.
    let write = |value: &str| ClientEvent::patch::<Thing>("t", json!({ "spec": { "value": value } }));
    let report = check(GoesForward)
        .given([thing("t")])
        .client([write("1"), write("2")])
        .faults(Faults::none().stale(1).partitions(1))
        .assert();
    assert_eq!(report.oldest_views["things"], 3, "{report}");
}

/// Has nothing to do, and watches nothing but its parents.
struct Idles;

impl Machine for Idles {
    type Parent = Secret;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.name("idles");
    }

    async fn run(&self, _: Only, _: &Cx<Secret>) -> Outcome<Only> {
        done()
    }
}

/// Makes a ConfigMap when it sees the signal.
struct Follows;

impl Machine for Follows {
    type Parent = Thing;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.name("follows").output::<ConfigMap>();
        declaration.watches::<ConfigMap>(|_| vec![ObjectRef::new("default", "t")]);
    }

    async fn run(&self, _: Only, cx: &Cx<Thing>) -> Outcome<Only> {
        if cx.cached::<ConfigMap>("signal").await?.is_some() {
            cx.ensure(map("followed"));
        }
        done()
    }
}

#[test]
fn processes_that_know_the_same_watch_what_each_has_declared() {
    // At rest both know nothing that the other does not; only one of them watches ConfigMaps.
    check(Idles)
        .and(Controller::new(Follows))
        .given([thing("t")])
        .given([secret("s")])
        .client([ClientEvent::create(map("signal"))])
        .faults(Faults::none().stale(1))
        .eventually("it follows", |world| world.has::<ConfigMap>("followed"))
        .assert();
}

/// Asks whether the bank is closed, and only then its cache whether it is to pay.
struct PaysAfterClosing;

impl Machine for PaysAfterClosing {
    type Parent = Thing;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.watches::<ConfigMap>(|_| vec![ObjectRef::new("default", "t")]);
    }

    async fn run(&self, _: Only, cx: &Cx<Thing>) -> Outcome<Only> {
        let is_closed = cx.call(Bank, json!("closed?")).await? == true;
        if is_closed && cx.cached::<ConfigMap>("wanted").await?.is_some() {
            cx.call(Bank, json!("pay")).await?;
        }
        done()
    }
}

#[test]
fn a_cache_answers_in_a_partition_with_what_it_had_seen() {
    let bank = |state: &mut Value, request: &Value| {
        match request.as_str() {
            Some("close") => state["closed"] = json!(true),
            Some("pay") => state["paid"] = json!(true),
            _ => {}
        }
        Ok(state["closed"].clone())
    };
    // What is paid for is withdrawn, and then the bank closes.
    let paying = |faults| {
        check(PaysAfterClosing)
            .given([thing("t")])
            .given([map("wanted")])
            .client([ClientEvent::delete::<ConfigMap>("wanted"), ClientEvent::call(Bank, &json!("close"))])
            .service("bank", json!({ "closed": false, "paid": false }), bank)
            .service_may_differ("bank")
            .faults(faults)
            .always("nothing is paid", |world| world.service("bank").is_none_or(|bank| bank["paid"] == false))
    };
    // A cache that is never behind knows, once the bank is closed, that nothing is wanted any more.
    paying(Faults::none().crashes(1)).assert();
    // One that is cut off does not, and the bank can be reached all the same.
    let report = paying(Faults::none().partitions(1)).run();
    assert_eq!(always_violated(&report), "nothing is paid", "{report}");
    let Some(trace) = report.violation.as_ref().and_then(Violation::trace) else { panic!("{report}") };
    let is_old = |text: &str| text.contains("get configmaps default/wanted -> 200; by now");
    assert!(trace.steps.iter().any(|step| is_old(&step.text)), "{report}");
    // It reads while it is cut off: what it reads before the watch has caught up, after the partition, is as old.
    assert!(!trace.steps.iter().any(|step| step.text.contains("reaches the API server again")), "{report}");
}
