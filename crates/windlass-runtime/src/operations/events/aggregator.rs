//! Which events are written, which are counted, and which are held back. Pure: the time is an argument.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use windlass::Event;
use windlass::model::Timestamp;

use super::occurrence::{Occurrence, Regarding, Reporter};
use crate::queue::RateLimit;

/// Maximum number of different events of an object at once; one more is allowed each `REFILL`, as with client-go.
const BURST: u32 = 25;
const REFILL: Duration = Duration::from_secs(300);
/// Minimum time between two writes of a count.
const BETWEEN_COUNTS: Duration = Duration::from_secs(10);
/// An object without events for this time is forgotten.
const QUIET: Duration = Duration::from_secs(360);
/// Maximum number of objects whose events are remembered; those of others are not counted.
const OBJECTS_MAX: usize = 4_096;

/// One write to the API.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Write {
    /// An event that is new.
    Create(Arc<Value>),
    /// An event that has come again.
    Count {
        /// As it was made.
        event: Arc<Value>,
        /// How often it came by now.
        count: i32,
        /// When it came last.
        last: Timestamp,
    },
}

/// The recent events of each object.
#[derive(Default)]
pub(super) struct EventAggregator {
    objects: BTreeMap<Regarding, Object>,
}

struct Object {
    limit: RateLimit,
    last: Instant,
    series: BTreeMap<SeriesKey, Series>,
}

/// Two occurrences with the same of these are one event, twice.
type SeriesKey = (Arc<Reporter>, bool, String, String);

struct Series {
    event: Arc<Value>,
    count: i32,
    last: Timestamp,
    /// From when on the count may be written, if it has changed since it was.
    due: Instant,
    is_written: bool,
}

impl EventAggregator {
    /// What to write about something that happened, if anything.
    pub(super) fn observe(&mut self, occurrence: Occurrence, now: Instant) -> Option<Write> {
        if self.objects.len() >= OBJECTS_MAX && !self.objects.contains_key(&occurrence.regarding) {
            self.forget_quiet(now);
        }
        if self.objects.len() >= OBJECTS_MAX && !self.objects.contains_key(&occurrence.regarding) {
            return Some(Write::Create(Arc::new(occurrence.to_event())));
        }
        let object = self.objects.entry(occurrence.regarding.clone()).or_insert_with(|| Object::new(now));
        if now.saturating_duration_since(object.last) >= QUIET {
            *object = Object::new(now);
        }
        object.last = now;
        object.observe(&occurrence, now)
    }

    /// When the next count may be written, if one has changed.
    pub(super) fn next_count(&self) -> Option<Instant> {
        self.unwritten().map(|series| series.due).min()
    }

    /// The counts that may be written by now.
    pub(super) fn counts(&mut self, now: Instant) -> Vec<Write> {
        let all = self.objects.values_mut().flat_map(|object| object.series.values_mut());
        let due = all.filter(|series| !series.is_written && series.due <= now);
        due.map(|series| series.write(now)).collect()
    }

    /// All counts that have changed since they were written.
    pub(super) fn last_counts(&self) -> Vec<Write> {
        self.unwritten().map(Series::as_count).collect()
    }

    fn unwritten(&self) -> impl Iterator<Item = &Series> {
        let all = self.objects.values().flat_map(|object| object.series.values());
        all.filter(|series| !series.is_written)
    }

    fn forget_quiet(&mut self, now: Instant) {
        self.objects.retain(|_, object| now.saturating_duration_since(object.last) < QUIET);
    }
}

impl Object {
    fn new(now: Instant) -> Self {
        let limit = RateLimit::new(1.0 / REFILL.as_secs_f64(), BURST);
        Object { limit, last: now, series: BTreeMap::new() }
    }

    fn observe(&mut self, occurrence: &Occurrence, now: Instant) -> Option<Write> {
        let Event { warning, reason, message } = occurrence.event.clone();
        let key = (occurrence.reporter.clone(), warning, reason, message);
        if let Some(series) = self.series.get_mut(&key) {
            series.count = series.count.saturating_add(1);
            series.last = occurrence.at;
            series.is_written = false;
            return (series.due <= now).then(|| series.write(now));
        }
        self.limit.take(now).ok()?;
        let event = Arc::new(occurrence.to_event());
        let series =
            Series { event: event.clone(), count: 1, last: occurrence.at, due: now, is_written: true };
        self.series.insert(key, series);
        Some(Write::Create(event))
    }
}

impl Series {
    fn write(&mut self, now: Instant) -> Write {
        self.is_written = true;
        self.due = now + BETWEEN_COUNTS;
        self.as_count()
    }

    fn as_count(&self) -> Write {
        Write::Count { event: self.event.clone(), count: self.count, last: self.last }
    }
}
