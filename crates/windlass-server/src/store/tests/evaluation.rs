//! Optimistic concurrency: concurrent writes have the same outcome as writes that are evaluated one after the other.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use windlass_model::Store;

use super::*;
use crate::store::reads::restamp;

/// Writes to a store in memory, which needs no waiting.
fn write_now(storage: &Storage, evaluate: impl FnMut(&Snapshot) -> Effect + Send) -> Effect {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(storage.write(evaluate)).poll(&mut context) {
        Poll::Ready(written) => written.unwrap().effect,
        Poll::Pending => panic!("a store in memory has nothing to wait for"),
    }
}

fn prepared() -> Storage {
    let storage = in_memory();
    let create_namespace = Request::new(Verb::Create, ResourceId::new("", "v1", "namespaces"));
    write_now(&storage, evaluate(create_namespace.with_body(json!({ "metadata": { "name": "default" } }))));
    write_now(&storage, evaluate(create("known", "")));
    storage
}

/// Evaluates a write that reads something and then creates an object, while another write is made. Returns how often
/// it was evaluated.
fn evaluations(look: impl Fn(&Snapshot) + Send + Sync, other: Request) -> usize {
    let storage = prepared();
    let before = storage.snapshot().version();
    let mut count = 0;
    let effect = write_now(&storage, |snapshot| {
        look(snapshot);
        count += 1;
        let effect = evaluate(create("new", ""))(snapshot);
        if count == 1 {
            assert_eq!(write_now(&storage, evaluate(other.clone())).changes.len(), 1);
        }
        effect
    });
    // However often it was evaluated, its effect is what is stored.
    let snapshot = storage.snapshot();
    assert_eq!(snapshot.version(), before + 2);
    assert_eq!(effect.changes[0].version, before + 2);
    let stored = snapshot.get(&key("new")).unwrap();
    assert_eq!(effect.response.as_object(), Some(&stored));
    assert_eq!(effect.changes[0].after.as_ref(), Some(&stored));
    assert_eq!(windlass_model::object::resource_version(&stored), (before + 2).to_string());
    assert_eq!(snapshot.raw(&key("new")).unwrap().version(), before + 2);
    assert_eq!(storage.statistics().evaluated_twice, count - 1);
    usize::try_from(count).unwrap()
}

#[test]
fn a_write_is_evaluated_again_if_what_it_read_has_changed() {
    let pods = |snapshot: &Snapshot| _ = snapshot.scan("", "pods", None, None);
    let config_maps = |snapshot: &Snapshot| _ = snapshot.scan("", "configmaps", None, None);
    let namespace = Request::new(Verb::Create, ResourceId::new("", "v1", "namespaces"))
        .with_body(json!({ "metadata": { "name": "other" } }));
    // The object itself and its namespace are always read.
    assert_eq!(evaluations(|_| {}, namespace.clone()), 1);
    assert_eq!(evaluations(|_| {}, create("another", "")), 1);
    assert_eq!(evaluations(|_| {}, update("known", "new")), 1);
    assert_eq!(evaluations(|snapshot| drop(snapshot.get(&key("known"))), update("known", "new")), 2);
    assert_eq!(evaluations(|snapshot| drop(snapshot.raw(&key("known"))), delete("known")), 2);
    assert_eq!(evaluations(|snapshot| drop(snapshot.get(&key("another"))), create("another", "")), 2);
    assert_eq!(evaluations(|snapshot| drop(snapshot.get(&key("known"))), create("another", "")), 1);
    assert_eq!(evaluations(pods, create("another", "")), 1);
    assert_eq!(evaluations(config_maps, create("another", "")), 2);
    assert_eq!(evaluations(config_maps, namespace.clone()), 1);
    assert_eq!(evaluations(|snapshot| _ = snapshot.count("", "configmaps"), create("another", "")), 2);
    assert_eq!(evaluations(|snapshot| _ = snapshot.all(), namespace.clone()), 2);
    assert_eq!(evaluations(|snapshot| drop(snapshot.dependents("x")), namespace.clone()), 2);
    assert_eq!(evaluations(|snapshot| drop(snapshot.collectable()), namespace.clone()), 2);
    assert_eq!(evaluations(|snapshot| _ = snapshot.version(), namespace.clone()), 2);
    assert_eq!(evaluations(|snapshot| _ = snapshot.list_version("", "pods"), namespace), 2);
}

