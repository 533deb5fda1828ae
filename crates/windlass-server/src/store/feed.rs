//! A cursor over the changes of a resource, or of all. A slow reader blocks no one; if it falls too far behind, it has to
//! list again.

use std::sync::Arc;

use tokio::sync::watch;

use super::history::{Channel, History};
use super::record::Record;

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

/// The changes of a resource, or of all, from some version on.
#[derive(Debug)]
pub struct Feed {
    history: Arc<History>,
    channel: Arc<Channel>,
    more: watch::Receiver<()>,
    /// All changes up to this version have been returned.
    position: u64,
}

impl Feed {
    pub(crate) fn new(
        history: Arc<History>,
        channel: Arc<Channel>,
        more: watch::Receiver<()>,
        after: u64,
    ) -> Self {
        Feed { history, channel, more, position: after }
    }

    /// The next changes, in order; waits until there are some. May be dropped at any time without losing any.
    ///
    /// # Errors
    /// The history has moved past this reader.
    pub async fn next(&mut self) -> Result<Vec<Arc<Record>>, Compacted> {
        loop {
            self.more.borrow_and_update();
            let found = self.ready()?;
            if !found.is_empty() {
                return Ok(found);
            }
            if self.more.changed().await.is_err() {
                unreachable!("the channel holds the sender, and this feed holds the channel");
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
        if self.position < kept.floor {
            return Err(Compacted { oldest: kept.floor });
        }
        let start = kept.records.partition_point(|record| record.version <= self.position);
        let mut bytes = 0;
        let fits = |record: &&Arc<Record>| {
            let begun = bytes;
            bytes += record.text_bytes();
            begun < BATCH_BYTES
        };
        let found: Vec<_> = kept.records.range(start..).take(BATCH).take_while(fits).cloned().collect();
        drop(kept);
        self.position = found.last().map_or(self.position.max(fed), |last| last.version);
        Ok(found)
    }

    /// All changes up to this version have been returned. It moves with changes of other resources, too, each
    /// time that the feed is asked and has nothing more.
    pub fn position(&self) -> u64 {
        self.position
    }
}
