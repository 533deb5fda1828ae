//! Lists and watches of shards.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use windlass_model::selector::{ShardKey, ShardSelector};
use windlass_model::watch::WatchOptions;
use windlass_model::{Request, ResourceId, Verb, object};

use super::client::{Connected, Incoming};
use crate::FeatureGates;

const TOP: u128 = 1 << 64;

fn config_maps(verb: Verb) -> Request {
    Request::new(verb, ResourceId::new("", "v1", "configmaps")).in_namespace("default")
}

/// A list or a deletion of the objects of a shard.
fn of_shard(verb: Verb, shard: &ShardSelector) -> Request {
    let mut request = config_maps(verb);
    request.options.shard_selector = Some(shard.to_string());
    request
}

/// Shards that have every hash between them, in ranges that do not end with slots.
fn shards() -> [ShardSelector; 2] {
    let cuts = [0, TOP / 5 + 1, TOP / 2 + 7, TOP / 4 * 3 + 5, TOP];
    let range = |index: usize| (cuts[index], cuts[index + 1]);
    [[range(0), range(2)], [range(1), range(3)]]
        .map(|ranges| ShardSelector::new(ShardKey::Uid, ranges).unwrap())
}

/// What happened, to an object with what uid.
type Happened = (&'static str, String, Value);

/// A server, and what was done on it.
struct Recorded {
    server: Connected,
    happened: Vec<Happened>,
}

impl Recorded {
    async fn start() -> Self {
        Recorded { server: Connected::start(FeatureGates::default()).await, happened: Vec::new() }
    }

    async fn write(&mut self, kind: &'static str, request: Request) {
        let (code, object) = self.server.request(&request).await;
        assert!(code < 300, "{object}");
        // A deletion answers with a status that has name and uid elsewhere.
        let (name, uid) = match kind {
            "DELETED" => (&object["details"]["name"], &object["details"]["uid"]),
            _ => (&object["metadata"]["name"], &object["metadata"]["uid"]),
        };
        let name = name.as_str().unwrap().to_owned();
        self.happened.push((kind, name, json!({ "metadata": { "uid": uid } })));
    }

    async fn create(&mut self, numbers: std::ops::Range<usize>) {
        for number in numbers {
            let parity = if number % 2 == 0 { "even" } else { "odd" };
            let metadata = json!({ "name": format!("n{number:02}"), "labels": { "parity": parity } });
            self.write("ADDED", config_maps(Verb::Create).with_body(json!({ "metadata": metadata }))).await;
        }
    }

    /// Creates, changes and deletes some objects more.
    async fn change(&mut self) {
        self.create(20..40).await;
        for number in 0..40 {
            let name = format!("n{number:02}");
            let parity = if number % 2 == 0 { "even" } else { "odd" };
            let body =
                json!({ "metadata": { "name": name, "labels": { "parity": parity } }, "data": { "a": "b" } });
            self.write("MODIFIED", config_maps(Verb::Update).named(&name).with_body(body)).await;
        }
        for number in 10..30 {
            self.write("DELETED", config_maps(Verb::Delete).named(&format!("n{number:02}"))).await;
        }
    }

    /// What of it a watcher of a shard is sent.
    fn of(&self, shard: &ShardSelector, wanted: impl Fn(&str) -> bool) -> Vec<(String, String)> {
        let selected = self.happened.iter().filter(|(_, name, object)| wanted(name) && shard.matches(object));
        selected.map(|(kind, name, _)| ((*kind).to_owned(), name.clone())).collect()
    }
}

fn described(event: &Value) -> (String, String) {
    (event["type"].as_str().unwrap().to_owned(), object::name(&event["object"]).to_owned())
}

async fn events(watch: &mut Incoming, count: usize) -> Vec<(String, String)> {
    let mut found = Vec::new();
    while found.len() < count {
        found.push(described(&watch.event().await));
    }
    found
}

#[tokio::test]
async fn watches_of_all_shards_are_sent_everything_once() {
    let mut recorded = Recorded::start().await;
    recorded.create(0..20).await;
    let fresh = WatchOptions { send_initial_events: true, allow_bookmarks: true, ..WatchOptions::default() };
    let mut watches = Vec::new();
    for shard in shards() {
        let mut watch = recorded.server.watch(&of_shard(Verb::List, &shard), &fresh).await;
        let expected = recorded.of(&shard, |_| true);
        assert_eq!(events(&mut watch, expected.len()).await, expected);
        let end = watch.event().await;
        let annotation = object::annotation(&end["object"], "k8s.io/initial-events-end");
        assert_eq!((end["type"].as_str(), annotation), (Some("BOOKMARK"), Some("true")));
        let version = object::resource_version(&end["object"]).parse().unwrap();
        watches.push((shard, watch, version));
    }
    recorded.happened.clear();
    recorded.change().await;
    let mut all = 0;
    for (shard, mut watch, version) in watches {
        let expected = recorded.of(&shard, |_| true);
        assert!(!expected.is_empty());
        assert_eq!(events(&mut watch, expected.len()).await, expected);
        // Who resumes where the other began is sent the same.
        let resume = WatchOptions { resource_version: version, ..WatchOptions::default() };
        let mut resumed = recorded.server.watch(&of_shard(Verb::List, &shard), &resume).await;
        assert_eq!(events(&mut resumed, expected.len()).await, expected);
        all += expected.len();
    }
    assert_eq!(all, recorded.happened.len());
}

#[tokio::test]
async fn labels_select_within_a_shard() {
    let mut recorded = Recorded::start().await;
    let shard = &shards()[0];
    let mut request = of_shard(Verb::List, shard);
    request.options.label_selector = Some("parity=odd".to_owned());
    recorded.create(0..20).await;
    let is_odd = |name: &str| name.ends_with(['1', '3', '5', '7', '9']);
    let options = WatchOptions { send_initial_events: true, ..WatchOptions::default() };
    let mut watch = recorded.server.watch(&request, &options).await;
    recorded.change().await;
    let expected = recorded.of(shard, is_odd);
    assert_eq!(events(&mut watch, expected.len()).await, expected);
}

#[tokio::test]
async fn lists_of_all_shards_have_everything_once() {
    let mut recorded = Recorded::start().await;
    recorded.create(0..30).await;
    let mut all = BTreeSet::new();
    for shard in shards() {
        let mut request = of_shard(Verb::List, &shard);
        request.options.limit = 4;
        let mut names = Vec::new();
        loop {
            let (code, list) = recorded.server.request(&request).await;
            assert_eq!(code, 200, "{list}");
            assert_eq!(list["metadata"]["shardInfo"], Value::Null);
            names.extend(list["items"].as_array().unwrap().iter().map(|item| object::name(item).to_owned()));
            match list["metadata"]["continue"].as_str() {
                Some(token) => request.options.continue_token = Some(token.to_owned()),
                None => break,
            }
        }
        let expected: Vec<String> = recorded.of(&shard, |_| true).into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, expected);
        all.extend(names);
    }
    assert_eq!(all.len(), 30);
}

