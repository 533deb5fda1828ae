//! The objects that are ready: live ones first, but background ones are never starved.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass::ObjectRef;

use super::causes::Priority;

/// Of this number of turns, one belongs to background objects that have waited long.
const TURNS: u32 = 4;

/// The position of an object in the ready queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReadyPosition {
    pub(super) priority: Priority,
    number: u64,
}

/// Two FIFO queues, one for each priority.
#[derive(Clone, Debug, Default)]
pub(super) struct Ready {
    live: BTreeMap<u64, (Arc<ObjectRef>, Instant)>,
    background: BTreeMap<u64, (Arc<ObjectRef>, Instant)>,
    last_number: u64,
    /// How often a live object overtook a background one that has waited long.
    overtaken: u32,
}

impl Ready {
    pub(super) fn push(&mut self, key: Arc<ObjectRef>, priority: Priority, since: Instant) -> ReadyPosition {
        self.last_number += 1;
        let position = ReadyPosition { priority, number: self.last_number };
        self.line(priority).insert(position.number, (key, since));
        position
    }

    pub(super) fn remove(&mut self, position: ReadyPosition) {
        self.line(position.priority).remove(&position.number);
    }

    /// The next object. A background one that has waited for `aging` gets every fourth turn.
    pub(super) fn pop(&mut self, now: Instant, aging: Duration) -> Option<Arc<ObjectRef>> {
        let has_aged = |(_, since): &(_, Instant)| now.saturating_duration_since(*since) >= aging;
        let waits_long = self.background.first_key_value().is_some_and(|(_, entry)| has_aged(entry));
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

    const AGING: Duration = Duration::from_secs(10);

    fn fill(ready: &mut Ready, at: Instant) {
        for number in 0..9 {
            ready.push(Arc::new(ObjectRef::new("initial", &number.to_string())), Priority::Background, at);
            ready.push(Arc::new(ObjectRef::new("live", &number.to_string())), Priority::Live, at);
        }
    }

    fn order(ready: &mut Ready, now: Instant) -> String {
        let all = std::iter::from_fn(|| ready.pop(now, AGING));
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
        let order = order(&mut ready, now + AGING);
        assert_eq!(order, "l0 l1 l2 i0 l3 l4 l5 i1 l6 l7 l8 i2 i3 i4 i5 i6 i7 i8");
    }
}
