//! A machine that does what the value of its pair says, and a cluster to look at it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{ObjectMeta, PostParams};
use two_configmaps::{Pair, PairSpec};
use windlass::{
    Cx, Declaration, Event, Finalizer, Machine, ObjectRef, Outcome, Output, States, done,
    done_and_requeue_after, fail, fail_for_good, requeue_after, secs, to,
};

use crate::support::{Cluster, Rig, Tap, manager};

/// Longer than any test, in seconds.
const NEVER: u64 = 3_600;

/// `OUTCOME [OUTPUT,...]`: the outputs are ensured in the first state; the outcome is that of the second. With `bare-`
/// before it the second state has no condition.
///
/// An output is `NAME`, or `KIND:NAME` with how it is tied to its parent: `plain`, `free`, `untied`.
#[derive(Clone, Default)]
pub(super) struct Scripted {
    /// Whether outputs need not be tied to their parent.
    anywhere: bool,
    /// Whether it has a finalizer machine.
    parting: bool,
    /// The states that ran, by pair.
    ran: Arc<Mutex<BTreeMap<String, Vec<&'static str>>>>,
}

#[derive(States)]
pub(super) enum Step {
    #[state(initial, condition = "Started", next(Middle, Bare))]
    Start,
    #[state(condition = "MiddleReady", when_true = "It is through", when_false = "It is not", next(End))]
    Middle,
    #[state(next(End))]
    Bare,
    #[state(condition = "EndReady")]
    End,
}

impl Scripted {
    /// One whose outputs need not be tied to their parent.
    pub(super) fn anywhere() -> Self {
        Scripted { anywhere: true, ..Scripted::default() }
    }

    /// One with a finalizer machine.
    pub(super) fn parting() -> Self {
        Scripted { parting: true, ..Scripted::default() }
    }

    /// The states that ran for a pair, in order.
    pub(super) fn ran(&self, name: &str) -> Vec<&'static str> {
        self.ran.lock().expect("lock is not poisoned").get(name).cloned().unwrap_or_default()
    }

    /// How many reconciles there were of a pair.
    pub(super) fn runs(&self, name: &str) -> usize {
        self.ran(name).iter().filter(|state| **state == "Start").count()
    }

    fn note(&self, name: &str, state: &'static str) {
        self.ran.lock().expect("lock is not poisoned").entry(name.to_owned()).or_default().push(state);
    }
}

impl Machine for Scripted {
    type Parent = Pair;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.name("scripted").watches(|secret: &Secret| {
            let namespace = secret.metadata.namespace.as_deref().unwrap_or_default();
            secret.metadata.name.as_deref().map(|name| ObjectRef::new(namespace, name)).into_iter().collect()
        });
        if self.anywhere {
            declaration.output_anywhere::<ConfigMap>();
        } else {
            declaration.output::<ConfigMap>();
        }
    }

    async fn run(&self, step: Step, cx: &Cx<Pair>) -> Outcome<Step> {
        let value = cx.parent().spec.value.as_str();
        let (outcome, outputs) = value.split_once(' ').unwrap_or((value, ""));
        match step {
            Step::Start => {
                self.note(cx.name(), "Start");
                for output in outputs.split(',').filter(|output| !output.is_empty()) {
                    cx.ensure(tied(output, value));
                }
                to(if outcome.starts_with("bare-") { Step::Bare } else { Step::Middle })
            }
            Step::Middle | Step::Bare => {
                self.note(cx.name(), "Middle");
                ended(outcome.trim_start_matches("bare-"), cx)
            }
            Step::End => {
                self.note(cx.name(), "End");
                done()
            }
        }
    }

    fn finalizer(&self) -> Option<Finalizer<Pair>> {
        self.parting.then(|| Finalizer::new(Parting { scripted: self.clone() }))
    }
}

