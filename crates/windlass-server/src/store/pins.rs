//! Older versions that a client is going to ask for again, such as for further pages of a list.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::snapshot::Snapshot;

/// Maximum number of pinned versions. Each may be the only one to hold some texts, so there must not be many.
const MAX_PINS: usize = 32;
/// As long as Kubernetes keeps them.
const MAX_AGE: Duration = Duration::from_mins(5);

/// Some older snapshots. The one that was pinned longest ago goes first.
#[derive(Debug, Default)]
pub(crate) struct Pins(Mutex<VecDeque<(Instant, Snapshot)>>);

impl Pins {
    /// Keeps a version for a while.
    pub(crate) fn pin(&self, snapshot: &Snapshot) {
        let mut pins = self.current();
        pins.retain(|(_, pinned)| pinned.version() != snapshot.version());
        pins.push_back((Instant::now(), snapshot.clone()));
        if pins.len() > MAX_PINS {
            pins.pop_front();
        }
    }

    /// A version, if it is still kept.
    pub(crate) fn get(&self, version: u64) -> Option<Snapshot> {
        let found = self.current().iter().find(|(_, pinned)| pinned.version() == version)?.1.clone();
        Some(found)
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.current().len()
    }

    fn current(&self) -> std::sync::MutexGuard<'_, VecDeque<(Instant, Snapshot)>> {
        let mut pins = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while pins.front().is_some_and(|(pinned_at, _)| pinned_at.elapsed() > MAX_AGE) {
            pins.pop_front();
        }
        pins
    }
}
