//! Takes spans to the collector, on the runtime of the process.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use opentelemetry_http::{HttpClient, HttpError, Request, Response};
use tokio::runtime::Handle;
use tokio::time::timeout;

/// Timeout of one export to the collector.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of the collector's response.
const ANSWER_BYTES: usize = 64 * 1024;

/// The certificates of this machine cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the certificates that this machine trusts")]
pub struct CarrierError(#[from] io::Error);

/// An HTTP client. Spans are collected on a thread of their own that has no runtime, so it brings one along.
pub(super) struct Carrier {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    runtime: Handle,
}

impl Carrier {
    pub(super) fn new() -> Result<Self, CarrierError> {
        let tls = HttpsConnectorBuilder::new().with_native_roots()?;
        let connector = tls.https_or_http().enable_http1().build();
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Ok(Carrier { client, runtime: Handle::current() })
    }
}

impl HttpClient for Carrier {
    fn send_bytes<'carrier, 'send>(
        &'carrier self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'send>>
    where
        'carrier: 'send,
        Self: 'send,
    {
        let client = self.client.clone();
        let sending = async move {
            let response = client.request(request.map(Full::new)).await?;
            let (head, body) = response.into_parts();
            let body = Limited::new(body, ANSWER_BYTES).collect().await?;
            Ok(Response::from_parts(head, body.to_bytes()))
        };
        // The timer is made on the runtime too.
        let sent = self.runtime.spawn(async move { timeout(EXPORT_TIMEOUT, sending).await });
        Box::pin(async move { sent.await?? })
    }
}

impl fmt::Debug for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Carrier")
    }
}
