//! The client of the real service: HTTP, with a timeout on every wait.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{Request, StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use windlass::{CallError, Service};
use windlass_runtime::ServiceClient;

use crate::dns::{Dns, RecordAnswer, RecordRequest};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Timeout of a whole call. A reconcile has one minute by default, and must be able to report what was slow.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// An answer is a record or none.
const MAX_BYTES: usize = 64 * 1024;

/// Calls a DNS over HTTP: `PUT {url}/owners/{uid}` with a [`RecordRequest`], answered with a [`RecordAnswer`].
pub struct HttpDns {
    url: String,
    client: Client<HttpConnector, Full<Bytes>>,
    timeout: Duration,
}

impl HttpDns {
    /// A client of the service at `http://HOST:PORT`.
    pub fn new(url: &str) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let client = Client::builder(TokioExecutor::new()).build(connector);
        HttpDns { url: url.trim_end_matches('/').to_owned(), client, timeout: CALL_TIMEOUT }
    }

    /// Sets the timeout of a call. Default: 10 seconds.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit;
        self
    }

    async fn put(&self, request: &RecordRequest) -> Result<RecordAnswer, CallError> {
        let uri: Uri = format!("{}/owners/{}", self.url, request.owner).parse().map_err(refused)?;
        let body = serde_json::to_vec(request).map_err(refused)?;
        let request = Request::put(uri)
            .header(hyper::header::CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(body)))
            .map_err(refused)?;
        let response = self.client.request(request).await.map_err(unavailable)?;
        let status = response.status();
        let body = Limited::new(response.into_body(), MAX_BYTES).collect().await.map_err(unavailable)?;
        let body = body.to_bytes();
        match status {
            StatusCode::OK => serde_json::from_slice(&body).map_err(refused),
            _ if status.is_server_error() => Err(unavailable(status)),
            _ => Err(refused(format!("{status}: {}", String::from_utf8_lossy(&body)))),
        }
    }
}

impl ServiceClient<Dns> for HttpDns {
    async fn call(&self, request: RecordRequest) -> Result<RecordAnswer, CallError> {
        match tokio::time::timeout(self.timeout, self.put(&request)).await {
            Ok(answer) => answer,
            Err(_) => Err(CallError::Timeout { service: Dns::NAME.to_owned() }),
        }
    }
}

fn refused(message: impl ToString) -> CallError {
    CallError::Refused { service: Dns::NAME.to_owned(), message: message.to_string() }
}

fn unavailable(message: impl ToString) -> CallError {
    CallError::Unavailable { service: Dns::NAME.to_owned(), message: message.to_string() }
}
