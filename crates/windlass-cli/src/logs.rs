//! Where commands that run for long say what they do: logs, and traces if somebody collects them.

use std::io::{self, IsTerminal};

use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};
use windlass_runtime::operations::telemetry::Telemetry;

/// Logs to standard error, so that standard output stays what scripts expect. `WINDLASS_LOG` says how much; spans go to
/// the collector whatever it says.
pub(crate) fn start(json: bool, traces: Option<&Telemetry>) {
    let filter = EnvFilter::try_from_env("WINDLASS_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let coloured =
        io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty());
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(coloured);
    let lines = if json { lines.json().boxed() } else { lines.with_target(false).boxed() };
    let traces = traces.map(Telemetry::layer);
    tracing_subscriber::registry().with(lines.with_filter(filter)).with(traces).init();
}
