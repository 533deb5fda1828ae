//! The figures, as a table and as JSON.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::Arguments;
use crate::large::Sample;
use crate::phases::Phase;

/// All that was measured.
pub(crate) struct Results {
    title: String,
    rows: Vec<Row>,
    memory: Vec<(&'static str, u64)>,
    ready: Vec<Duration>,
    large: Vec<Value>,
}

struct Row {
    name: &'static str,
    bar: f64,
    ours: f64,
    theirs: f64,
}

impl Results {
    pub(crate) fn new(arguments: &Arguments) -> Self {
        let title = format!(
            "{} clients, {} watchers, {} s each, both durable",
            arguments.clients, arguments.watchers, arguments.seconds
        );
        Results { title, rows: Vec::new(), memory: Vec::new(), ready: Vec::new(), large: Vec::new() }
    }

    pub(crate) fn ready(&mut self, mut times: Vec<Duration>) {
        times.sort_unstable();
        self.ready = times;
    }

    pub(crate) fn phase(&mut self, phase: &Phase, rates: &[f64]) {
        let [ours, theirs] = rates else { return };
        self.rows.push(Row { name: phase.name, bar: phase.bar, ours: *ours, theirs: *theirs });
    }

    pub(crate) fn memory(&mut self, name: &'static str, peak_bytes: u64) {
        self.memory.push((name, peak_bytes));
    }

    pub(crate) fn large(&mut self, samples: &[Sample]) {
        self.large = samples
            .iter()
            .map(|sample| {
                json!({
                    "objects": sample.objects,
                    "paged_list_ms": sample.paged.as_secs_f64() * 1e3,
                    "watch_ms": sample.watched.as_secs_f64() * 1e3,
                    "memory_bytes_per_object": sample.bytes_per_object,
                    "json_bytes_per_object": sample.json_bytes,
                    "memory_per_json": sample.bytes_per_object / sample.json_bytes,
                })
            })
            .collect();
    }

    pub(crate) fn json(&self) -> String {
        let rows: Vec<Value> = self
            .rows
            .iter()
            .map(|row| {
                let ratio = row.ours / row.theirs;
                json!({"what": row.name, "windlass": row.ours, "kubernetes": row.theirs, "ratio": ratio, "bar": row.bar, "reached": ratio >= row.bar})
            })
            .collect();
        let ready: Vec<f64> = self.ready.iter().map(|time| time.as_secs_f64() * 1e3).collect();
        let memory: Value = self.memory.iter().map(|(name, bytes)| (*name, json!(bytes))).collect();
        let all = json!({"rates": rows, "peak_memory_bytes": memory, "ready_ms": ready, "large": self.large});
        format!("{all:#}\n")
    }

    pub(crate) fn table(&self) -> String {
        let mut text =
            format!("{}\n\n{:34} {:>12} {:>12} {:>8}\n", self.title, "", "windlass", "kubernetes", "ratio");
        for row in &self.rows {
            let ratio = row.ours / row.theirs;
            let verdict = if ratio >= row.bar { "reached" } else { "NOT REACHED" };
            let _ = writeln!(
                text,
                "{:34} {:>12.0} {:>12.0} {:>7.1}x  bar {}x: {verdict}",
                row.name, row.ours, row.theirs, ratio, row.bar
            );
        }
        if let [(_, ours), (_, theirs)] = self.memory[..] {
            let share = theirs as f64 / ours as f64;
            let verdict = if share >= 10.0 { "reached" } else { "NOT REACHED" };
            let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
            let _ = writeln!(
                text,
                "{:34} {:>12.1} {:>12.1}  1/{share:.1}  bar 1/10: {verdict}",
                "peak memory, MiB",
                mebibytes(ours),
                mebibytes(theirs)
            );
        }
        if let (Some(median), Some(slowest)) = (self.ready.get(self.ready.len() / 2), self.ready.last()) {
            let verdict = if median.as_millis() < 100 { "reached" } else { "NOT REACHED" };
            let _ = writeln!(
                text,
                "{:34} {:>12.1} (slowest {:.1}) bar 100: {verdict}",
                "ready, ms, median",
                median.as_secs_f64() * 1e3,
                slowest.as_secs_f64() * 1e3
            );
        }
        for sample in &self.large {
            let number = |name: &str| sample[name].as_f64().unwrap_or_default();
            let _ = writeln!(
                text,
                "{:>8} objects: list by pages {:.0} ms, watch {:.0} ms, memory {:.0} B each = {:.2} of its JSON (bar 2.5)",
                sample["objects"],
                number("paged_list_ms"),
                number("watch_ms"),
                number("memory_bytes_per_object"),
                number("memory_per_json")
            );
        }
        text
    }
}
