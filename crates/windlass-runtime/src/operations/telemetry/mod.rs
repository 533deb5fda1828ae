//! Traces for a collector that speaks OpenTelemetry's protocol over HTTP.
//!
//! Start with [`Telemetry::from_environment`]: without an endpoint there is nothing to do, and nothing is done.

mod carrier;
#[cfg(test)]
mod tests;

use std::env;
use std::time::Duration;

use opentelemetry::Key;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{FilterExt, LevelFilter, filter_fn};
use tracing_subscriber::registry::LookupSpan;

use carrier::{Carrier, CarrierError};

/// Where traces go, by the names that OpenTelemetry gives these variables. The second stands for traces alone.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];
/// Timeout of the last export when the process ends.
const LAST_SPANS: Duration = Duration::from_secs(5);
/// Prefixes of the crates that export spans. Their own spans are dropped, or exporting would never end.
const SENDERS: [&str; 5] = ["h2", "hyper", "opentelemetry", "rustls", "tower"];

/// Sends spans to a collector.
pub struct Telemetry {
    provider: SdkTracerProvider,
}

/// Why traces cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The variables of OpenTelemetry say something that makes no sense.
    #[error("traces cannot be sent: check the variables that begin with OTEL_EXPORTER_OTLP_")]
    Settings(#[from] ExporterBuildError),
    /// A collector could not be reached over TLS.
    #[error("traces cannot be sent over TLS")]
    Tls(#[from] CarrierError),
}

impl Telemetry {
    /// Sends to the collector that OpenTelemetry's variables name, if they name one. They may set headers, limits and
    /// the name of the service as well.
    ///
    /// Call this within the runtime of the process: spans are sent on it.
    ///
    /// # Errors
    /// When the variables make no sense.
    pub fn from_environment(service: &str) -> Result<Option<Self>, TelemetryError> {
        let is_set = |name: &&str| env::var(name).is_ok_and(|value| !value.is_empty());
        let is_off = env::var("OTEL_SDK_DISABLED").is_ok_and(|value| value.eq_ignore_ascii_case("true"));
        if is_off || !ENDPOINTS.iter().any(is_set) {
            return Ok(None);
        }
        let exporter = SpanExporter::builder().with_http().with_http_client(Carrier::new()?).build()?;
        Ok(Some(Telemetry::with(service, exporter)))
    }

    /// Sends to a collector at this address, such as `http://127.0.0.1:4318`.
    ///
    /// Call this within the runtime of the process: spans are sent on it.
    ///
    /// # Errors
    /// When the address makes no sense.
    pub fn to(service: &str, address: &str) -> Result<Self, TelemetryError> {
        let endpoint = format!("{}/v1/traces", address.trim_end_matches('/'));
        let http = SpanExporter::builder().with_http().with_http_client(Carrier::new()?);
        Ok(Telemetry::with(service, http.with_endpoint(endpoint).build()?))
    }

    fn with(service: &str, exporter: SpanExporter) -> Self {
        let provider = SdkTracerProvider::builder().with_batch_exporter(exporter);
        Telemetry { provider: provider.with_resource(resource(service)).build() }
    }

    /// What hands spans over: add it to the subscriber of the process.
    pub fn layer<S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync>(&self) -> impl Layer<S> + use<S> {
        let layer = tracing_opentelemetry::layer().with_tracer(self.provider.tracer("windlass"));
        layer.with_filter(LevelFilter::INFO.and(filter_fn(is_of_interest)))
    }

    /// Sends what is left, and ends.
    pub async fn shutdown(self) {
        let ended =
            tokio::task::spawn_blocking(move || self.provider.shutdown_with_timeout(LAST_SPANS)).await;
        if let Ok(Err(error)) = ended {
            tracing::warn!(%error, "the last spans were not sent");
        }
    }
}

/// Whether something comes from elsewhere than from what sends it.
fn is_of_interest(metadata: &Metadata<'_>) -> bool {
    !SENDERS.iter().any(|sender| metadata.target().starts_with(sender))
}

/// The OpenTelemetry resource: this service name, unless the environment sets one.
fn resource(service: &str) -> Resource {
    let given = Resource::builder().build();
    let name = given.get(&Key::from_static_str("service.name"));
    // The SDK's default name.
    let is_named = name.is_some_and(|name| !name.as_str().starts_with("unknown_service"));
    if is_named { given } else { Resource::builder().with_service_name(service.to_owned()).build() }
}
