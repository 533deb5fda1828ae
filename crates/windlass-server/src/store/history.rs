//! The recent changes, of all resources in the order of their versions and of each resource for its watches.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::watch;
use windlass_model::Key;
use windlass_model::selector::ShardSelector;

use super::feed::{Compacted, Feed};
use super::record::Record;
use super::shards::{ShardHashes, ShardWaiter, ShardWaiters};

/// How much of the past is kept. Whatever is reached first holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryLimits {
    /// How many changes.
    pub changes: usize,
    /// How much memory they may take beyond what the objects take anyway.
    pub bytes: usize,
    /// How old a change may become.
    pub age: Duration,
}

impl Default for HistoryLimits {
    fn default() -> Self {
        HistoryLimits { changes: 100_000, bytes: 8 << 20, age: Duration::from_mins(10) }
    }
}

/// Group and plural.
type ResourceName = (Arc<str>, Arc<str>);

/// The recent changes.
#[derive(Debug)]
pub(crate) struct History {
    limits: HistoryLimits,
    channels: RwLock<HashMap<ResourceName, Arc<Channel>>>,
    /// The changes of all resources.
    all: Arc<Channel>,
    ring: Mutex<Ring>,
    /// All changes up to this version are in the channels.
    fed: AtomicU64,
}

/// The recent changes of one resource.
#[derive(Debug)]
pub(crate) struct Channel {
    kept: RwLock<Kept>,
    /// Wakes the waiting feeds when there is more, but for those of shards.
    more: watch::Sender<()>,
}

#[derive(Debug)]
pub(crate) struct Kept {
    /// All changes after this version are here.
    pub(crate) floor: u64,
    pub(crate) entries: VecDeque<Entry>,
    waiters: ShardWaiters,
}

/// A change, with what selects it close at hand: who looks for those of a shard compares numbers, one after the other.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) hashes: ShardHashes,
    pub(crate) record: Arc<Record>,
}

/// Feeds that have something to return.
#[derive(Debug, Default)]
pub(crate) struct ToWake {
    channels: Vec<Arc<Channel>>,
    shards: Vec<Arc<ShardWaiter>>,
}

#[derive(Debug, Default)]
struct Ring {
    entries: VecDeque<(Arc<Record>, Arc<Channel>)>,
    held_bytes: usize,
    floor: u64,
}

/// How much of the past is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HistoryStatistics {
    /// The number of changes.
    pub changes: usize,
    /// The memory that they take beyond what the objects take anyway.
    pub bytes: usize,
    /// The changes up to this version are forgotten.
    pub compacted: u64,
}

impl History {
    /// An empty history that begins after a version.
    pub(crate) fn new(limits: HistoryLimits, floor: u64) -> Self {
        let ring = Mutex::new(Ring { floor, ..Ring::default() });
        History {
            limits,
            channels: RwLock::default(),
            all: Arc::new(Channel::new(floor)),
            ring,
            fed: AtomicU64::new(floor),
        }
    }

    pub(crate) fn limits(&self) -> &HistoryLimits {
        &self.limits
    }

    /// All changes up to this version have been offered to the feeds.
    pub(crate) fn fed(&self) -> u64 {
        self.fed.load(Ordering::Acquire)
    }

    /// Adds changes, which are in order and newer than all before. Who waits for them is to be woken.
    pub(crate) fn push(&self, records: &[Arc<Record>]) -> ToWake {
        let mut to_wake = ToWake::default();
        let Some(last) = records.last() else { return to_wake };
        to_wake.channels.push(self.all.clone());
        let mut ring = self.ring();
        for record in records {
            let channel = self.channel(&record.key, ring.floor);
            ring.held_bytes += record.held_bytes();
            ring.entries.push_back((record.clone(), channel.clone()));
            let hashes = ShardHashes::of(record);
            self.all.add(record, hashes, &mut to_wake.shards);
            channel.add(record, hashes, &mut to_wake.shards);
            if !to_wake.channels.iter().any(|known| Arc::ptr_eq(known, &channel)) {
                to_wake.channels.push(channel);
            }
        }
        drop(ring);
        self.fed.store(last.version, Ordering::Release);
        to_wake
    }

    /// Forgets what is beyond the limits, and returns it, oldest first.
    pub(crate) fn trim(&self, now_ms: u64) -> Vec<Arc<Record>> {
        let oldest_ms = now_ms.saturating_sub(self.limits.age.as_millis().try_into().unwrap_or(u64::MAX));
        let mut forgotten = Vec::new();
        let mut ring = self.ring();
        while let Some((record, _)) = ring.entries.front() {
            let fits = ring.entries.len() <= self.limits.changes && ring.held_bytes <= self.limits.bytes;
            if fits && record.time_ms >= oldest_ms {
                break;
            }
            let Some((record, channel)) = ring.entries.pop_front() else { break };
            ring.held_bytes -= record.held_bytes();
            ring.floor = record.version;
            channel.forget(&record);
            self.all.forget(&record);
            forgotten.push(record);
        }
        if !forgotten.is_empty() {
            self.forget_idle_channels();
        }
        forgotten
    }

