//! The series by name, label and value, as Prometheus reads them.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use windlass::{Cause, ObjectRef, ReconcileResult};

use super::Metrics;
use crate::queue::{Next, Priority, Queue, QueueSettings, Reason, Requeue};

/// The lines of the text that begin so, without that.
fn series(metrics: &Metrics, name: &str) -> Vec<String> {
    let text = metrics.text();
    let lines = text.lines().filter_map(|line| line.strip_prefix(name)).map(str::to_owned);
    let mut lines: Vec<String> = lines.collect();
    lines.sort();
    lines
}

#[test]
fn a_controller_is_there_from_the_start() {
    let metrics = Metrics::new();
    metrics.controller("pair").set_workers(3);
    assert_eq!(
        series(&metrics, "controller_runtime_reconcile_total"),
        [
            "{controller=\"pair\",result=\"error\"} 0",
            "{controller=\"pair\",result=\"requeue\"} 0",
            "{controller=\"pair\",result=\"requeue_after\"} 0",
            "{controller=\"pair\",result=\"success\"} 0",
        ]
    );
    for name in [
        "controller_runtime_reconcile_errors_total",
        "controller_runtime_terminal_reconcile_errors_total",
        "controller_runtime_reconcile_panics_total",
        "controller_runtime_active_workers",
    ] {
        assert_eq!(series(&metrics, name), ["{controller=\"pair\"} 0"], "{name}");
    }
    assert_eq!(series(&metrics, "controller_runtime_max_concurrent_reconciles"), ["{controller=\"pair\"} 3"]);
    assert!(metrics.text().ends_with("# EOF\n"));
}

#[test]
fn results_are_counted_separately() {
    let metrics = Metrics::new();
    let pair = metrics.controller("pair");
    let after = Duration::from_secs(1);
    for (finished, result, errors, terminal) in [
        (ReconcileResult::Done { requeue_after: None }, "success", 0, 0),
        (ReconcileResult::Gone, "success", 0, 0),
        (ReconcileResult::Done { requeue_after: Some(after) }, "requeue_after", 0, 0),
        (ReconcileResult::Requeue { after, reason: String::new() }, "requeue_after", 0, 0),
        (ReconcileResult::Conflict { reason: String::new(), message: String::new() }, "requeue", 0, 0),
        (ReconcileResult::Failed { reason: String::new(), message: String::new() }, "error", 1, 0),
        (ReconcileResult::Terminal { reason: String::new(), message: String::new() }, "error", 1, 1),
    ] {
        let value = |name: &str, label: &str| -> i32 {
            let all = series(&metrics, name);
            let line = all.iter().find_map(|line| line.strip_prefix(label)).expect("the series is there");
            line.trim().parse().expect("a number")
        };
        let now = || {
            [
                value(
                    "controller_runtime_reconcile_total",
                    &format!("{{controller=\"pair\",result=\"{result}\"}}"),
                ),
                value("controller_runtime_reconcile_errors_total", "{controller=\"pair\"}"),
                value("controller_runtime_terminal_reconcile_errors_total", "{controller=\"pair\"}"),
            ]
        };
        let before = now();
        pair.finished(&finished, Duration::from_millis(20));
        let steps: Vec<i32> = now().iter().zip(before).map(|(now, before)| now - before).collect();
        assert_eq!(steps, [1, errors, terminal], "{finished:?}");
    }
    let buckets = series(&metrics, "controller_runtime_reconcile_time_seconds_bucket");
    assert!(buckets.contains(&"{le=\"0.01\",controller=\"pair\"} 0".to_owned()), "{buckets:?}");
    assert!(buckets.contains(&"{le=\"0.025\",controller=\"pair\"} 7".to_owned()), "{buckets:?}");
    assert_eq!(
        series(&metrics, "workqueue_work_duration_seconds_count"),
        ["{name=\"pair\",controller=\"pair\"} 7"]
    );
}

