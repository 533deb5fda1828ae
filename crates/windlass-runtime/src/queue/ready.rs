//! The objects whose turn may come now: live ones first, and yet none of the others for ever last.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass::ObjectRef;

use super::causes::Priority;

/// Of this many turns, one belongs to those who have waited long for theirs.
const TURNS: u32 = 4;

/// Where an object stands in line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) priority: Priority,
    number: u64,
}

/// Two lines, each first come, first served.
#[derive(Clone, Debug, Default)]
pub(super) struct Ready {
    live: BTreeMap<u64, (Arc<ObjectRef>, Instant)>,
    background: BTreeMap<u64, (Arc<ObjectRef>, Instant)>,
    last_number: u64,
    /// How often a live object went before one of the background that has waited long.
    overtaken: u32,
}

impl Ready {
    pub(super) fn push(&mut self, key: Arc<ObjectRef>, priority: Priority, since: Instant) -> Place {
        self.last_number += 1;
        let place = Place { priority, number: self.last_number };
        self.line(priority).insert(place.number, (key, since));
        place
    }

    pub(super) fn remove(&mut self, place: Place) {
        self.line(place.priority).remove(&place.number);
    }

    /// The next in line. One of the background that has waited for `patience` gets every fourth turn.
    pub(super) fn pop(&mut self, now: Instant, patience: Duration) -> Option<Arc<ObjectRef>> {
        let is_patient = |(_, since): &(_, Instant)| now.saturating_duration_since(*since) >= patience;
        let waits_long = self.background.first_key_value().is_some_and(|(_, entry)| is_patient(entry));
        let its_turn = waits_long && self.overtaken + 1 >= TURNS;
        if !its_turn && let Some((_, (key, _))) = self.live.pop_first() {
            self.overtaken = if waits_long { self.overtaken + 1 } else { 0 };
            return Some(key);
        }
        self.overtaken = 0;
        self.background.pop_first().map(|(_, (key, _))| key)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.live.is_empty() && self.background.is_empty()
    }

    pub(super) fn count(&self, priority: Priority) -> usize {
        match priority {
            Priority::Live => self.live.len(),
            Priority::Background => self.background.len(),
        }
    }

    fn line(&mut self, priority: Priority) -> &mut BTreeMap<u64, (Arc<ObjectRef>, Instant)> {
        match priority {
            Priority::Live => &mut self.live,
            Priority::Background => &mut self.background,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    fn fill(ready: &mut Ready, at: Instant) {
        for number in 0..9 {
            ready.push(Arc::new(ObjectRef::new("initial", &number.to_string())), Priority::Background, at);
            ready.push(Arc::new(ObjectRef::new("live", &number.to_string())), Priority::Live, at);
        }
    }

    fn order(ready: &mut Ready, now: Instant) -> String {
        let all = std::iter::from_fn(|| ready.pop(now, PATIENCE));
        all.map(|key| format!("{}{}", &key.namespace[..1], key.name)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn live_ones_go_first() {
        let (mut ready, now) = (Ready::default(), Instant::now());
        fill(&mut ready, now);
        assert_eq!(order(&mut ready, now), "l0 l1 l2 l3 l4 l5 l6 l7 l8 i0 i1 i2 i3 i4 i5 i6 i7 i8");
    }

    #[test]
    fn those_who_waited_long_get_every_fourth_turn() {
        let (mut ready, now) = (Ready::default(), Instant::now());
        fill(&mut ready, now);
        let order = order(&mut ready, now + PATIENCE);
        assert_eq!(order, "l0 l1 l2 i0 l3 l4 l5 i1 l6 l7 l8 i2 i3 i4 i5 i6 i7 i8");
    }
}
