//! Events: what is counted and held back, and what a cluster then has.

use futures::future::BoxFuture;
use serde_json::{Value, json};
use windlass::model::{Reason, Request, ResourceId, Response, Status, Timestamp, Verb, object};
use windlass::{KindInfo, ObjectRef};

use super::aggregator::Write;
use super::*;
use crate::operations::test_server::TestServer;

fn config_maps() -> KindInfo {
    KindInfo {
        resource: ResourceId::new("", "v1", "configmaps"),
        kind: "ConfigMap".to_owned(),
        namespaced: true,
    }
}

fn regarding(key: &ObjectRef) -> Regarding {
    let metadata =
        json!({ "namespace": key.namespace, "name": key.name, "uid": format!("uid-{}", key.name) });
    Regarding::of(&config_maps(), &json!({ "metadata": metadata }))
}

fn occurrence(name: &str, event: Event, second: i64) -> Occurrence {
    Occurrence {
        regarding: regarding(&ObjectRef::new("default", name)),
        reporter: Arc::new(Reporter::new("pair", "here")),
        event,
        at: Timestamp::from_unix_seconds(second),
    }
}

/// What an aggregator writes for events that come at these seconds, in words.
fn aggregated(occurrences: &[(u64, &str, &str)]) -> Vec<String> {
    let (mut aggregator, start) = (EventAggregator::default(), Instant::now());
    let mut writes = Vec::new();
    for (second, name, message) in occurrences {
        let now = start + Duration::from_secs(*second);
        while let Some(due) = aggregator.next_count().filter(|due| *due <= now) {
            writes.extend(aggregator.counts(due));
        }
        let event = Event::normal("Made", *message);
        writes.extend(aggregator.observe(occurrence(name, event, 1_000 + *second as i64), now));
    }
    writes.extend(aggregator.last_counts());
    writes.iter().map(in_words).collect()
}

fn in_words(write: &Write) -> String {
    let text = |event: &Value| format!("{} {}", event["regarding"]["name"], event["note"]).replace('"', "");
    match write {
        Write::Create(event) => text(event),
        Write::Count { event, count, last } => {
            format!("{} x{count} at {}", text(event), last.unix_seconds() - 1_000)
        }
    }
}

#[test]
fn what_repeats_is_counted_now_and_then() {
    let all = [(0, "a", "x"), (1, "a", "x"), (2, "a", "x"), (3, "a", "x"), (20, "a", "x"), (21, "a", "x")];
    // The second time at once, and then at most every ten seconds; at the end what is left.
    assert_eq!(aggregated(&all), ["a x", "a x x2 at 1", "a x x4 at 3", "a x x5 at 20", "a x x6 at 21"]);
}

#[test]
fn different_objects_and_messages_are_different_events() {
    let all = [(0, "a", "x"), (0, "b", "x"), (0, "a", "y")];
    assert_eq!(aggregated(&all), ["a x", "b x", "a y"]);
}

#[test]
fn an_object_with_too_many_events_is_held_back_and_others_are_not() {
    let messages: Vec<String> = (0..100).map(|number| number.to_string()).collect();
    let mut all: Vec<(u64, &str, &str)> = messages.iter().map(|message| (0, "a", message.as_str())).collect();
    all.push((0, "b", "x"));
    all.push((0, "a", "0"));
    let lines = aggregated(&all);
    assert_eq!(lines.iter().filter(|line| line.starts_with("a ")).count(), 26, "25, and one that is counted");
    assert!(lines.contains(&"b x".to_owned()) && lines.contains(&"a 0 x2 at 0".to_owned()));
}

#[test]
fn after_a_quiet_time_an_event_is_new_again() {
    assert_eq!(aggregated(&[(0, "a", "x"), (1, "a", "x"), (400, "a", "x")]), ["a x", "a x x2 at 1", "a x"]);
}

#[test]
fn memory_is_bounded() {
    let (mut aggregator, now) = (EventAggregator::default(), Instant::now());
    for number in 0..5_000 {
        let occurrence = occurrence(&number.to_string(), Event::normal("Made", "x"), 0);
        assert!(
            aggregator.observe(occurrence, now).is_some(),
            "an event of an object that is not remembered is written"
        );
    }
    let again = aggregator.observe(occurrence("0", Event::normal("Made", "x"), 1), now);
    assert!(matches!(again, Some(Write::Count { count: 2, .. })));
    let unknown = aggregator.observe(occurrence("4999", Event::normal("Made", "x"), 1), now);
    assert!(matches!(unknown, Some(Write::Create(_))));
}

fn events() -> ResourceId {
    ResourceId::new("", "v1", "events")
}

/// The events of a server as `kubectl describe` sees them, once all that was published is written.
async fn written(server: &TestServer, recorder: EventRecorder) -> Vec<Value> {
    recorder.shutdown().await;
    server.list(events()).await
}

