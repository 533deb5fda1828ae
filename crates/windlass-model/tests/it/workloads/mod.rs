//! The workload controllers, step by step, until they have nothing to do.

mod deployments;
mod jobs;
mod ownership;
mod stateful_sets;
mod volumes;

use crate::support::*;
use serde_json::{Value, json};
use std::sync::Arc;
use windlass_model::controllers::{self, Step};
use windlass_model::{Change, Cluster, Store, workloads};

/// More steps than any of these tests needs.
const MAX_STEPS: usize = 500;

/// A cluster with a node and a default class of storage.
fn ready_cluster() -> Cluster {
    let mut cluster = cluster();
    for request in workloads::first_requests(cluster.store(), cluster.now()) {
        ok(&mut cluster, &request);
    }
    cluster
}

/// Which of several possible steps is done next.
#[derive(Clone, Copy)]
enum Order {
    First,
    Last,
    Mixed(usize),
}

const ORDERS: [Order; 5] = [Order::First, Order::Last, Order::Mixed(1), Order::Mixed(2), Order::Mixed(3)];

impl Order {
    fn choose(self, done: usize, count: usize) -> usize {
        match self {
            Order::First => 0,
            Order::Last => count - 1,
            Order::Mixed(seed) => (done * 7919 + seed * 104_729) % count,
        }
    }
}

/// Does one step after another until there is none, and returns who did them. Every step must be accepted and change
/// something. `look` sees the cluster after each.
#[track_caller]
fn settle(cluster: &mut Cluster, order: Order, mut look: impl FnMut(&Cluster)) -> Vec<&'static str> {
    let mut done = Vec::new();
    loop {
        let steps = all_steps(cluster);
        if steps.is_empty() {
            return done;
        }
        let step = &steps[order.choose(done.len(), steps.len())];
        perform(cluster, step);
        look(cluster);
        done.push(step.controller);
        assert!(done.len() < MAX_STEPS, "no rest: {:?}", &done[MAX_STEPS - 20..]);
    }
}

/// What the workload controllers and the garbage collector would do.
fn all_steps(cluster: &Cluster) -> Vec<Step> {
    let mut steps = workloads::next_requests(cluster.store(), cluster.now());
    steps.extend(controllers::next_requests(cluster.store(), cluster.types(), cluster.now()));
    steps
}

#[track_caller]
fn perform(cluster: &mut Cluster, step: &Step) -> Vec<Change> {
    let effect = cluster.handle(&step.request);
    let refusal = effect.response.failure();
    assert!(refusal.is_none(), "{}: {:?}\nrefused: {refusal:?}", step.controller, step.request);
    assert!(!effect.changes.is_empty(), "{}: {:?} changes nothing", step.controller, step.request);
    cluster.commit(&effect.changes);
    effect.changes
}

/// All objects of a kind.
fn all(cluster: &Cluster, plural: &str) -> Vec<Arc<Value>> {
    cluster.store().scan(&resource(plural).group, plural, None, None).map(|(_, object)| object).collect()
}

fn names(objects: &[Arc<Value>]) -> Vec<&str> {
    objects.iter().map(|object| windlass_model::object::name(object)).collect()
}

fn has(object: &Value, condition: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.filter(|it| it["type"] == condition).any(|it| it["status"] == "True")
}

/// What a test reads of a status.
fn counts(object: &Value, fields: &[&str]) -> Vec<i64> {
    fields.iter().map(|field| object["status"][*field].as_i64().unwrap_or(0)).collect()
}

fn stateful_set(name: &str, replicas: i64) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": { "name": name },
        "spec": {
            "replicas": replicas, "serviceName": name,
            "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": { "containers": [{ "name": "main", "image": "db:1" }] },
            },
        },
    })
}

/// The image of a set's or deployment's pods.
fn image(image: &str) -> Value {
    let containers = json!([{ "name": "main", "image": image }]);
    json!({ "spec": { "template": { "spec": { "containers": containers } } } })
}

#[test]
fn what_follows_from_changes_leads_to_the_same_end() {
    let mut cluster = ready_cluster();
    let mut set = stateful_set("db", 2);
    set["spec"]["volumeClaimTemplates"] = json!([volumes::claim("data")]);
    let mut waiting = Vec::new();
    let made = [
        create("deployments", deployment("web")),
        create("statefulsets", set),
        create("daemonsets", stateful_sets::daemon_set("agent")),
        create("jobs", jobs::job("work", json!({ "completions": 2 }))),
        create("pods", pod("bare")),
    ];
    for request in &made {
        let effect = cluster.handle(request);
        assert!(effect.response.failure().is_none(), "{:?}", effect.response);
        cluster.commit(&effect.changes);
        waiting.push(effect.changes);
    }
    // Only what changes is looked at, as a server does it.
    let mut steps = 0;
    while let Some(changes) = waiting.pop() {
        for step in workloads::requests_after(cluster.store(), cluster.now(), &changes) {
            let effect = cluster.handle(&step.request);
            cluster.commit(&effect.changes);
            waiting.insert(0, effect.changes);
            steps += 1;
        }
        assert!(steps < MAX_STEPS, "no rest");
    }
    let left = workloads::next_requests(cluster.store(), cluster.now());
    assert!(left.is_empty(), "forgotten: {left:?}");
    assert!(has(&found(&mut cluster, "deployments", "web"), "Available"));
    assert!(has(&found(&mut cluster, "jobs", "work"), "Complete"));
    assert_eq!(found(&mut cluster, "pods", "bare")["status"]["phase"], "Running");
}

#[test]
fn an_unused_cluster_has_nothing_to_do() {
    let mut cluster = ready_cluster();
    assert!(workloads::next_requests(cluster.store(), cluster.now()).is_empty());
    assert!(workloads::first_requests(cluster.store(), cluster.now()).is_empty());
    ok(&mut cluster, &create("deployments", deployment("web")));
    assert!(cluster.settle_workloads());
    assert!(has(&found(&mut cluster, "deployments", "web"), "Available"));
}
