//! All objects in memory with the history of recent changes, durable in a folder if there is one.
//!
//! [`Storage`] is the entry. Readers take a [`Snapshot`] and never wait; what they see is durable. A write is evaluated
//! with optimistic concurrency, and waits until its changes have been synced to the disk, together with those of
//! concurrent writers (group commit). Watches read a [`Feed`].

mod committer;
mod disk;
mod error;
mod feed;
mod history;
mod inspect;
mod object;
mod outage;
mod owners;
mod parsed;
mod pins;
mod reads;
mod record;
mod shards;
mod snapshot;
mod state;
mod statistics;
#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use windlass_model::selector::ShardSelector;
use windlass_model::{Effect, FeatureGates, Types};

use committer::Core;
use disk::{Disk, Folder, Loaded};
use history::History;
use parsed::ParsedCache;
use pins::Pins;
use state::State;

pub use committer::Written;
pub use error::{OpenError, WriteError};
pub use feed::{Compacted, Feed};
pub use history::{HistoryLimits, HistoryStatistics};
pub use inspect::{Inspection, inspect};
pub use object::StoredObject;
pub use record::Record;
pub use snapshot::Snapshot;
pub use statistics::Statistics;

/// An older state is found by taking back changes, unless there are more than this.
const MAX_UNDONE: usize = 20_000;

/// Where a store lives, and how much of the past it keeps.
#[derive(Clone, Debug, Default)]
pub struct StoreOptions {
    /// The folder of a durable store; without one everything is in memory only.
    pub folder: Option<PathBuf>,
    /// How much of the past is kept.
    pub history: HistoryLimits,
    /// What is served beyond what every Kubernetes serves.
    pub gates: FeatureGates,
}

/// All objects and their recent changes. Clones are handles to the same store; the last one closes it.
#[derive(Clone)]
pub struct Storage(Arc<Handle>);

struct Handle {
    core: Arc<Core>,
    pins: Pins,
    folder: Option<Folder>,
    committer: Mutex<Option<JoinHandle<()>>>,
}

impl Storage {
    /// Opens a store, and makes an empty one if the folder has none.
    ///
    /// # Errors
    /// The folder is in use by another server, or cannot be read or written, or what is in it is damaged.
    pub fn open(options: &StoreOptions) -> Result<Storage, OpenError> {
        let Some(path) = &options.folder else { return Ok(Storage::in_memory(options)) };
        let (folder, disk, mut loaded) = Folder::open(path)?;
        loaded.state.types.open_gates(options.gates);
        Storage::durable(disk, loaded, options.history.clone(), Some(folder))
            .map_err(|source| OpenError::Io { action: "start a thread for", path: path.clone(), source })
    }

    fn durable(
        disk: Disk,
        loaded: Loaded,
        limits: HistoryLimits,
        folder: Option<Folder>,
    ) -> io::Result<Storage> {
        let history = History::new(limits, loaded.compacted);
        history.push(&loaded.records);
        let snapshot = Snapshot::new(loaded.state, Arc::new(ParsedCache::default()));
        let core = Arc::new(Core::new(snapshot, Arc::new(history), true));
        let shared = core.clone();
        let committer = thread::Builder::new()
            .name("windlass-store".to_owned())
            .spawn(move || shared.commit_all(disk))?;
        let committer = Mutex::new(Some(committer));
        Ok(Storage(Arc::new(Handle { core, pins: Pins::default(), folder, committer })))
    }

    fn in_memory(options: &StoreOptions) -> Storage {
        let mut types = Types::built_in();
        types.open_gates(options.gates);
        let state = State::new(types);
        let snapshot = Snapshot::new(state, Arc::new(ParsedCache::default()));
        let core = Arc::new(Core::new(snapshot, Arc::new(History::new(options.history.clone(), 0)), false));
        Storage(Arc::new(Handle { core, pins: Pins::default(), folder: None, committer: Mutex::new(None) }))
    }

