//! The server is killed without warning, again and again, while clients write.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, PostParams, WatchEvent, WatchParams};
use kube::{Client, ResourceExt};
use serde_json::json;
use tokio::sync::Notify;

use crate::served::Served;

const KILLS: usize = 100;
const CLIENTS: usize = 8;
/// Number of names that each client cycles through, so that objects are created, updated and deleted.
const NAMES: u64 = 5;
/// Maximum lifetime of a server; the actual one is random.
const LIFE_MAX_MS: u64 = 60;

/// The state of an object after the last acknowledged write, and after the one that may have been stored.
#[derive(Clone, Debug, Default)]
struct Expected {
    acknowledged: Option<String>,
    /// The write that was under way when the server died: some value, or a removal.
    uncertain: Option<Option<String>>,
}

/// What the clients expect of the server.
#[derive(Default)]
struct Expectations {
    objects: BTreeMap<String, Expected>,
    /// The versions of all acknowledged creates and updates.
    versions: BTreeSet<u64>,
}

fn config_map(name: &str, value: &str) -> ConfigMap {
    // Long enough for half of it to be missing.
    let filler = value.repeat(200);
    let map = json!({"metadata": {"name": name}, "data": {"value": value, "filler": filler}});
    serde_json::from_value(map).expect("a config map")
}

fn value(map: &ConfigMap) -> Option<String> {
    let data = map.data.as_ref()?;
    let value = data.get("value")?.clone();
    assert_eq!(data["filler"], value.repeat(200), "half an object was stored");
    Some(value)
}

/// A number that differs from run to run, so that the server is not always killed at the same point.
fn drawn(below: u64) -> u64 {
    let nanoseconds = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    u64::from(nanoseconds.subsec_nanos()) / 1000 % below
}

/// Writes until the server no longer answers.
async fn write(
    maps: Api<ConfigMap>,
    client: usize,
    round: usize,
    expectations: Arc<Mutex<Expectations>>,
    heard: Arc<Notify>,
) {
    for number in 0_u64.. {
        let name = format!("c{client}-{}", number % NAMES);
        let known = expectations
            .lock()
            .expect("lock is not poisoned")
            .objects
            .get(&name)
            .cloned()
            .unwrap_or_default();
        let wanted = format!("{round}.{number}");
        let removes = known.acknowledged.is_some() && number % 7 == 6;
        let planned = if removes { None } else { Some(wanted.clone()) };
        let expect = |acknowledged, uncertain| {
            let mut expectations = expectations.lock().expect("lock is not poisoned");
            expectations.objects.insert(name.clone(), Expected { acknowledged, uncertain });
        };
        expect(known.acknowledged.clone(), Some(planned.clone()));
        let answer = if removes {
            maps.delete(&name, &DeleteParams::default()).await.map(|_| None)
        } else if known.acknowledged.is_some() {
            maps.replace(&name, &PostParams::default(), &config_map(&name, &wanted)).await.map(Some)
        } else {
            maps.create(&PostParams::default(), &config_map(&name, &wanted)).await.map(Some)
        };
        match answer {
            Ok(written) => {
                expect(planned, None);
                heard.notify_one();
                if let Some(version) = written.and_then(|map| map.resource_version()) {
                    let version = version.parse().expect("a version is a number");
                    expectations.lock().expect("lock is not poisoned").versions.insert(version);
                }
            }
            Err(kube::Error::Api(status)) => panic!("{name} was refused: {status}"),
            Err(_) => return,
        }
    }
}

/// Follows all changes, over all lives of the server.
struct Follower {
    version: String,
    /// The objects as the events show them.
    objects: BTreeMap<String, String>,
    versions: BTreeSet<u64>,
}