#[test]
fn of_two_concurrent_creates_of_one_name_one_conflicts() {
    let storage = prepared();
    let mut first = true;
    let effect = write_now(&storage, |snapshot| {
        let effect = evaluate(create("a", ""))(snapshot);
        if std::mem::take(&mut first) {
            assert_eq!(write_now(&storage, evaluate(create("a", ""))).response.code, 201);
        }
        effect
    });
    assert_eq!(effect.response.code, 409);
    assert!(effect.changes.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_increment_is_lost() {
    let storage = prepared();
    let tasks: Vec<_> = (0..8)
        .map(|task| {
            let storage = storage.clone();
            tokio::spawn(async move {
                for _ in 0..50 {
                    let name = format!("counter-{}", task % 2);
                    let increment = |snapshot: &Snapshot| {
                        let write = match snapshot.get(&key(&name)) {
                            Some(live) => {
                                update(&name, &(text(&live).parse::<u64>().unwrap() + 1).to_string())
                            }
                            None => create(&name, "1"),
                        };
                        evaluate(write)(snapshot)
                    };
                    assert!(storage.write(increment).await.unwrap().effect.response.failure().is_none());
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    for name in ["counter-0", "counter-1"] {
        assert_eq!(text(&storage.snapshot().get(&key(name)).unwrap()), "200");
    }
}

/// Two served versions, with status and scale.
fn widget_definition() -> Value {
    let version = |name: &str, storage: bool| {
        json!({
            "name": name, "served": true, "storage": storage,
            "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
            "subresources": {
                "status": {},
                "scale": { "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas" },
            },
        })
    };
    json!({
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "plural": "widgets", "kind": "Widget" },
            "versions": [version("v1", true), version("v2", false)],
        },
    })
}

/// Each evaluation draws another uid.
fn without_uids(effect: Effect) -> (Value, Vec<(Key, Option<Value>, u64)>) {
    let mut response = effect.response.to_value();
    let strip = |value: &mut Value| drop(windlass_model::object::remove_meta(value, "uid"));
    strip(&mut response);
    let change = |change: windlass_model::Change| {
        let mut after = change.after.map(|after| (*after).clone());
        after.iter_mut().for_each(strip);
        (change.key, after, change.version)
    };
    (response, effect.changes.into_iter().map(change).collect())
}

fn widget(version: &str, name: &str) -> Value {
    let api_version = format!("example.com/{version}");
    json!({ "apiVersion": api_version, "kind": "Widget", "metadata": { "name": name }, "spec": { "replicas": 1 } })
}

fn widgets(version: &str) -> ResourceId {
    ResourceId::new("example.com", version, "widgets")
}

fn pods() -> ResourceId {
    ResourceId::new("", "v1", "pods")
}

fn make(resource: ResourceId, body: Value) -> Request {
    Request::new(Verb::Create, resource).in_namespace("default").with_body(body)
}

/// A store with a definition, a widget and two pods, of which one has a finalizer.
fn prepared_with_widgets() -> Storage {
    let storage = prepared();
    let definitions = ResourceId::new("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    write_now(&storage, evaluate(Request::new(Verb::Create, definitions).with_body(widget_definition())));
    let snapshot = storage.snapshot();
    for next in windlass_model::controllers::next_requests(&snapshot, snapshot.types(), Timestamp::default())
    {
        write_now(&storage, evaluate(next.request));
    }
    let pod = |metadata: Value| json!({ "metadata": metadata, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    for create in [
        make(pods(), pod(json!({ "name": "p" }))),
        make(pods(), pod(json!({ "name": "held", "finalizers": ["x.io/y"] }))),
        make(widgets("v1"), widget("v1", "w")),
    ] {
        assert_eq!(write_now(&storage, evaluate(create)).response.code, 201);
    }
    storage
}

/// Requests that answer in all the ways there are.
fn requests() -> Vec<Request> {
    let on = |resource: ResourceId, verb: Verb, name: &str| {
        Request::new(verb, resource).in_namespace("default").named(name)
    };
    let merge = Verb::Patch(windlass_model::PatchKind::Merge);
    let apply = Verb::Patch(windlass_model::PatchKind::Apply);
    let binding = json!({ "metadata": { "name": "p" }, "target": { "name": "node" } });
    vec![
        make(widgets("v1"), widget("v1", "other")),
        make(widgets("v2"), widget("v2", "other")),
        on(widgets("v1"), merge, "w").with_body(json!({ "spec": { "replicas": 2 } })),
        on(widgets("v2"), merge, "w").with_body(json!({ "spec": { "replicas": 2 } })),
        on(widgets("v2"), apply, "w").with_body(widget("v2", "w")).as_manager("me"),
        on(widgets("v2"), merge, "w").on("status").with_body(json!({ "status": { "replicas": 2 } })),
        on(widgets("v1"), merge, "w").on("scale").with_body(json!({ "spec": { "replicas": 5 } })),
        on(widgets("v1"), Verb::Delete, "w"),
        on(pods(), Verb::Create, "p").on("binding").with_body(binding),
        on(pods(), Verb::Create, "p").on("eviction").with_body(json!({ "metadata": { "name": "p" } })),
        on(pods(), Verb::Delete, "p"),
        on(pods(), Verb::Delete, "held"),
        Request::new(Verb::DeleteCollection, pods()).in_namespace("default"),
    ]
}

#[test]
fn restamped_effects_equal_those_of_a_later_evaluation() {
    let seen = prepared_with_widgets().snapshot();
    let mut later = seen.clone();
    later.state_mut().reserved += 100;
    for request in requests() {
        let mut effect = evaluate(request.clone())(&seen);
        assert!(!effect.changes.is_empty(), "{request:?}: {:?}", effect.response);
        restamp(&mut effect, later.state().next_version() - seen.state().next_version());
        assert_eq!(without_uids(effect), without_uids(evaluate(request.clone())(&later)), "{request:?}");
    }
}
