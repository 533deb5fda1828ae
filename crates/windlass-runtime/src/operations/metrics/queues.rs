//! What queues say of themselves, asked for when somebody reads the metrics.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

use super::labels::{PriorityLabels, QueueLabels};
use crate::queue::QueueCounts;

/// Counts a queue, now.
type Count = Box<dyn Fn() -> QueueCounts + Send + Sync>;

/// The queues of all controllers, by the controller's name.
#[derive(Default)]
pub(super) struct Queues {
    queues: Mutex<BTreeMap<String, Count>>,
}

/// A gauge of queues: its name, what it says, and its value.
type Gauge = (&'static str, &'static str, fn(&QueueCounts) -> f64);

const GAUGES: [Gauge; 4] = [
    (
        "workqueue_unfinished_work_seconds",
        "Seconds that active reconciles have taken so far, all together",
        |counts| counts.unfinished_seconds,
    ),
    (
        "workqueue_longest_running_processor_seconds",
        "Seconds that the active reconcile that takes longest has taken so far",
        |counts| counts.longest_running_seconds,
    ),
    (
        "windlass_queue_delayed",
        "Objects that wait for a time: after a failure, or because they asked for it",
        |counts| counts.delayed as f64,
    ),
    ("windlass_queue_halted", "Objects that failed for good and wait for a change of the parent", |counts| {
        counts.halted as f64
    }),
];

/// A counter of queues: its name, what it says, and its value.
type Counter = (&'static str, &'static str, fn(&QueueCounts) -> u64);

const COUNTERS: [Counter; 2] = [
    ("workqueue_adds", "How often an object came into the queue", |counts| counts.adds),
    ("workqueue_retries", "How often an object was put back because it failed", |counts| counts.retries),
];

impl Queues {
    pub(super) fn add(&self, controller: &str, count: Count) {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.insert(controller.to_owned(), count);
    }

    fn counts(&self) -> Vec<(QueueLabels, QueueCounts)> {
        let queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.iter().map(|(controller, count)| (QueueLabels::of(controller), count())).collect()
    }
}

impl Collector for Queues {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let counts = self.counts();
        let depth = "Objects that are due, by how urgent they are";
        let mut depths = encoder.encode_descriptor("workqueue_depth", depth, None, MetricType::Gauge)?;
        for (QueueLabels { name, controller }, counts) in counts.clone() {
            // The numbers that controller-runtime gives to these priorities.
            for (priority, depth) in [("0", counts.live), ("-100", counts.background)] {
                let (name, controller) = (name.clone(), controller.clone());
                gauge(&mut depths, &PriorityLabels { name, controller, priority }, depth as f64)?;
            }
        }
        for (name, help, value) in GAUGES {
            let mut series = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            counts.iter().try_for_each(|(labels, counts)| gauge(&mut series, labels, value(counts)))?;
        }
        for (name, help, value) in COUNTERS {
            let mut series = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for (labels, counts) in &counts {
                series.encode_family(labels)?.encode_counter::<NoLabelSet, u64, u64>(&value(counts), None)?;
            }
        }
        Ok(())
    }
}

fn gauge(series: &mut MetricEncoder<'_>, labels: &impl EncodeLabelSet, value: f64) -> fmt::Result {
    series.encode_family(labels)?.encode_gauge(&value)
}

impl fmt::Debug for Queues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.counts()).finish()
    }
}
