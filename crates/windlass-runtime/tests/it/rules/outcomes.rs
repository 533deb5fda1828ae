//! States, outcomes, conditions, Ready and observed generations.

use windlass::{Cx, Machine, Outcome, States, done};

use super::scripted::{Scripted, change, condition, create, start, until_ready_is};
use crate::support::{Cluster, Rig, Tap, eventually, manager, on_both_servers};
use two_configmaps::Pair;

/// How often a pair with an outcome is reconciled while it is not changed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Runs {
    /// Once, and once more if its own writes made it due.
    AtMostTwice,
    /// Once; not even its own writes count.
    Once,
    /// Again and again, after a backoff.
    Retried,
}

struct Row {
    outcome: &'static str,
    middle: &'static str,
    end: &'static str,
    ready: &'static str,
    runs: Runs,
}

const fn row(
    outcome: &'static str,
    middle: &'static str,
    end: &'static str,
    ready: &'static str,
    runs: Runs,
) -> Row {
    Row { outcome, middle, end, ready, runs }
}

const UNKNOWN: &str = "Unknown NotReached";

const TABLE: &[Row] = &[
    row("done", "True Done", "True Done", "True AllDone", Runs::AtMostTwice),
    row("again", "True Done", UNKNOWN, "True AllDone", Runs::AtMostTwice),
    row("wait", "False WaitingForRain", UNKNOWN, "False WaitingForRain", Runs::AtMostTwice),
    row("fail", "False Broken", UNKNOWN, "False Broken", Runs::Retried),
    row("terminal", "False Hopeless", UNKNOWN, "False Hopeless", Runs::Once),
    row("astray", "False UndeclaredTransition", UNKNOWN, "False UndeclaredTransition", Runs::Once),
    row("panic", "False Panicked", UNKNOWN, "False Panicked", Runs::Once),
    // The state that fails has no condition, and Ready is False all the same.
    row("bare-done", UNKNOWN, "True Done", "True AllDone", Runs::AtMostTwice),
    row("bare-wait", UNKNOWN, UNKNOWN, "False WaitingForRain", Runs::AtMostTwice),
    row("bare-fail", UNKNOWN, UNKNOWN, "False Broken", Runs::Retried),
    row("bare-terminal", UNKNOWN, UNKNOWN, "False Hopeless", Runs::Once),
    row("bare-astray", UNKNOWN, UNKNOWN, "False UndeclaredTransition", Runs::Once),
    row("bare-panic", UNKNOWN, UNKNOWN, "False Panicked", Runs::Once),
];

/// Each outcome with its conditions, Ready, the generation that they are of, and what is tried again.
async fn each_outcome(cluster: &Cluster) {
    let machine = Scripted::default();
    let rig = start(cluster, &machine).await;
    for row in TABLE {
        create(cluster, row.outcome, row.outcome).await;
    }
    for row in TABLE {
        until_ready_is(cluster, row.outcome, row.ready).await;
    }
    eventually("those that fail are tried again", async || {
        TABLE.iter().filter(|row| row.runs == Runs::Retried).all(|row| machine.runs(row.outcome) >= 4)
    })
    .await;
    for row in TABLE {
        let name = row.outcome;
        assert_eq!(condition(cluster, name, "Started").await, "True Done", "{name}");
        assert_eq!(condition(cluster, name, "MiddleReady").await, row.middle, "{name}");
        assert_eq!(condition(cluster, name, "EndReady").await, row.end, "{name}");
        is_of_its_generation(cluster, name).await;
        let runs = machine.runs(name);
        let expected = match row.runs {
            Runs::AtMostTwice => (1..=2).contains(&runs),
            Runs::Once => runs == 1,
            Runs::Retried => runs >= 4,
        };
        assert!(expected, "{name}: {runs} runs, not {:?}", row.runs);
        restarts(&machine, name);
    }
    counted(&rig);
    rig.running.stop().await;
}

/// Every reconcile starts at the initial state: after a state that waits or fails comes nothing but the first one.
fn restarts(machine: &Scripted, name: &str) {
    let ran = machine.ran(name);
    assert_eq!(ran.first(), Some(&"Start"), "{name}");
    for pair in ran.windows(2) {
        let follows = matches!(pair, ["Start", "Middle"] | ["Middle", "End" | "Start"] | ["End", "Start"]);
        assert!(follows, "{name}: {ran:?}");
    }
}

async fn is_of_its_generation(cluster: &Cluster, name: &str) {
    let pair = cluster.pairs().get(name).await.expect("a pair");
    let status = pair.status.expect("a status");
    assert_eq!(status.observed_generation, pair.metadata.generation, "{name}");
    for condition in status.conditions {
        assert_eq!(Some(condition.observed_generation), pair.metadata.generation, "{name} {condition:?}");
    }
}

/// Terminal errors and mistakes in the code are errors as well.
fn counted(rig: &Rig) {
    assert_eq!(rig.sum_of("controller_runtime_terminal_reconcile_errors_total"), 6);
    assert_eq!(rig.sum_of("controller_runtime_reconcile_panics_total"), 2);
    assert!(rig.sum_of("controller_runtime_reconcile_errors_total") >= 6 + 2 * 4);
}

