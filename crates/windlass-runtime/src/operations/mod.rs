//! What those who run a controller need: metrics, health, events, preflight, leader election, traces.

pub(crate) mod clock;
pub mod endpoints;
pub(crate) mod entropy;
pub mod events;
pub mod leader;
pub mod metrics;
mod perform;
pub mod preflight;
pub mod spans;
#[cfg(feature = "otel")]
pub mod telemetry;
#[cfg(test)]
mod test_server;

pub use perform::Perform;
