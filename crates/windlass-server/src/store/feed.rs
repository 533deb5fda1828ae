//! A cursor over the changes of a resource, of some of its shards, or of all. A slow reader blocks no one; if it falls
//! too far behind, it has to list again.

use std::sync::Arc;

use tokio::sync::watch;

use super::history::{Channel, History, Kept};
use super::record::Record;
use super::shards::ShardWaiter;

/// A reader that has much to catch up with gets it in portions, so that others are served in between, and so that what
/// waits for a slow one is little.
const BATCH: usize = 256;
const BATCH_BYTES: usize = 128 * 1024;

/// The changes after some version are forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the changes before version {oldest} are no longer kept: list again, and watch from the version of that list"
)]
pub struct Compacted {
    /// The first version to go on from.
    pub oldest: u64,
}

/// The changes of a resource, of some of its shards, or of all, from some version on.
#[derive(Debug)]
pub struct Feed {
    history: Arc<History>,
    channel: Arc<Channel>,
    readership: Readership,
    /// All changes up to this version have been returned.
    position: u64,
}

/// Which changes of a channel a feed is for, and how it learns of new ones.
#[derive(Debug)]
enum Readership {
    /// All; each wakes it.
    All(watch::Receiver<()>),
    /// Those of some shards; only these wake it.
    Shards {
        waiter: Arc<ShardWaiter>,
        /// Whether all changes that it was not marked for have been looked at.
        caught_up: bool,
    },
}

impl Feed {
    pub(crate) fn new(
        history: Arc<History>,
        channel: Arc<Channel>,
        more: watch::Receiver<()>,
        after: u64,
    ) -> Self {
        Feed { history, channel, readership: Readership::All(more), position: after }
    }

    /// The channel must know the waiter already, so that no change is missed.
    pub(crate) fn of_shards(
        history: Arc<History>,
        channel: Arc<Channel>,
        waiter: Arc<ShardWaiter>,
        after: u64,
    ) -> Self {
        let readership = Readership::Shards { waiter, caught_up: false };
        Feed { history, channel, readership, position: after }
    }

    /// The next changes, in order; waits until there are some. May be dropped at any time without losing any.
    ///
    /// # Errors
    /// The history has moved past this reader.
    pub async fn next(&mut self) -> Result<Vec<Arc<Record>>, Compacted> {
        loop {
            if let Readership::All(more) = &mut self.readership {
                more.borrow_and_update();
            }
            let found = self.ready()?;
            if !found.is_empty() {
                return Ok(found);
            }
            match &mut self.readership {
                Readership::All(more) => {
                    if more.changed().await.is_err() {
                        unreachable!("the channel holds the sender, and this feed holds the channel");
                    }
                }
                Readership::Shards { waiter, .. } => waiter.woken().await,
            }
        }
    }

    /// The next changes that there are already, in order; none if there are none.
    ///
    /// # Errors
    /// The history has moved past this reader.
    pub fn ready(&mut self) -> Result<Vec<Arc<Record>>, Compacted> {
        // Asked for first: what comes in between is found, and what is fed later counts later.
        let fed = self.history.fed();
        let kept = self.channel.kept();
        let Some(start) = self.readership.start(self.position) else {
            self.position = self.position.max(fed);
            return Ok(Vec::new());
        };
        if start < kept.floor {
            return Err(Compacted { oldest: kept.floor });
        }
        let found = self.readership.batch(&kept, start);
        drop(kept);
        self.position = found.last().map_or(self.position.max(fed), |last| last.version);
        Ok(found)
    }

    /// Moves past changes of other resources and shards, so that [`Feed::position`] says how far this reader is.
    pub fn advance(&mut self) {
        let fed = self.history.fed();
        let kept = self.channel.kept();
        if self.readership.has_seen_all(&kept, self.position) {
            self.position = self.position.max(fed);
        }
    }

    /// All changes up to this version have been returned. It moves with changes of other resources, too, each
    /// time that the feed is asked and has nothing more.
    pub fn position(&self) -> u64 {
        self.position
    }
}

impl Readership {
    /// After which version to look for changes, as of this moment; `None` if there are none.
    ///
    /// A change of a shard marks its readers while the channel is locked. So who holds the lock and has no mark has no
    /// changes either, however many of other shards there are, and even if these are forgotten by now.
    fn start(&self, position: u64) -> Option<u64> {
        let Readership::Shards { waiter, caught_up } = self else { return Some(position) };
        let unseen = waiter.take_unseen();
        if *caught_up { Some(position.max(unseen? - 1)) } else { Some(position) }
    }

    /// The changes after a version, as many as a portion has.
    fn batch(&mut self, kept: &Kept, after: u64) -> Vec<Arc<Record>> {
        let start = kept.entries.partition_point(|entry| entry.record.version <= after);
        let rest = kept.entries.range(start..).filter(|entry| match self {
            Readership::All(_) => true,
            Readership::Shards { waiter, .. } => entry.hashes.are_in(waiter.shards()),
        });
        let (mut found, mut bytes, mut is_all) = (Vec::new(), 0, true);
        for entry in rest {
            is_all = found.len() < BATCH && bytes < BATCH_BYTES;
            if !is_all {
                break;
            }
            bytes += entry.record.text_bytes();
            found.push(Arc::clone(&entry.record));
        }
        if let Readership::Shards { caught_up, .. } = self {
            *caught_up = is_all;
        }
        found
    }

    fn has_seen_all(&self, kept: &Kept, position: u64) -> bool {
        match self {
            Readership::All(_) => {
                let newest = kept.entries.back().map_or(kept.floor, |entry| entry.record.version);
                newest <= position
            }
            Readership::Shards { waiter, caught_up } => *caught_up && !waiter.has_unseen(),
        }
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        if let Readership::Shards { waiter, .. } = &self.readership {
            self.channel.forget_waiter(waiter);
        }
    }
}