#[tokio::test]
async fn a_collection_is_deleted_by_shard() {
    let mut recorded = Recorded::start().await;
    recorded.create(0..20).await;
    let [one, other] = shards();
    let (code, deleted) = recorded.server.request(&of_shard(Verb::DeleteCollection, &one)).await;
    assert_eq!(code, 200, "{deleted}");
    let (_, left) = recorded.server.request(&config_maps(Verb::List)).await;
    let left: Vec<&str> = left["items"].as_array().unwrap().iter().map(object::name).collect();
    let expected: Vec<String> = recorded.of(&other, |_| true).into_iter().map(|(_, name)| name).collect();
    assert_eq!(left, expected);
}

#[tokio::test]
async fn bad_selectors_are_refused_where_they_are_known() {
    let closed = FeatureGates { sharded_list_and_watch: false, ..FeatureGates::default() };
    for (gates, expected) in [(FeatureGates::default(), 400), (closed, 200)] {
        let server = Connected::start(gates).await;
        let mut list = config_maps(Verb::List);
        list.options.shard_selector = Some("shardRange(object.metadata.name,'0','1')".to_owned());
        let (code, answer) = server.request(&list).await;
        assert_eq!(code, expected, "{answer}");
        if expected == 400 {
            let text = answer["message"].as_str().unwrap();
            assert!(text.starts_with("invalid shardSelector: expected object.metadata.uid or "), "{text}");
            assert_eq!(answer["reason"], "BadRequest");
        }
        assert_eq!(server.watch(&list, &WatchOptions::default()).await.code, expected);
    }
}