    /// The durable state: a consistent view, which later writes do not change.
    pub fn snapshot(&self) -> Snapshot {
        self.0.core.committed()
    }

    /// An older state, if it is still kept.
    pub fn at(&self, version: u64) -> Option<Snapshot> {
        let current = self.snapshot();
        if current.version() == version {
            return Some(current);
        }
        self.0.pins.get(version).or_else(|| {
            let newer = self.0.core.history.between(version, current.version(), MAX_UNDONE)?;
            let older = current.undone(&newer, version);
            self.pin(&older);
            Some(older)
        })
    }

    /// Keeps a state for some minutes, so that [`Storage::at`] finds it. Only a few are kept.
    pub fn pin(&self, snapshot: &Snapshot) {
        self.0.pins.pin(snapshot);
    }

    /// Evaluates a write, and returns once its changes, and all that it depends on, are durable and visible.
    ///
    /// The outcome is as if all writes were evaluated one after the other, each against the newest state. For this,
    /// `evaluate` is called a second time if something that it has read has changed in the meantime; it must depend on
    /// nothing but what the snapshot shows.
    ///
    /// # Errors
    /// The disk failed, or the store is closed; nothing was changed. If the process ends right after a failure of
    /// the disk, the changes may still be there when it is started again.
    pub async fn write(
        &self,
        evaluate: impl FnMut(&Snapshot) -> Effect + Send,
    ) -> Result<Written, WriteError> {
        let evaluated = self.0.core.submit(evaluate)?;
        if let Some(done) = evaluated.done {
            done.await.unwrap_or(Err(WriteError::Closed))?;
        }
        Ok(evaluated.written)
    }

    /// The changes of a resource after a version, in order.
    ///
    /// # Errors
    /// Some of them are forgotten.
    pub fn feed(&self, group: &str, plural: &str, after: u64) -> Result<Feed, Compacted> {
        self.0.core.history.feed(group, plural, after)
    }

    /// The changes of some shards of a resource after a version, in order. Others do not wake the feed.
    ///
    /// # Errors
    /// Some changes of the resource are forgotten.
    pub fn feed_of_shards(
        &self,
        group: &str,
        plural: &str,
        after: u64,
        shards: &ShardSelector,
    ) -> Result<Feed, Compacted> {
        self.0.core.history.feed_of_shards(group, plural, after, shards)
    }

    /// The changes of all resources after a version, in order.
    ///
    /// # Errors
    /// Some of them are forgotten.
    pub fn feed_of_all(&self, after: u64) -> Result<Feed, Compacted> {
        self.0.core.history.feed_of_all(after)
    }

    /// Refuses further writes, and returns once all earlier ones are durable and the file is closed.
    pub fn close(&self) {
        self.0.close();
    }

    /// Error of the last commit, while writes fail; `None` if they succeed, as far as is known.
    pub fn failure(&self) -> Option<WriteError> {
        self.0.core.failure()
    }

    /// Figures for metrics.
    pub fn statistics(&self) -> Statistics {
        let snapshot = self.snapshot();
        let core = &self.0.core;
        let objects = snapshot.resources();
        Statistics {
            objects: objects.map(|(group, plural, count)| (group.into(), plural.into(), count)).collect(),
            version: snapshot.version(),
            history: core.history.statistics(),
            pinned_versions: self.0.pins.count(),
            commits: core.commits.load(Ordering::Relaxed),
            failed_commits: core.failed_commits.load(Ordering::Relaxed),
            evaluated_twice: core.evaluated_twice.load(Ordering::Relaxed),
            file_bytes: self.0.folder.as_ref().map_or(0, Folder::file_bytes),
        }
    }
}

impl Handle {
    fn close(&self) {
        self.core.close();
        let committer = self.committer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(committer) = committer
            && committer.join().is_err()
        {
            tracing::error!("committer thread panicked");
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.close();
    }
}
