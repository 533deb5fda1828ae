//! Logs of long-running commands, and their traces if a collector is configured.

mod fields;

use std::io;

use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};
use windlass_runtime::operations::telemetry::Telemetry;

use crate::output::is_coloured;
use fields::FieldsForPeople;

/// Default filter. A failed request is logged by its sender, with its purpose; the line of the client library would repeat
/// it without that.
const USUAL: &str = "info,kube_client=off";

/// Logs to standard error, so that standard output stays what scripts expect. `WINDLASS_LOG` sets the filter;
/// the collector gets all spans.
pub fn start(json: bool, traces: Option<&Telemetry>) {
    let filter = EnvFilter::try_from_env("WINDLASS_LOG").unwrap_or_else(|_| EnvFilter::new(USUAL));
    let lines =
        tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(is_coloured(&io::stderr()));
    let lines = if json {
        lines.json().boxed()
    } else {
        lines.with_target(false).fmt_fields(FieldsForPeople).boxed()
    };
    let traces = traces.map(Telemetry::layer);
    tracing_subscriber::registry().with(lines.with_filter(filter)).with(traces).init();
}
