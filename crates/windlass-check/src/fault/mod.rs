//! What may go wrong, and how often. Each kind of fault is in a file of its own.

mod clock_jump;
mod crash;
mod duplicate;
mod error_answer;
mod lost_reply;
mod lost_request;
mod partition;
mod reorder;
mod stale_view;
mod watch_gap;

use std::fmt;
use std::time::Duration;

/// The faults of a check. Each is off until it is asked for, and each is named in the verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// How often each fault with a budget may strike.
    pub(crate) most: Budget,
    pub(crate) duplicates: bool,
    pub(crate) reorders: bool,
    /// How many writes to one object a cache may be behind the database.
    pub(crate) stale: u8,
    /// How far a clock jumps.
    pub(crate) clock_jump: Duration,
}

/// How often each fault may still strike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Budget {
    pub(crate) crashes: u8,
    pub(crate) lost_requests: u8,
    pub(crate) lost_replies: u8,
    pub(crate) errors: u8,
    pub(crate) partitions: u8,
    pub(crate) watch_gaps: u8,
    pub(crate) clock_jumps: u8,
}

impl Budget {
    /// Whether there is at least as much left of every fault.
    pub(crate) fn includes(&self, other: &Budget) -> bool {
        let all = |budget: &Budget| {
            let Budget { crashes, lost_requests, lost_replies, errors, partitions, watch_gaps, clock_jumps } =
                *budget;
            [crashes, lost_requests, lost_replies, errors, partitions, watch_gaps, clock_jumps]
        };
        all(self).iter().zip(all(other)).all(|(left, needed)| *left >= needed)
    }
}

impl Faults {
    /// Nothing goes wrong: only the order of independent work is open.
    pub fn none() -> Self {
        Faults::default()
    }

    /// Whether caches can be behind: by themselves, or because a partition cuts them off.
    pub(crate) fn can_lag(&self) -> bool {
        self.stale > 0 || self.most.partitions > 0
    }

    /// The faults that are allowed and never were possible, given how often each kind of action was.
    pub(crate) fn never_struck(&self, kinds: &[(&'static str, u64)]) -> Vec<&'static str> {
        let most = &self.most;
        let allowed = [
            (most.crashes > 0, &["crash"][..]),
            (most.lost_requests > 0, &["lost request"]),
            (most.lost_replies > 0, &["lost reply"]),
            (most.errors > 0, &["error answer"]),
            (most.partitions > 0, &["partition"]),
            (most.watch_gaps > 0, &["watch gap"]),
            (most.clock_jumps > 0, &["clock jump"]),
            (self.duplicates, &["duplicate", "repeated delivery", "repeated notice"]),
            (self.stale > 0, &["stale read"]),
        ];
        let times =
            |name: &str| kinds.iter().find(|(known, _)| *known == name).map_or(0, |(_, times)| *times);
        let unused =
            allowed.into_iter().filter(|(on, names)| *on && names.iter().all(|name| times(name) == 0));
        unused.map(|(_, names)| names[0]).collect()
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = &self.most;
        let mut parts: Vec<String> = [
            (most.crashes, "crash", "crashes"),
            (most.lost_requests, "lost request", "lost requests"),
            (most.lost_replies, "lost reply", "lost replies"),
            (most.errors, "error answer", "error answers"),
            (most.partitions, "partition", "partitions"),
            (most.watch_gaps, "watch gap", "watch gaps"),
            (most.clock_jumps, "clock jump", "clock jumps"),
        ]
        .into_iter()
        .filter(|(most, _, _)| *most > 0)
        .map(|(most, one, many)| format!("<= {most} {}", if most == 1 { one } else { many }))
        .collect();
        if self.duplicates {
            parts.push("1 duplicate per message".to_owned());
        }
        if self.reorders {
            parts.push("any reordering".to_owned());
        }
        if self.stale > 0 {
            parts.push(format!("staleness <= {} per object", self.stale));
        }
        if parts.is_empty() { f.write_str("no faults") } else { f.write_str(&parts.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_names_every_fault() {
        let all = Faults::none()
            .crashes(2)
            .lost_requests(1)
            .lost_replies(1)
            .errors(3)
            .partitions(1)
            .watch_gaps(1)
            .clock_jumps(1, Duration::from_secs(3600))
            .duplicates()
            .reorders()
            .stale(2);
        assert_eq!(
            all.to_string(),
            "<= 2 crashes, <= 1 lost request, <= 1 lost reply, <= 3 error answers, <= 1 partition, <= 1 watch gap, \
             <= 1 clock jump, 1 duplicate per message, any reordering, staleness <= 2 per object"
        );
        assert_eq!(Faults::none().to_string(), "no faults");
    }
}