#[tokio::test]
async fn a_cluster_has_one_event_with_a_count() {
    let server = TestServer::start().await;
    let body = json!({ "metadata": { "name": "a" } });
    let parent = server.create(config_maps().resource, "default", body).await;
    let recorder = EventRecorder::start(server.admin.clone(), "host-1");
    let pair = recorder.controller("pair");
    let about = Regarding::of(&config_maps(), &parent);
    for _ in 0..5 {
        pair.publish(&about, &Event::warning("Conflict", "somebody else writes this"));
    }
    let all = written(&server, recorder).await;
    assert_eq!(all.len(), 1, "{all:#?}");
    let event = &all[0];
    let about = &event["involvedObject"];
    assert_eq!((&about["kind"], &about["name"]), (&json!("ConfigMap"), &json!("a")));
    assert_eq!(about["uid"], parent["metadata"]["uid"]);
    assert_eq!((&event["type"], &event["reason"]), (&json!("Warning"), &json!("Conflict")));
    assert_eq!(event["message"], "somebody else writes this");
    assert_eq!((&event["reportingComponent"], &event["action"]), (&json!("pair"), &json!("Reconcile")));
    assert_eq!((&event["reportingInstance"], &event["series"]["count"]), (&json!("pair-host-1"), &json!(5)));
    server.shutdown().await;
}

#[tokio::test]
async fn long_texts_and_names_and_objects_without_a_namespace_are_accepted() {
    let server = TestServer::start().await;
    let recorder = EventRecorder::start(server.admin.clone(), &"h".repeat(300));
    let events = recorder.controller("pair");
    let nodes =
        KindInfo { resource: ResourceId::new("", "v1", "nodes"), kind: "Node".to_owned(), namespaced: false };
    let node = Regarding::of(&nodes, &json!({ "metadata": { "name": "n".repeat(253), "uid": "u" } }));
    events.publish(&node, &Event::normal("R".repeat(300), "ü".repeat(3_000)));
    events.publish(&node, &Event::normal("", ""));
    let all = written(&server, recorder).await;
    assert_eq!(all.len(), 2, "{all:#?}");
    assert!(all.iter().all(|event| object::namespace(event) == "default"));
    server.shutdown().await;
}

#[tokio::test]
async fn an_expired_event_is_created_again_with_its_count() {
    let server = TestServer::start().await;
    let first = Arc::new(occurrence("a", Event::normal("Made", "x"), 5).to_event());
    let write = Write::Count { event: first, count: 7, last: Timestamp::from_unix_seconds(9) };
    perform_write(&*server.admin, &write).await;
    let all = server.list(events()).await;
    assert_eq!((all.len(), &all[0]["series"]["count"]), (1, &json!(7)));
    server.shutdown().await;
}

/// Refuses everything.
struct Refuses;

fn unreachable() -> Status {
    Status::failure(503, Reason::ServiceUnavailable, "the API cannot be reached")
}

impl Perform for Refuses {
    fn perform<'a>(&'a self, _: &'a Request) -> BoxFuture<'a, Response> {
        Box::pin(async { Response::status(unreachable()) })
    }

    fn document<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Value, Status>> {
        Box::pin(async { Err(unreachable()) })
    }
}

#[tokio::test(start_paused = true)]
async fn who_publishes_neither_waits_nor_fails() {
    let recorder = EventRecorder::start(Arc::new(Refuses), "host-1");
    let events = recorder.controller("pair");
    for number in 0..10 * WAITING_MAX {
        let about = regarding(&ObjectRef::new("default", &number.to_string()));
        events.publish(&about, &Event::normal("Made", "x"));
    }
    // With an API that does not answer, what is left is given up.
    recorder.shutdown().await;
    events.publish(&regarding(&ObjectRef::new("default", "a")), &Event::normal("Made", "x"));
}

#[tokio::test]
async fn who_publishes_may_outlive_the_recorder() {
    let server = TestServer::start().await;
    let recorder = EventRecorder::start(server.admin.clone(), "host-1");
    let pair = recorder.controller("pair");
    drop(recorder);
    for name in ["a", "b"] {
        pair.publish(&regarding(&ObjectRef::new("default", name)), &Event::normal("Made", "x"));
        while !server.list(events()).await.iter().any(|event| event["involvedObject"]["name"] == name) {}
    }
    server.shutdown().await;
}

#[tokio::test]
async fn an_event_that_is_refused_is_given_up() {
    let server = TestServer::start().await;
    let recorder = EventRecorder::start(server.admin.clone(), "host-1");
    let events = recorder.controller("pair");
    events.publish(&regarding(&ObjectRef::new("no-such-namespace", "a")), &Event::normal("Made", "x"));
    events.publish(&regarding(&ObjectRef::new("default", "b")), &Event::normal("Made", "x"));
    let all = written(&server, recorder).await;
    assert_eq!(all.iter().map(|event| &event["involvedObject"]["name"]).collect::<Vec<_>>(), ["b"]);
    let list = Request::new(Verb::List, ResourceId::new("events.k8s.io", "v1", "events"));
    assert_eq!(server.perform(list).await.to_value()["items"][0]["note"], "x");
    server.shutdown().await;
}