#[test]
fn a_queue_is_counted_when_it_is_asked_for() {
    let metrics = Metrics::new();
    let pair = metrics.controller("pair");
    let queue = Arc::new(Mutex::new(Queue::new(QueueSettings::default())));
    let start = Instant::now();
    let counted = queue.clone();
    pair.set_queue(move || {
        counted.lock().expect("lock is not poisoned").counts(start + Duration::from_secs(2))
    });
    for (name, priority) in [("a", Priority::Live), ("b", Priority::Live), ("c", Priority::Background)] {
        let reason = Reason { cause: Cause::Output, what: "x".to_owned(), priority, spec_changed: false };
        queue.lock().expect("lock is not poisoned").add(ObjectRef::new("", name), reason, start);
    }
    let Next::Take(work) = queue.lock().expect("lock is not poisoned").next(start) else {
        panic!("it is due")
    };
    let running = pair.started(&work);
    let one = |value: &str| vec![format!("{{name=\"pair\",controller=\"pair\"}} {value}")];
    assert_eq!(
        series(&metrics, "workqueue_depth"),
        [
            "{name=\"pair\",controller=\"pair\",priority=\"-100\"} 1.0",
            "{name=\"pair\",controller=\"pair\",priority=\"0\"} 1.0",
        ]
    );
    assert_eq!(series(&metrics, "workqueue_adds_total"), one("3"));
    assert_eq!(series(&metrics, "workqueue_unfinished_work_seconds"), one("2.0"));
    assert_eq!(series(&metrics, "workqueue_longest_running_processor_seconds"), one("2.0"));
    assert_eq!(series(&metrics, "workqueue_queue_duration_seconds_count"), one("1"));
    assert_eq!(series(&metrics, "controller_runtime_active_workers"), ["{controller=\"pair\"} 1"]);
    assert_eq!(series(&metrics, "windlass_trigger_total"), ["{controller=\"pair\",cause=\"output\"} 1"]);
    drop(running);
    queue.lock().expect("lock is not poisoned").finished(&work.key, Requeue::WithBackoff, start);
    assert_eq!(series(&metrics, "controller_runtime_active_workers"), ["{controller=\"pair\"} 0"]);
    assert_eq!(series(&metrics, "workqueue_retries_total"), one("1"));
    assert_eq!(series(&metrics, "windlass_queue_delayed"), one("1.0"));
}

#[test]
fn conditions_follow_their_parents() {
    let metrics = Metrics::new();
    let pair = metrics.controller("pair");
    let parent =
        |status: &str| json!({ "status": { "conditions": [{ "type": "Ready", "status": status }] } });
    let (good, bad) = (parent("True"), parent("False"));
    pair.parent_changed(None, Some(&bad));
    pair.parent_changed(None, Some(&bad));
    pair.parent_changed(Some(&bad), Some(&good));
    assert_eq!(
        series(&metrics, "windlass_condition"),
        [
            "{controller=\"pair\",condition=\"Ready\",status=\"False\"} 1",
            "{controller=\"pair\",condition=\"Ready\",status=\"True\"} 1",
        ]
    );
    pair.parent_changed(Some(&good), None);
    pair.parent_changed(Some(&bad), Some(&json!({})));
    let gone = series(&metrics, "windlass_condition");
    assert!(gone.iter().all(|line| line.ends_with("} 0")), "{gone:?}");
}

#[test]
fn requests_states_and_leases_have_their_series() {
    let metrics = Metrics::new();
    metrics.requested("GET", "127.0.0.1:6443", Some(200));
    metrics.requested("GET", "127.0.0.1:6443", Some(200));
    metrics.requested("PATCH", "127.0.0.1:6443", None);
    metrics.set_leading("windlass", true);
    metrics.controller("pair").state_took("First", Duration::from_millis(1));
    metrics.controller("pair").panicked();
    assert_eq!(
        series(&metrics, "rest_client_requests_total"),
        [
            "{code=\"200\",host=\"127.0.0.1:6443\",method=\"GET\"} 2",
            "{code=\"<error>\",host=\"127.0.0.1:6443\",method=\"PATCH\"} 1",
        ]
    );
    assert_eq!(series(&metrics, "leader_election_master_status"), ["{name=\"windlass\"} 1"]);
    let states = series(&metrics, "windlass_state_duration_seconds_count");
    assert_eq!(states, ["{controller=\"pair\",state=\"First\"} 1"]);
    assert_eq!(series(&metrics, "controller_runtime_reconcile_panics_total"), ["{controller=\"pair\"} 1"]);
}
