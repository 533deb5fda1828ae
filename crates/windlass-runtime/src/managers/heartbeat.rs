//! Whether other managers live: from the changes of their Leases that this process has seen itself.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::objects::HeartbeatLease;

/// How many managers look after all others. Those look after these.
const OBSERVERS: usize = 3;

/// The Leases of other managers, and when each was seen to change.
#[derive(Debug, Default)]
pub(super) struct Heartbeats {
    seen: BTreeMap<String, Seen>,
}

#[derive(Debug)]
struct Seen {
    version: String,
    /// How old it was then.
    age: Duration,
    since: Instant,
}

impl Heartbeats {
    /// For how long a Lease has not changed. One that is seen for the first time has not for `age`.
    pub(super) fn unchanged_for(&mut self, id: &str, version: &str, age: Duration, now: Instant) -> Duration {
        let first = || Seen { version: version.to_owned(), age, since: now };
        let seen = self.seen.entry(id.to_owned()).or_insert_with(first);
        if seen.version != version {
            *seen = Seen { version: version.to_owned(), age: Duration::ZERO, since: now };
        }
        seen.age.saturating_add(now.saturating_duration_since(seen.since))
    }

    /// Forgets all others.
    pub(super) fn retain(&mut self, ids: &BTreeSet<&str>) {
        self.seen.retain(|id, _| ids.contains(id.as_str()));
    }
}

/// Whether the manager of a Lease is gone. A Lease that is missing lasts as long as one of this process.
pub(super) fn is_gone(lease: Option<&HeartbeatLease>, unchanged: Duration, own_duration: Duration) -> bool {
    match lease {
        Some(lease) => lease.holder.is_empty() || unchanged >= lease.duration,
        None => unchanged >= own_duration,
    }
}

/// Whose Leases a manager reads, of those that are shown as alive: the first three by name read all, and the others
/// read those of these three, so that the number of requests grows with the number of managers and not with its square.
pub(super) fn observed<'a>(me: &str, alive: &BTreeSet<&'a str>) -> Vec<&'a str> {
    let first = || alive.iter().copied().take(OBSERVERS);
    let is_observer = first().any(|id| id == me) || alive.len() < OBSERVERS;
    let observed: Vec<&str> = if is_observer { alive.iter().copied().collect() } else { first().collect() };
    observed.into_iter().filter(|&id| id != me).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lease_counts_from_when_it_was_seen_to_change() {
        let (mut heartbeats, start) = (Heartbeats::default(), Instant::now());
        let second = Duration::from_secs(1);
        let mut at = |seconds: u32, version: &str| {
            let unchanged = heartbeats.unchanged_for("a", version, second * 7, start + second * seconds);
            unchanged.as_secs()
        };
        assert_eq!([at(0, "1"), at(3, "1"), at(5, "2"), at(6, "2"), at(9, "2")], [7, 10, 0, 1, 4]);
    }

    #[test]
    fn manager_that_does_not_renew_for_the_duration_of_its_lease_is_dead() {
        let lease = |holder: &str| HeartbeatLease {
            holder: holder.to_owned(),
            version: "1".to_owned(),
            renewed_at: None,
            duration: Duration::from_secs(15),
        };
        let seconds = Duration::from_secs;
        for (lease, unchanged, gone) in [
            (Some(lease("p")), 14, false),
            (Some(lease("p")), 15, true),
            (Some(lease("")), 0, true),
            (None, 9, false),
            (None, 10, true),
        ] {
            assert_eq!(
                is_gone(lease.as_ref(), seconds(unchanged), seconds(10)),
                gone,
                "{lease:?} {unchanged}"
            );
        }
    }

    #[test]
    fn three_managers_observe_all_and_the_others_observe_these() {
        for (me, alive, expected) in [
            ("a", "a", ""),
            ("a", "a b", "b"),
            ("b", "a b c d e", "a c d e"),
            ("d", "a b c d e", "a b c"),
            // Not shown as alive yet.
            ("z", "a b", "a b"),
            ("z", "a b c d", "a b c"),
        ] {
            let alive: BTreeSet<&str> = alive.split(' ').collect();
            assert_eq!(observed(me, &alive).join(" "), expected, "{me} of {alive:?}");
        }
    }
}