impl Follower {
    /// Takes events until the server dies, or until the newest version is seen.
    async fn follow(&mut self, maps: Api<ConfigMap>, until: Option<u64>) {
        let parameters = WatchParams::default().disable_bookmarks();
        let Ok(events) = maps.watch(&parameters, &self.version).await else { return };
        let mut events = events.boxed();
        while until.is_none_or(|until| self.version.parse::<u64>().expect("a number") < until) {
            let Ok(Some(event)) = events.try_next().await else { return };
            let map = match &event {
                WatchEvent::Added(map) | WatchEvent::Modified(map) | WatchEvent::Deleted(map) => map,
                other => panic!("no such event belongs here: {other:?}"),
            };
            self.version = map.resource_version().expect("a version");
            let number = self.version.parse().expect("a number");
            assert!(self.versions.insert(number), "version {number} came twice");
            match &event {
                WatchEvent::Deleted(_) => self.objects.remove(&map.name_any()),
                _ => self.objects.insert(map.name_any(), value(map).expect("a value")),
            };
        }
    }
}

/// Compares what there is with what was acknowledged, and settles what was uncertain.
async fn verify(client: Client, expectations: &Mutex<Expectations>) -> u64 {
    let maps: Api<ConfigMap> = Api::namespaced(client, "default");
    let list = maps.list(&ListParams::default()).await.expect("reads are answered");
    let version = list.metadata.resource_version.clone().expect("a version").parse().expect("a number");
    let found: BTreeMap<String, String> =
        list.iter().filter_map(|map| Some((map.name_any(), value(map)?))).collect();
    let mut expectations = expectations.lock().expect("lock is not poisoned");
    for (name, expected) in &mut expectations.objects {
        let found = found.get(name).cloned();
        let came_through = expected.uncertain.take().is_some_and(|uncertain| uncertain == found);
        assert!(came_through || found == expected.acknowledged, "{name}: {expected:?}, found {found:?}");
        expected.acknowledged = found;
    }
    assert!(
        found.keys().all(|name| expectations.objects.contains_key(name)),
        "an object that no client made"
    );
    version
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_was_acknowledged_is_lost() {
    let data = tempfile::tempdir().expect("a folder");
    let folder = data.path().to_str().expect("UTF-8").to_owned();
    let expectations = Arc::new(Mutex::new(Expectations::default()));
    let mut follower =
        Follower { version: String::new(), objects: BTreeMap::new(), versions: BTreeSet::new() };
    for round in 0..KILLS {
        let served = Served::start(&["--data", &folder]);
        let client = served.client().await;
        let version = verify(client.clone(), &expectations).await;
        if round == 0 {
            follower.version = version.to_string();
        }
        let maps: Api<ConfigMap> = Api::namespaced(client, "default");
        let written = Arc::new(Notify::new());
        let write =
            |number| write(maps.clone(), number, round, Arc::clone(&expectations), Arc::clone(&written));
        let writers: Vec<_> = (0..CLIENTS).map(|number| tokio::spawn(write(number))).collect();
        let life = Duration::from_millis(drawn(LIFE_MAX_MS));
        let killed = async {
            if round % 2 == 0 {
                // On a busy machine a life may be over before anything is written; not all of them should be.
                let first = tokio::time::timeout(Duration::from_secs(60), written.notified());
                first.await.expect("something is written");
            }
            tokio::time::sleep(life).await;
            drop(served.kill());
        };
        tokio::join!(killed, follower.follow(maps.clone(), None));
        for writer in writers {
            writer.await.expect("no write is refused");
        }
    }
    let served = Served::start(&["--data", &folder]);
    let client = served.client().await;
    let newest = verify(client.clone(), &expectations).await;
    let maps: Api<ConfigMap> = Api::namespaced(client, "default");
    // Whatever the last version was about, this one is a config map, and so the last event to wait for.
    let last = maps.create(&PostParams::default(), &config_map("last", "1")).await.expect("created");
    let last = last.resource_version().expect("a version").parse().expect("a number");
    assert!(last > newest);
    follower.follow(maps.clone(), Some(last)).await;
    let listed = maps.list(&ListParams::default()).await.expect("listed");
    let found: BTreeMap<String, String> =
        listed.iter().filter_map(|map| Some((map.name_any(), value(map)?))).collect();
    assert_eq!(follower.objects, found, "the events and the list disagree");
    let expectations = expectations.lock().expect("lock is not poisoned");
    let missed: Vec<&u64> = expectations.versions.difference(&follower.versions).collect();
    assert!(missed.is_empty(), "the watch missed versions {missed:?}");
    assert!(expectations.versions.len() > KILLS, "hardly anything was written");
}