/// A terminal error is retried when the object changes; and conditions of states that are no longer reached do not keep
/// an old True, but are Unknown in this generation.
async fn a_change_restarts_from_the_first_state(cluster: &Cluster) {
    let machine = Scripted::default();
    let rig = start(cluster, &machine).await;
    create(cluster, "a", "terminal").await;
    until_ready_is(cluster, "a", "False Hopeless").await;
    change(cluster, "a", "done").await;
    until_ready_is(cluster, "a", "True AllDone").await;
    change(cluster, "a", "wait").await;
    until_ready_is(cluster, "a", "False WaitingForRain").await;
    assert_eq!(condition(cluster, "a", "EndReady").await, UNKNOWN);
    is_of_its_generation(cluster, "a").await;
    rig.running.stop().await;
}

/// `lastTransitionTime` moves only when the status flips.
async fn times_move_with_the_status_alone(cluster: &Cluster) {
    let rig = start(cluster, &Scripted::default()).await;
    create(cluster, "a", "done").await;
    until_ready_is(cluster, "a", "True AllDone").await;
    let time = async |kind: &str| {
        let status = cluster.pairs().get("a").await.expect("a pair").status.unwrap_or_default();
        let found = status.conditions.into_iter().find(|condition| condition.r#type == kind);
        found.map(|found| found.last_transition_time).expect("a condition")
    };
    let (started, middle) = (time("Started").await, time("MiddleReady").await);
    // Times are of whole seconds, so the next one must have begun.
    eventually("another second", async || cluster_second(cluster).await > middle).await;
    change(cluster, "a", "wait").await;
    until_ready_is(cluster, "a", "False WaitingForRain").await;
    assert_eq!(time("Started").await, started);
    assert!(time("MiddleReady").await > middle);
    rig.running.stop().await;
}

/// The time of a server in whole seconds, as an object that is made now shows it.
async fn cluster_second(cluster: &Cluster) -> String {
    cluster.create_config_map("now").await;
    let made = cluster.config_maps().get("now").await.expect("it is there");
    cluster.delete_config_map("now").await;
    serde_json::to_value(made.metadata.creation_timestamp)
        .expect("a time")
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// The same controller in a later version, which has fewer states.
struct Smaller;

#[derive(States)]
enum Fewer {
    #[state(initial, condition = "Started")]
    Start,
}

impl Machine for Smaller {
    type Parent = Pair;
    type State = Fewer;

    fn declare(&self, declaration: &mut windlass::Declaration) {
        declaration.name("scripted");
    }

    async fn run(&self, _: Fewer, _: &Cx<Pair>) -> Outcome<Fewer> {
        done()
    }
}

/// Conditions of states that are not in the graph any more go; those of others stay.
async fn conditions_of_old_states_go(cluster: &Cluster) {
    let rig = start(cluster, &Scripted::default()).await;
    create(cluster, "a", "fail").await;
    until_ready_is(cluster, "a", "False Broken").await;
    rig.running.stop().await;
    let running = manager(cluster, &Tap::new()).controller(Smaller).start().await.expect("it starts");
    until_ready_is(cluster, "a", "True AllDone").await;
    assert_eq!(condition(cluster, "a", "Started").await, "True Done");
    assert_eq!(condition(cluster, "a", "MiddleReady").await, "");
    assert_eq!(condition(cluster, "a", "EndReady").await, "");
    running.stop().await;
}

/// Another controller of the same pairs.
struct Second;

impl Machine for Second {
    type Parent = Pair;
    type State = Fewer;

    async fn run(&self, _: Fewer, _: &Cx<Pair>) -> Outcome<Fewer> {
        done()
    }
}

/// Generations are numbers: 9 comes before 10, and Ready waits for the controller that has seen less.
async fn generations_are_compared_as_numbers(cluster: &Cluster) {
    let tap = Tap::new();
    let running = manager(cluster, &tap).controller(Scripted::default()).controller(Second).start().await;
    let rig = Rig { running: running.expect("it starts"), tap };
    create(cluster, "a", "done").await;
    for number in 2..=9 {
        change(cluster, "a", &format!("done {number}")).await;
    }
    until_ready_is(cluster, "a", "True AllDone").await;
    let observed =
        async || cluster.pairs().get("a").await.expect("a pair").status.and_then(|s| s.observed_generation);
    eventually("both have seen the ninth", async || observed().await == Some(9)).await;
    rig.until_idle().await;
    rig.running.handle().set_workers("second", 0);
    change(cluster, "a", "done").await;
    until_ready_is(cluster, "a", "False Pending").await;
    assert_eq!(observed().await, Some(9), "one of them has not seen the tenth");
    rig.running.handle().set_workers("second", 1);
    until_ready_is(cluster, "a", "True AllDone").await;
    assert_eq!(observed().await, Some(10));
    rig.running.stop().await;
}

on_both_servers! {
    each_outcome
    a_change_restarts_from_the_first_state
    times_move_with_the_status_alone
    conditions_of_old_states_go
    generations_are_compared_as_numbers
}
