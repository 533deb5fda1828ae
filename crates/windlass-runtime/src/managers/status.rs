//! The status of a manager, and when it is written.

use std::time::{Duration, Instant};

use super::kinds::{ControllerManagerStatus, ControllerStatus, controller_summary};

/// How old `lastHealthprobeAt` may become while nothing else changes.
const REFRESH: Duration = Duration::from_secs(60);

/// Decides when to write a status: a write costs a request, and wakes all who watch managers.
#[derive(Debug)]
pub(super) struct StatusSchedule {
    written: Option<(ControllerManagerStatus, Instant)>,
    /// How long the number of active reconciles may be wrong: it changes all the time.
    active_refresh: Duration,
    /// How long to wait until a watch shows what was written.
    settle: Duration,
}

impl StatusSchedule {
    pub(super) fn new(active_refresh: Duration, settle: Duration) -> Self {
        StatusSchedule { written: None, active_refresh, settle }
    }

    /// Whether to write a status now. `shown_alive` is what the API shows as far as it is known.
    pub(super) fn is_due(
        &self,
        wanted: &ControllerManagerStatus,
        shown_alive: Option<bool>,
        now: Instant,
    ) -> bool {
        let Some((written, at)) = &self.written else { return true };
        let age = now.saturating_duration_since(*at);
        let is_corrected = shown_alive.is_some_and(|shown| shown != wanted.is_alive) && age >= self.settle;
        let active_changed = written.controllers != wanted.controllers && age >= self.active_refresh;
        age >= REFRESH || is_corrected || active_changed || differs(written, wanted)
    }

    /// A status was written.
    pub(super) fn written(&mut self, status: ControllerManagerStatus, now: Instant) {
        self.written = Some((status, now));
    }
}

/// Whether something is different that is written at once.
fn differs(one: &ControllerManagerStatus, other: &ControllerManagerStatus) -> bool {
    let workers = |status: &ControllerManagerStatus| -> Vec<(String, u32)> {
        status.controllers.iter().map(|one| (one.controller.clone(), one.workers)).collect()
    };
    one.is_alive != other.is_alive
        || (&one.lease, &one.lease_namespace) != (&other.lease, &other.lease_namespace)
        || workers(one) != workers(other)
}

/// The status of a manager without its heartbeat.
pub(super) fn status(
    lease: (&str, &str),
    is_alive: bool,
    controllers: Vec<ControllerStatus>,
) -> ControllerManagerStatus {
    let (lease_namespace, lease) = lease;
    ControllerManagerStatus {
        is_alive,
        last_healthprobe_at: None,
        lease: lease.to_owned(),
        lease_namespace: lease_namespace.to_owned(),
        controller_summary: controller_summary(&controllers),
        controllers,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(is_alive: bool, workers: u32, active: u32) -> ControllerManagerStatus {
        let controller = ControllerStatus { controller: "job".to_owned(), workers, active };
        status(("default", "a"), is_alive, vec![controller])
    }

    #[test]
    fn status_is_written_when_it_changes_and_once_a_minute() {
        let start = Instant::now();
        let mut schedule = StatusSchedule::new(Duration::from_secs(10), Duration::from_secs(2));
        assert!(schedule.is_due(&with(true, 5, 0), None, start));
        schedule.written(with(true, 5, 0), start);
        for (wanted, shown_alive, seconds, due) in [
            (with(true, 5, 0), Some(true), 0, false),
            (with(true, 5, 0), Some(true), 59, false),
            (with(true, 5, 0), Some(true), 60, true),
            (with(true, 6, 0), Some(true), 0, true),
            (with(false, 5, 0), Some(true), 0, true),
            (with(true, 5, 1), Some(true), 9, false),
            (with(true, 5, 1), Some(true), 10, true),
            // The watch may still show what was there before.
            (with(true, 5, 0), Some(false), 1, false),
            (with(true, 5, 0), Some(false), 2, true),
        ] {
            let now = start + Duration::from_secs(seconds);
            assert_eq!(
                schedule.is_due(&wanted, shown_alive, now),
                due,
                "{wanted:?} {shown_alive:?} {seconds}"
            );
        }
    }

    #[test]
    fn summary_has_workers_and_active_reconciles() {
        let controllers = ["job", "pod"].map(|name| ControllerStatus {
            controller: name.to_owned(),
            workers: 5,
            active: 2,
        });
        let status = status(("default", "a"), true, controllers.to_vec());
        assert_eq!(status.controller_summary, "job 5/2, pod 5/2");
    }
}
