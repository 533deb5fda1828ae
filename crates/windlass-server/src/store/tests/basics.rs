//! What holds for every store, durable or not.

use windlass_model::Store;

use super::*;
use crate::store::Compacted;

#[tokio::test]
async fn a_write_is_visible_when_it_returns_and_not_in_older_snapshots() {
    let storage = in_memory();
    add_namespace(&storage, "default").await;
    let before = storage.snapshot();
    let made = request(&storage, create("a", "one")).await.unwrap();
    assert_eq!(made.code, 201);
    let after = storage.snapshot();
    assert_eq!(after.version(), before.version() + 1);
    assert!(before.get(&key("a")).is_none());
    assert_eq!(text(&after.get(&key("a")).unwrap()), "one");
    assert_eq!(after.raw(&key("a")).unwrap().version(), after.version());
    assert_eq!(after.count("", "configmaps"), 1);
    request(&storage, delete("a")).await.unwrap();
    assert_eq!(storage.snapshot().count("", "configmaps"), 0);
    assert_eq!(after.count("", "configmaps"), 1);
}

#[tokio::test]
async fn a_scan_is_in_the_order_of_kubernetes_and_goes_on_after_a_key() {
    let storage = in_memory();
    for namespace in ["a", "a-b", "b"] {
        add_namespace(&storage, namespace).await;
        for name in ["y", "x", "x-y"] {
            request(&storage, create_in(namespace, name, "")).await.unwrap();
        }
    }
    let snapshot = storage.snapshot();
    let names = |namespace: Option<&str>, after: Option<&Key>| -> Vec<String> {
        let found = snapshot.scan_raw("", "configmaps", namespace, after);
        found.map(|(key, _)| format!("{}/{}", key.namespace, key.name)).collect()
    };
    let all = ["a-b/x", "a-b/x-y", "a-b/y", "a/x", "a/x-y", "a/y", "b/x", "b/x-y", "b/y"];
    assert_eq!(names(None, None), all);
    assert_eq!(names(Some("a"), None), all[3..6]);
    assert_eq!(names(Some("c"), None), [""; 0]);
    for (at, name) in all.iter().enumerate() {
        let (namespace, name) = name.split_once('/').unwrap();
        let after = Key::new("", "configmaps", namespace, name);
        assert_eq!(names(None, Some(&after)), all[at + 1..]);
    }
    // A page goes on after a key that has been deleted meanwhile, and before the namespace at its beginning.
    assert_eq!(names(Some("a"), Some(&Key::new("", "configmaps", "a", "x-a"))), all[4..6]);
    assert_eq!(names(Some("a"), Some(&Key::new("", "configmaps", "", ""))), all[3..6]);
    let through_model: Vec<Key> =
        snapshot.all().map(|(key, _)| key).filter(|key| !key.namespace.is_empty()).collect();
    assert_eq!(through_model.len(), all.len());
}

#[tokio::test]
async fn a_feed_gives_the_changes_of_its_resource_in_order() {
    let storage = in_memory();
    add_namespace(&storage, "default").await;
    let start = storage.snapshot().version();
    let mut early = storage.feed("", "configmaps", start).unwrap();
    assert_eq!(early.ready().unwrap().len(), 0);
    let waiting = tokio::spawn(async move {
        let found = early.next().await.unwrap();
        (found, early)
    });
    request(&storage, create("a", "one")).await.unwrap();
    let (found, mut early) = waiting.await.unwrap();
    assert_eq!(found.len(), 1);
    request(&storage, update("a", "two")).await.unwrap();
    add_namespace(&storage, "other").await;
    request(&storage, delete("a")).await.unwrap();
    let rest = early.next().await.unwrap();
    let versions: Vec<u64> = rest.iter().map(|record| record.version).collect();
    assert_eq!(versions, [start + 2, start + 4]);
    assert_eq!(rest[0].before.as_ref().unwrap().version(), start + 1);
    assert!(rest[1].after.is_none());
    assert_eq!(early.position(), start + 4);
    add_namespace(&storage, "third").await;
    assert_eq!(early.ready().unwrap().len(), 0);
    assert_eq!(early.position(), start + 5, "a bookmark moves on with other resources");
    let mut late = storage.feed("", "configmaps", start + 1).unwrap();
    assert_eq!(late.next().await.unwrap().len(), 2);
}

#[tokio::test]
async fn slow_readers_learn_where_to_resume() {
    let history = HistoryLimits { changes: 3, ..HistoryLimits::default() };
    let storage = Storage::open(&StoreOptions { history, ..StoreOptions::default() }).unwrap();
    add_namespace(&storage, "default").await;
    let start = storage.snapshot().version();
    let mut slow = storage.feed("", "configmaps", start).unwrap();
    let mut idle = storage.feed("", "namespaces", start).unwrap();
    for number in 0..5 {
        request(&storage, create(&format!("n{number}"), "")).await.unwrap();
    }
    assert_eq!(slow.next().await.unwrap_err(), Compacted { oldest: start + 2 });
    assert_eq!(storage.feed("", "configmaps", start).unwrap_err(), Compacted { oldest: start + 2 });
    assert_eq!(storage.feed("", "configmaps", start + 2).unwrap().ready().unwrap().len(), 3);
    assert_eq!(idle.ready().unwrap().len(), 0, "its own history is complete");
    assert_eq!(storage.statistics().history.changes, 3);
    assert_eq!(storage.statistics().history.compacted, start + 2);
}

#[tokio::test]
async fn older_versions_are_found_while_the_history_or_a_pin_has_them() {
    let history = HistoryLimits { changes: 4, ..HistoryLimits::default() };
    let storage = Storage::open(&StoreOptions { history, ..StoreOptions::default() }).unwrap();
    add_namespace(&storage, "default").await;
    let mut states = Vec::new();
    for number in 0..9 {
        request(&storage, create(&format!("n{number}"), "")).await.unwrap();
        if number % 2 == 1 {
            request(&storage, delete(&format!("n{number}"))).await.unwrap();
        }
        states.push(storage.snapshot());
    }
    storage.pin(&states[1]);
    let found: Vec<bool> = states
        .iter()
        .map(|state| match storage.at(state.version()) {
            Some(again) => {
                assert_eq!(contents(&again), contents(state));
                assert_eq!(again.version(), state.version());
                true
            }
            None => false,
        })
        .collect();
    assert_eq!(found, [false, true, false, false, false, true, true, true, true]);
    assert!(storage.at(storage.snapshot().version() + 1).is_none());
}

#[tokio::test]
async fn types_follow_definitions_also_into_the_past() {
    let storage = in_memory();
    let definition = json!({
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com", "scope": "Cluster", "names": { "plural": "widgets", "kind": "Widget" },
            "versions": [{ "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object" } } }],
        },
    });
    let crds = ResourceId::new("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    request(&storage, Request::new(Verb::Create, crds).with_body(definition)).await.unwrap();
    let unserved = storage.snapshot();
    loop {
        let snapshot = storage.snapshot();
        let next =
            windlass_model::controllers::next_requests(&snapshot, snapshot.types(), Timestamp::default());
        if next.is_empty() {
            break;
        }
        for next in next {
            request(&storage, next.request).await.unwrap();
        }
    }
    let served = |snapshot: &Snapshot| snapshot.types().any_version("example.com", "widgets").is_some();
    assert!(served(&storage.snapshot()));
    assert!(!served(&unserved));
    assert!(!served(&storage.at(unserved.version()).unwrap()));
}
