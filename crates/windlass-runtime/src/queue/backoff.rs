//! How long an object that failed waits before it is tried again.

use std::time::Duration;

use windlass::ObjectRef;

use crate::hashed_fraction::hashed_fraction;

/// Exponential backoff. Doubles from one failure to the next, between two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// Delay after the first failure. Default: 1 s.
    pub initial: Duration,
    /// Maximum delay. Default: 60 s.
    pub max: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Backoff { initial: Duration::from_secs(1), max: Duration::from_secs(60) }
    }
}

impl Backoff {
    /// The delay after this number of failures in a row, the same for all that fail.
    pub(crate) fn exact_delay(&self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        self.initial.saturating_mul(1 << doublings).min(self.max)
    }

    /// The delay after this number of failures in a row.
    ///
    /// Objects that failed together come back up to a tenth apart. How far is fixed by the object's name and the
    /// number of failures, so that the same run twice takes the same time.
    pub(super) fn delay(&self, key: &ObjectRef, failures: u32) -> Duration {
        let full = self.exact_delay(failures);
        let spread = full.mul_f64(hashed_fraction((key, failures)) / 10.0);
        if full < self.max { (full + spread).min(self.max) } else { (full - spread).max(self.initial) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_between_its_bounds() {
        let backoff = Backoff::default();
        for name in ["a", "b", "c", "d", "e", "f", "g"] {
            let key = ObjectRef::new("default", name);
            let seconds = |failures| backoff.delay(&key, failures).as_secs_f64();
            for (failures, full) in [(1, 1.0), (2, 2.0), (3, 4.0), (4, 8.0), (5, 16.0), (6, 32.0)] {
                assert!((full..full * 1.1).contains(&seconds(failures)), "{name} {failures}");
            }
            for failures in [7, 8, 31, 32, 33, 64, u32::MAX] {
                assert!((54.0..=60.0).contains(&seconds(failures)), "{name} {failures}");
            }
        }
    }

    #[test]
    fn spreads_objects_and_repeats_itself() {
        let backoff = Backoff::default();
        let delays = || (0..100).map(|n| backoff.delay(&ObjectRef::new("", &n.to_string()), 7));
        let distinct: std::collections::BTreeSet<Duration> = delays().collect();
        assert!(distinct.len() > 80, "only {} of 100 differ", distinct.len());
        assert!(delays().eq(delays()));
    }

    #[test]
    fn bounds_that_leave_no_room_are_kept() {
        let backoff = Backoff { initial: Duration::from_secs(3), max: Duration::from_secs(3) };
        assert_eq!(backoff.delay(&ObjectRef::new("", "a"), 5), Duration::from_secs(3));
        let none = Backoff { initial: Duration::ZERO, max: Duration::ZERO };
        assert_eq!(none.delay(&ObjectRef::new("", "a"), 5), Duration::ZERO);
    }
}
