//! What the server counts, under the names that kube-apiserver gives it.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::store::Storage;

/// The media type of the text that Prometheus reads.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What a request was about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct About {
    pub(crate) verb: &'static str,
    pub(crate) group: Arc<str>,
    pub(crate) version: Arc<str>,
    pub(crate) resource: Arc<str>,
    pub(crate) subresource: Arc<str>,
    pub(crate) scope: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    verb: &'static str,
    group: Arc<str>,
    version: Arc<str>,
    resource: Arc<str>,
    subresource: Arc<str>,
    scope: &'static str,
    code: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InFlight {
    request_kind: RequestKind,
}

/// Whether a request can change anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
#[expect(non_camel_case_types, reason = "they are the values of the label")]
pub(crate) enum RequestKind {
    readOnly,
    mutating,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WatchedKind {
    group: Arc<str>,
    version: Arc<str>,
    resource: Arc<str>,
}

/// All counters. Cloning shares them.
#[derive(Clone)]
pub(crate) struct Metrics {
    registry: Arc<Registry>,
    requests: Family<Answered, Counter>,
    durations: Family<About, Histogram, fn() -> Histogram>,
    in_flight: Family<InFlight, Gauge>,
    watches: Family<WatchedKind, Gauge>,
    watch_events: Family<WatchedKind, Counter>,
    connections: Gauge,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::default();
        let requests = Family::<Answered, Counter>::default();
        registry.register("apiserver_request", "Requests, by verb, resource and code", requests.clone());
        let durations: Family<About, Histogram, fn() -> Histogram> =
            Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.000_1, 2.0, 20)));
        let help = "Seconds until a request was answered";
        registry.register("apiserver_request_duration_seconds", help, durations.clone());
        let in_flight = Family::<InFlight, Gauge>::default();
        let help = "Requests that are being answered";
        registry.register("apiserver_current_inflight_requests", help, in_flight.clone());
        let watches = Family::<WatchedKind, Gauge>::default();
        registry.register("apiserver_longrunning_requests", "Open watches", watches.clone());
        let watch_events = Family::<WatchedKind, Counter>::default();
        registry.register("apiserver_watch_events", "Events sent to watchers", watch_events.clone());
        let connections = Gauge::default();
        registry.register("windlass_open_connections", "Open connections", connections.clone());
        Metrics {
            registry: Arc::new(registry),
            requests,
            durations,
            in_flight,
            watches,
            watch_events,
            connections,
        }
    }

    /// Counts a request that was answered.
    pub(crate) fn answered(&self, about: &About, code: u16, took: Duration) {
        let About { verb, group, version, resource, subresource, scope } = about.clone();
        self.requests
            .get_or_create(&Answered { verb, group, version, resource, subresource, scope, code })
            .inc();
        self.durations.get_or_create(about).observe(took.as_secs_f64());
    }

    /// Counts a request as being answered until the guard is dropped.
    pub(crate) fn in_flight(&self, request_kind: RequestKind) -> Guard {
        Guard::of(self.in_flight.get_or_create_owned(&InFlight { request_kind }))
    }

    /// Counts a connection as open until the guard is dropped.
    pub(crate) fn connection(&self) -> Guard {
        Guard::of(self.connections.clone())
    }

    /// Counts a watch as open until the guard is dropped, and gives the counter of its events.
    pub(crate) fn watch(&self, about: &About) -> (Guard, Counter) {
        let kind = WatchedKind {
            group: Arc::clone(&about.group),
            version: Arc::clone(&about.version),
            resource: Arc::clone(&about.resource),
        };
        let events = self.watch_events.get_or_create_owned(&kind);
        (Guard::of(self.watches.get_or_create_owned(&kind)), events)
    }

    /// All of it as text, with what the store says of itself.
    pub(crate) fn text(&self, storage: &Storage) -> String {
        let mut text = String::new();
        if encode(&mut text, &self.registry).is_err() {
            return String::new();
        }
        let mut own = String::new();
        write_storage(&mut own, storage);
        // The text of the registry ends with a mark; what follows it would not be read.
        let end = text.rfind("# EOF").unwrap_or(text.len());
        text.insert_str(end, &own);
        text
    }
}

fn write_storage(text: &mut String, storage: &Storage) {
    let statistics = storage.statistics();
    let _ = writeln!(text, "# HELP apiserver_storage_objects Objects, by resource.");
    let _ = writeln!(text, "# TYPE apiserver_storage_objects gauge");
    for (group, plural, count) in &statistics.objects {
        let dot = if group.is_empty() { "" } else { "." };
        let _ = writeln!(text, "apiserver_storage_objects{{resource=\"{plural}{dot}{group}\"}} {count}");
    }
    if let Some(bytes) = resident_bytes() {
        let _ = writeln!(text, "# HELP process_resident_memory_bytes Memory of the process.");
        let _ = writeln!(text, "# TYPE process_resident_memory_bytes gauge");
        let _ = writeln!(text, "process_resident_memory_bytes {bytes}");
    }
}

/// The resident memory of this process; `None` where the system does not report it.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// One more of something, for as long as it lives.
pub(crate) struct Guard(Gauge);

impl Guard {
    fn of(gauge: Gauge) -> Self {
        gauge.inc();
        Guard(gauge)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.dec();
    }
}