fn tied(output: &str, value: &str) -> Output {
    let (kind, name) = output.split_once(':').unwrap_or(("", output));
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let data = Some(BTreeMap::from([("value".to_owned(), value.to_owned())]));
    let output = Output::from(ConfigMap { metadata, data, ..ConfigMap::default() });
    match kind {
        "plain" => output.with_plain_owner(),
        "free" => output.without_owner(),
        "untied" => output.untied(),
        _ => output,
    }
}

fn ended(outcome: &str, cx: &Cx<Pair>) -> Outcome<Step> {
    match outcome {
        "again" => done_and_requeue_after(secs(NEVER)),
        "wait" => requeue_after(secs(NEVER), "WaitingForRain"),
        "fail" => fail("Broken", "it is broken"),
        "terminal" => fail_for_good("Hopeless", "it is hopeless"),
        "astray" => to(Step::Start),
        "panic" => panic!("on purpose"),
        "event" => {
            cx.event(Event::normal("Rang", "the bell was rung"));
            to(Step::End)
        }
        _ => to(Step::End),
    }
}

/// Ends as the value of the pair says, and wants an output that it never gets.
struct Parting {
    scripted: Scripted,
}

#[derive(States)]
enum Leaving {
    #[state(initial, condition = "Parted")]
    Only,
}

impl Machine for Parting {
    type Parent = Pair;
    type State = Leaving;

    async fn run(&self, _: Leaving, cx: &Cx<Pair>) -> Outcome<Leaving> {
        self.scripted.note(cx.name(), "Parting");
        let script = cx.parent().spec.value.as_str();
        if script != "fail" {
            cx.ensure(tied("farewell", "farewell"));
        }
        match script {
            "again" => done_and_requeue_after(secs(NEVER)),
            "wait" => requeue_after(secs(NEVER), "StillThere"),
            "fail" => fail("Broken", "it is broken"),
            "panic" => panic!("on purpose"),
            _ => done(),
        }
    }
}

/// Runs a machine, with events.
pub(super) async fn start(cluster: &Cluster, machine: &Scripted) -> Rig {
    let tap = Tap::new();
    let running = manager(cluster, &tap).controller(machine.clone()).start().await.expect("it starts");
    Rig { running, tap }
}

/// Makes a pair with a script.
pub(super) async fn create(cluster: &Cluster, name: &str, script: &str) {
    let pair = Pair::new(name, PairSpec { value: script.to_owned() });
    cluster.pairs().create(&PostParams::default(), &pair).await.expect("a pair");
}

/// Gives a pair another script.
pub(super) async fn change(cluster: &Cluster, name: &str, script: &str) {
    cluster.merge_pair(name, serde_json::json!({"spec": {"value": script}})).await;
}

/// A condition as `STATUS REASON`, or nothing.
pub(super) async fn condition(cluster: &Cluster, name: &str, kind: &str) -> String {
    let status = cluster.pairs().get(name).await.expect("a pair").status.unwrap_or_default();
    let found = status.conditions.into_iter().find(|condition| condition.r#type == kind);
    found.map(|found| format!("{} {}", found.status, found.reason)).unwrap_or_default()
}

/// The names in the inventory of a pair, in order.
pub(super) async fn inventory(cluster: &Cluster, name: &str) -> Vec<String> {
    let status = cluster.pairs().get(name).await.expect("a pair").status.unwrap_or_default();
    let outputs = status.controllers.into_iter().flat_map(|record| record.outputs);
    outputs.map(|output| output.name).collect()
}

/// Waits until Ready is as `STATUS REASON` for the pair as it is now.
pub(super) async fn until_ready_is(cluster: &Cluster, name: &str, expected: &str) {
    crate::support::eventually(&format!("{name} is {expected}"), async || {
        let pair = cluster.pairs().get(name).await.expect("a pair");
        let conditions = pair.status.iter().flat_map(|status| &status.conditions);
        let mut ready = conditions.filter(|condition| condition.r#type == "Ready");
        ready.any(|ready| {
            let current = Some(ready.observed_generation) == pair.metadata.generation;
            current && format!("{} {}", ready.status, ready.reason) == expected
        })
    })
    .await;
}