    /// A cursor over the changes of a resource after a version.
    pub(crate) fn feed(self: &Arc<Self>, group: &str, plural: &str, after: u64) -> Result<Feed, Compacted> {
        self.feed_from(self.channel_of(group, plural), after)
    }

    /// A cursor over the changes of some shards of a resource after a version.
    pub(crate) fn feed_of_shards(
        self: &Arc<Self>,
        group: &str,
        plural: &str,
        after: u64,
        shards: &ShardSelector,
    ) -> Result<Feed, Compacted> {
        let channel = self.channel_of(group, plural);
        let waiter = Arc::new(ShardWaiter::new(shards.clone()));
        let mut kept = channel.kept_mut();
        if after < kept.floor {
            return Err(Compacted { oldest: kept.floor });
        }
        kept.waiters.add(&waiter);
        drop(kept);
        Ok(Feed::of_shards(self.clone(), channel, waiter, after))
    }

    /// A cursor over the changes of all resources after a version.
    pub(crate) fn feed_of_all(self: &Arc<Self>, after: u64) -> Result<Feed, Compacted> {
        self.feed_from(self.all.clone(), after)
    }

    fn feed_from(self: &Arc<Self>, channel: Arc<Channel>, after: u64) -> Result<Feed, Compacted> {
        let oldest = channel.kept().floor;
        if after < oldest {
            return Err(Compacted { oldest });
        }
        let receiver = channel.more.subscribe();
        Ok(Feed::new(self.clone(), channel, receiver, after))
    }

    /// The changes after a version up to another, newest first; nothing if some of them are forgotten, or if there
    /// are too many.
    pub(crate) fn between(&self, after: u64, newest: u64, at_most: usize) -> Option<Vec<Arc<Record>>> {
        let ring = self.ring();
        if after < ring.floor || after > newest {
            return None;
        }
        let position = |version| ring.entries.partition_point(|(record, _)| record.version <= version);
        let found = ring.entries.range(position(after)..position(newest));
        (found.len() <= at_most).then(|| found.rev().map(|(record, _)| record.clone()).collect())
    }

    pub(crate) fn statistics(&self) -> HistoryStatistics {
        let ring = self.ring();
        let (changes, bytes) = (ring.entries.len(), ring.held_bytes);
        HistoryStatistics { changes, bytes, compacted: ring.floor }
    }

    fn channel_of(&self, group: &str, plural: &str) -> Arc<Channel> {
        // While the ring is held, nothing is forgotten: neither a change nor the channel.
        let ring = self.ring();
        self.channel(&Key::new(group, plural, "", ""), ring.floor)
    }

    /// The channel of a resource. A new one knows of all changes after the floor: that there are none.
    fn channel(&self, key: &Key, floor: u64) -> Arc<Channel> {
        let name = (key.group.clone(), key.plural.clone());
        let known = self.channels.read().unwrap_or_else(PoisonError::into_inner).get(&name).cloned();
        known.unwrap_or_else(|| {
            let mut channels = self.channels.write().unwrap_or_else(PoisonError::into_inner);
            channels.entry(name).or_insert_with(|| Arc::new(Channel::new(floor))).clone()
        })
    }

    /// Forgets channels that have no changes and no feeds, so that types which come and go leave nothing behind.
    fn forget_idle_channels(&self) {
        let mut channels = self.channels.write().unwrap_or_else(PoisonError::into_inner);
        channels.retain(|_, channel| Arc::strong_count(channel) > 1 || !channel.kept().entries.is_empty());
    }

    fn ring(&self) -> std::sync::MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ToWake {
    /// Wakes the feeds that wait.
    pub(crate) fn wake(&self) {
        for channel in &self.channels {
            channel.more.send_replace(());
        }
        for waiter in &self.shards {
            waiter.wake();
        }
    }
}

impl Channel {
    fn new(floor: u64) -> Self {
        let kept = Kept { floor, entries: VecDeque::new(), waiters: ShardWaiters::default() };
        Channel { kept: RwLock::new(kept), more: watch::Sender::new(()) }
    }

    /// Adds a change, and the feeds of shards that it is for.
    fn add(&self, record: &Arc<Record>, hashes: ShardHashes, to_wake: &mut Vec<Arc<ShardWaiter>>) {
        let mut kept = self.kept_mut();
        kept.waiters.mark(&hashes, record.version, to_wake);
        kept.entries.push_back(Entry { hashes, record: record.clone() });
    }

    /// Marks a feed of shards no more.
    pub(crate) fn forget_waiter(&self, waiter: &Arc<ShardWaiter>) {
        self.kept_mut().waiters.remove(waiter);
    }

    pub(crate) fn kept(&self) -> std::sync::RwLockReadGuard<'_, Kept> {
        self.kept.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept_mut(&self) -> std::sync::RwLockWriteGuard<'_, Kept> {
        self.kept.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops a record, which is the oldest one.
    fn forget(&self, record: &Record) {
        let mut kept = self.kept_mut();
        kept.entries.pop_front();
        kept.floor = record.version;
    }
}
