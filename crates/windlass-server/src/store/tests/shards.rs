//! Feeds of shards: what they return, what wakes them, and what history they need.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use windlass_model::selector::{ShardKey, ShardSelector};

use super::*;
use crate::store::{Compacted, Feed};

const TOP: u128 = 1 << 64;

fn selector(start: u128, end: u128) -> ShardSelector {
    ShardSelector::new(ShardKey::Uid, [(start, end)]).unwrap()
}

/// Both halves of all hashes, and an object of each.
struct Halves {
    storage: Storage,
    shards: [ShardSelector; 2],
    names: [String; 2],
}

impl Halves {
    async fn new(history: HistoryLimits) -> Self {
        let storage = Storage::open(&StoreOptions { history, ..StoreOptions::default() }).unwrap();
        add_namespace(&storage, "default").await;
        let shards = [selector(0, TOP / 2), selector(TOP / 2, TOP)];
        let mut names = [const { String::new() }; 2];
        for number in 0.. {
            let name = format!("n{number}");
            let made = request(&storage, create(&name, "")).await.unwrap().to_value();
            let half = usize::from(shards[1].matches(&made));
            names[half] = name;
            if names.iter().all(|name| !name.is_empty()) {
                break;
            }
        }
        Halves { storage, shards, names }
    }

    fn version(&self) -> u64 {
        self.storage.snapshot().version()
    }

    fn feed(&self, half: usize, after: u64) -> Result<Feed, Compacted> {
        self.storage.feed_of_shards("", "configmaps", after, &self.shards[half])
    }

    /// Changes the object of a half.
    async fn change(&self, half: usize) {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let text = NEXT.fetch_add(1, Ordering::Relaxed).to_string();
        assert_eq!(request(&self.storage, update(&self.names[half], &text)).await.unwrap().code, 200);
    }
}

fn versions(records: &[Arc<crate::store::Record>]) -> Vec<u64> {
    records.iter().map(|record| record.version).collect()
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn only_changes_of_its_shards_wake_a_feed() {
    let halves = Halves::new(HistoryLimits::default()).await;
    let start = halves.version();
    let mut feed = halves.feed(0, start).unwrap();
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    let mut next = pin!(feed.next());
    assert!(next.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    halves.change(1).await;
    add_namespace(&halves.storage, "other").await;
    assert_eq!(wakes.0.load(Ordering::Relaxed), 0);
    halves.change(0).await;
    assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
    let Poll::Ready(Ok(found)) = next.as_mut().poll(&mut Context::from_waker(&waker)) else {
        panic!("it was woken for nothing")
    };
    assert_eq!(versions(&found), [start + 3]);
}

#[tokio::test]
async fn feeds_of_all_shards_return_everything_once() {
    let halves = Halves::new(HistoryLimits::default()).await;
    let start = halves.version();
    let mut early = [halves.feed(0, start).unwrap(), halves.feed(1, start).unwrap()];
    assert!(
        early[0].ready().unwrap().is_empty(),
        "this one has caught up before the changes, the other has not"
    );
    // More than a portion has.
    for number in 0..700 {
        halves.change(usize::from(number % 5 == 0)).await;
    }
    let mut late = [halves.feed(0, start + 1).unwrap(), halves.feed(1, start + 1).unwrap()];
    for (feeds, first) in [(&mut early, start + 1), (&mut late, start + 2)] {
        let mut all = Vec::new();
        for (half, feed) in feeds.iter_mut().enumerate() {
            loop {
                let found = feed.ready().unwrap();
                if found.is_empty() {
                    break;
                }
                assert!(found.iter().all(|record| *record.key.name == *halves.names[half]));
                assert!(found.is_sorted_by_key(|record| record.version));
                all.extend(versions(&found));
            }
            assert_eq!(feed.position(), start + 700);
        }
        all.sort_unstable();
        assert_eq!(all, (first..=start + 700).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn changes_of_other_shards_may_be_forgotten() {
    let halves = Halves::new(HistoryLimits { changes: 3, ..HistoryLimits::default() }).await;
    let start = halves.version();
    let mut feeds = [halves.feed(0, start).unwrap(), halves.feed(0, start).unwrap()];
    for feed in &mut feeds {
        assert!(feed.ready().unwrap().is_empty());
    }
    for _ in 0..8 {
        halves.change(1).await;
    }
    // A bookmark says how far it is, though nothing was returned.
    feeds[0].advance();
    assert_eq!((feeds[0].position(), feeds[1].position()), (start + 8, start));
    halves.change(0).await;
    feeds[0].advance();
    assert_eq!(feeds[0].position(), start + 8, "there is a change that was not returned");
    for feed in &mut feeds {
        assert_eq!(versions(&feed.ready().unwrap()), [start + 9]);
    }
    for half in [0, 1, 1, 1] {
        halves.change(half).await;
    }
    assert_eq!(
        feeds[0].ready().unwrap_err(),
        Compacted { oldest: start + 10 },
        "its own change is forgotten"
    );
    assert_eq!(halves.feed(0, start).unwrap_err(), Compacted { oldest: start + 10 });
}

#[tokio::test]
async fn a_feed_that_is_dropped_is_woken_no_more() {
    let halves = Halves::new(HistoryLimits::default()).await;
    let start = halves.version();
    let (mut kept, dropped) = (halves.feed(0, start).unwrap(), halves.feed(0, start).unwrap());
    drop(dropped);
    halves.change(0).await;
    assert_eq!(versions(&kept.next().await.unwrap()), [start + 1]);
    drop(kept);
    halves.change(0).await;
    assert_eq!(versions(&halves.feed(0, start + 1).unwrap().next().await.unwrap()), [start + 2]);
}

#[tokio::test]
async fn namespaces_are_shards_too() {
    let halves = Halves::new(HistoryLimits::default()).await;
    add_namespace(&halves.storage, "other").await;
    let start = halves.version();
    // The hashes of the two differ, so one of the ranges has one of them only.
    let hash = |name: &str| u128::from(windlass_model::selector::shard_hash(name));
    let range = (hash("other"), hash("other") + 1);
    let shards = ShardSelector::new(ShardKey::Namespace, [range]).unwrap();
    let mut feed = halves.storage.feed_of_shards("", "configmaps", start, &shards).unwrap();
    halves.change(0).await;
    request(&halves.storage, create_in("other", "a", "")).await.unwrap();
    assert_eq!(versions(&feed.ready().unwrap()), [start + 2]);
}
