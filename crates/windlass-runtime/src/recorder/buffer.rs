//! Which reconciles are kept: the last ones, and the failed ones of some time, both within bounds. No clock.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Flight, RecorderSettings, sizes};

/// The reconciles of one controller that are kept.
pub(super) struct RecordingBuffer<Item = Flight> {
    last: Row<Item>,
    failed: Row<Item>,
}

/// Reconciles in the order in which they ended.
struct Row<Item> {
    most: usize,
    most_bytes: usize,
    longest: Option<Duration>,
    bytes: usize,
    items: VecDeque<Kept<Item>>,
}

struct Kept<Item> {
    item: Arc<Item>,
    /// What came later has a greater one.
    number: u64,
    bytes: usize,
    since: Instant,
}

impl RecordingBuffer<Flight> {
    pub(super) fn keep(&mut self, flight: &Arc<Flight>, failed: bool, now: Instant) {
        self.put(flight, sizes::of(&flight.transcript), failed, now);
    }
}

impl<Item> RecordingBuffer<Item> {
    pub(super) fn new(settings: &RecorderSettings) -> Self {
        let row = |most, longest| Row {
            most,
            most_bytes: settings.bytes,
            longest,
            bytes: 0,
            items: VecDeque::new(),
        };
        RecordingBuffer {
            last: row(settings.last, None),
            failed: row(settings.failed, Some(settings.failed_for)),
        }
    }

    fn put(&mut self, item: &Arc<Item>, bytes: usize, failed: bool, now: Instant) {
        let newest = [&self.last, &self.failed]
            .iter()
            .filter_map(|row| row.items.back())
            .map(|kept| kept.number)
            .max();
        let number = newest.map_or(0, |newest| newest + 1);
        let kept = || Kept { item: Arc::clone(item), number, bytes, since: now };
        self.last.put(kept(), now);
        if failed {
            self.failed.put(kept(), now);
        } else {
            self.failed.drop_old(now);
        }
    }

    /// All that is kept, each once, oldest first.
    pub(super) fn all(&mut self, now: Instant) -> Vec<Arc<Item>> {
        self.failed.drop_old(now);
        let mut kept: Vec<&Kept<Item>> = self.last.items.iter().chain(&self.failed.items).collect();
        kept.sort_by_key(|kept| kept.number);
        kept.dedup_by_key(|kept| kept.number);
        kept.into_iter().map(|kept| Arc::clone(&kept.item)).collect()
    }
}

impl<Item> Row<Item> {
    fn put(&mut self, kept: Kept<Item>, now: Instant) {
        self.bytes += kept.bytes;
        self.items.push_back(kept);
        self.drop_old(now);
    }

    /// Drops what is too old and, from the oldest on, what is too much.
    fn drop_old(&mut self, now: Instant) {
        while let Some(oldest) = self.items.front() {
            let too_old =
                self.longest.is_some_and(|longest| now.saturating_duration_since(oldest.since) > longest);
            if !too_old && self.items.len() <= self.most && self.bytes <= self.most_bytes {
                return;
            }
            self.bytes -= oldest.bytes;
            self.items.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Rig {
        buffer: RecordingBuffer<u32>,
        start: Instant,
    }

    impl Rig {
        fn new(last: usize, failed: usize, bytes: usize) -> Self {
            let settings =
                RecorderSettings { last, failed, failed_for: Duration::from_secs(3600), bytes, files: 0 };
            Rig { buffer: RecordingBuffer::new(&settings), start: Instant::now() }
        }

        fn put(&mut self, name: u32, bytes: usize, failed: bool, second: u64) {
            let now = self.start + Duration::from_secs(second);
            self.buffer.put(&Arc::new(name), bytes, failed, now);
        }

        fn kept(&mut self, second: u64) -> Vec<u32> {
            let now = self.start + Duration::from_secs(second);
            self.buffer.all(now).iter().map(|item| **item).collect()
        }
    }

    #[test]
    fn the_last_ones_and_the_failed_ones_of_an_hour_are_kept() {
        let mut rig = Rig::new(2, 10, 1000);
        (0..6).for_each(|name| rig.put(name, 1, name % 3 == 0, u64::from(name)));
        assert_eq!(rig.kept(6), [0, 3, 4, 5]);
        assert_eq!(rig.kept(3601), [3, 4, 5]);
        assert_eq!(rig.kept(9999), [4, 5], "the last ones stay");
    }

    #[test]
    fn no_more_is_kept_than_there_is_room_for() {
        let mut rig = Rig::new(2, 3, 1000);
        (0..9).for_each(|name| rig.put(name, 1, true, 0));
        assert_eq!(rig.kept(0), [6, 7, 8]);
        let mut rig = Rig::new(5, 5, 100);
        (0..9).for_each(|name| rig.put(name, 40, true, 0));
        assert_eq!(rig.kept(0), [7, 8]);
        rig.put(9, 101, true, 0);
        assert!(rig.kept(0).is_empty(), "too large by itself");
        rig.put(10, 100, false, 0);
        assert_eq!(rig.kept(0), [10], "the count of bytes is right again");
        let mut rig = Rig::new(0, 0, 100);
        rig.put(0, 1, true, 0);
        assert!(rig.kept(0).is_empty());
    }
}
