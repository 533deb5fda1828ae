//! The coverage audit: whether each slot is served, and by one instance.
//!
//! The ring names an owner for every slot; this looks at what instances say they do. One that is alive and never loads a
//! slot would leave its objects alone for as long as no one looks.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use crate::slot::{Slot, SlotCount, runs};
use crate::timing::Millis;

/// The slots that an instance serves, as text: `0-1023,2048`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServedSlots(BTreeSet<Slot>);

/// A text that is no list of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("slots are written as 0-1023,2048")]
pub struct InvalidServedSlots;

impl ServedSlots {
    /// The slots, in order.
    pub fn iter(&self) -> impl Iterator<Item = Slot> + '_ {
        self.0.iter().copied()
    }
}

impl FromIterator<Slot> for ServedSlots {
    fn from_iter<Slots: IntoIterator<Item = Slot>>(slots: Slots) -> Self {
        ServedSlots(slots.into_iter().collect())
    }
}

impl fmt::Display for ServedSlots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, range) in runs(self.iter()).iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            match range.from == range.to {
                true => write!(f, "{comma}{}", range.from)?,
                false => write!(f, "{comma}{}-{}", range.from, range.to)?,
            }
        }
        Ok(())
    }
}

impl FromStr for ServedSlots {
    type Err = InvalidServedSlots;

    fn from_str(text: &str) -> Result<Self, InvalidServedSlots> {
        let number = |text: &str| match text.parse::<u16>() {
            Ok(number) if number < SlotCount::MAX => Ok(usize::from(number)),
            _ => Err(InvalidServedSlots),
        };
        let mut slots = BTreeSet::new();
        for run in text.split(',').filter(|run| !run.is_empty()) {
            let (from, to) = run.split_once('-').unwrap_or((run, run));
            slots.extend((number(from)?..=number(to)?).map(Slot::new));
        }
        Ok(ServedSlots(slots))
    }
}

/// What is wrong with a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Unserved,
    ServedTwice,
}

/// Slots that have been wrong for longer than a handover takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoverageGaps {
    /// No one serves them.
    pub unserved: BTreeSet<Slot>,
    /// Two instances say that they serve them.
    pub served_twice: BTreeSet<Slot>,
}

/// Compares what instances say they serve.
#[derive(Clone, Debug)]
pub struct Coverage {
    count: SlotCount,
    timeout_ms: u64,
    /// What is wrong now, and since when.
    wrong: BTreeMap<Slot, (Fault, Millis)>,
}

impl Coverage {
    /// For a ring with this number of slots. What is wrong for less than the timeout is on its way, or old news: what instances say
    /// is as old as their last renewal.
    pub fn new(count: SlotCount, timeout_ms: u64) -> Self {
        Coverage { count, timeout_ms, wrong: BTreeMap::new() }
    }

    /// Takes what each living instance serves; returns what has been wrong for long.
    pub fn observe<'a>(
        &mut self,
        served: impl IntoIterator<Item = &'a ServedSlots>,
        now: Millis,
    ) -> CoverageGaps {
        let mut servers = vec![0_u32; self.count.get()];
        for slot in served.into_iter().flat_map(ServedSlots::iter) {
            if let Some(servers) = servers.get_mut(slot.index()) {
                *servers += 1;
            }
        }
        let mut gaps = CoverageGaps::default();
        for (slot, servers) in self.count.slots().zip(servers) {
            let fault = match servers {
                0 => Fault::Unserved,
                1 => {
                    self.wrong.remove(&slot);
                    continue;
                }
                _ => Fault::ServedTwice,
            };
            let known = self.wrong.entry(slot).or_insert((fault, now));
            if known.0 != fault {
                *known = (fault, now);
            }
            if now >= known.1.plus(self.timeout_ms) {
                match fault {
                    Fault::Unserved => gaps.unserved.insert(slot),
                    Fault::ServedTwice => gaps.served_twice.insert(slot),
                };
            }
        }
        gaps
    }

    /// Somebody else looks from now on.
    pub fn forget(&mut self) {
        self.wrong.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(text: &str) -> ServedSlots {
        text.parse().unwrap()
    }

    fn coverage() -> Coverage {
        Coverage::new(SlotCount::new(8).unwrap(), 10)
    }

    fn slots(numbers: &[usize]) -> BTreeSet<Slot> {
        numbers.iter().copied().map(Slot::new).collect()
    }

    #[test]
    fn slots_are_read_as_they_were_written() {
        for text in ["", "0", "0-3", "0-3,5,7-4095"] {
            assert_eq!(served(text).to_string(), text);
        }
        for text in ["x", "1-", "-1", "70000", "1-2-3", "32768"] {
            assert_eq!(text.parse::<ServedSlots>(), Err(InvalidServedSlots), "{text}");
        }
    }

    #[test]
    fn slot_that_no_one_serves_is_found_when_it_lasts() {
        let mut coverage = coverage();
        let (a, b) = (served("0-3"), served("5-7"));
        assert_eq!(coverage.observe([&a, &b], Millis(0)), CoverageGaps::default(), "it may be on its way");
        assert_eq!(coverage.observe([&a, &b], Millis(9)), CoverageGaps::default());
        let gaps = coverage.observe([&a, &b], Millis(10));
        assert_eq!(gaps, CoverageGaps { unserved: slots(&[4]), ..CoverageGaps::default() });
        assert_eq!(coverage.observe([&a, &served("4-7")], Millis(11)), CoverageGaps::default());
        assert_eq!(coverage.observe([&a, &b], Millis(12)), CoverageGaps::default(), "it begins anew");
    }

    #[test]
    fn slot_that_two_serve_is_found_when_it_lasts() {
        let mut coverage = coverage();
        let (a, b) = (served("0-4"), served("4-7,9"));
        assert_eq!(coverage.observe([&a, &b], Millis(0)), CoverageGaps::default());
        let gaps = coverage.observe([&a, &b], Millis(10));
        assert_eq!(gaps, CoverageGaps { served_twice: slots(&[4]), ..CoverageGaps::default() });
        coverage.forget();
        assert_eq!(coverage.observe([&a, &b], Millis(11)), CoverageGaps::default());
    }

    #[test]
    fn what_changes_its_kind_begins_anew() {
        let mut coverage = coverage();
        coverage.observe([&served("0-6")], Millis(0));
        coverage.observe([&served("0-7"), &served("7")], Millis(9));
        assert_eq!(coverage.observe([&served("0-7"), &served("7")], Millis(12)), CoverageGaps::default());
    }
}
