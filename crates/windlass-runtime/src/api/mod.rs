//! Requests as data, performed against a real API server.

mod answer;
mod document;
mod failure;
mod lines;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http_body_util::BodyExt;
use kube::client::Body;
use windlass::model::http::{Written, write, write_watch};
use windlass::model::watch::WatchOptions;
use windlass::model::{Request, Response, Status};

use crate::operations::metrics::Metrics;

pub(crate) use answer::{Answered, read};
pub(crate) use failure::{of_answer, read_status};
pub(crate) use lines::Lines;

/// A request that the server asks to send again is sent so often in all.
const TRIES_MAX: u32 = 5;
/// A longer wait is the caller's affair: it holds a worker.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(30);

/// Performs requests with kube's client.
///
/// A failure is always a `Status` in the answer, whatever failed: what cannot be reached is a 503.
#[derive(Clone)]
pub struct Api {
    client: kube::Client,
    counted: Option<Arc<Counted>>,
}

/// Where requests are counted, and for which host.
struct Counted {
    metrics: Metrics,
    host: String,
}

impl Api {
    /// Sends requests with this client.
    pub fn new(client: kube::Client) -> Self {
        Api { client, counted: None }
    }

    /// Counts every request, with the host that they go to.
    #[must_use]
    pub(crate) fn counted(mut self, metrics: Metrics, host: &str) -> Self {
        self.counted = Some(Arc::new(Counted { metrics, host: host.to_owned() }));
        self
    }

    /// Sends a request and waits for the answer.
    ///
    /// A server that is too busy, and says when to come again, is asked again.
    pub async fn perform(&self, request: &Request) -> Response {
        read(request, &self.answered(request).await)
    }

    /// Sends a request and waits for the answer, which is left as text.
    pub(crate) async fn answered(&self, request: &Request) -> Answered {
        let written = write(request);
        let mut tries = 1;
        loop {
            let answered = match self.send_once(&written).await {
                Ok(answered) => answered,
                Err(status) => return Answered::of_failure(status),
            };
            match answered.retry_after() {
                Some(wait) if tries < TRIES_MAX && wait <= RETRY_AFTER_MAX => tokio::time::sleep(wait).await,
                _ => return answered,
            }
            tries += 1;
        }
    }

    /// Begins a watch of what a list request selects; its events are lines of JSON.
    pub(crate) async fn watch(&self, request: &Request, options: &WatchOptions) -> Result<Lines, Status> {
        let response = self.send(&write_watch(request, options)).await?;
        if response.status().is_success() {
            return Ok(Lines::new(response.into_body()));
        }
        let answered = collect(response).await?;
        Err(of_answer(&answered))
    }

    async fn send_once(&self, written: &Written) -> Result<Answered, Status> {
        collect(self.send(written).await?).await
    }

    async fn send(&self, written: &Written) -> Result<http::Response<Body>, Status> {
        let mut request = http::Request::builder().method(written.method).uri(&written.target);
        request = request.header(ACCEPT, "application/json");
        if let Some(content_type) = written.content_type {
            request = request.header(CONTENT_TYPE, content_type);
        }
        let body = Body::from(written.body.clone().into_bytes());
        let request = request.body(body).map_err(|error| failure::of_request(&error))?;
        let response = self.client.send(request).await;
        if let Some(counted) = &self.counted {
            let code = response.as_ref().ok().map(|response| response.status().as_u16());
            counted.metrics.requested(written.method, &counted.host, code);
        }
        response.map_err(|error| failure::of_client(&error))
    }
}

async fn collect(response: http::Response<Body>) -> Result<Answered, Status> {
    let (head, body) = response.into_parts();
    let body: Bytes = body.collect().await.map_err(|error| failure::of_client(&error))?.to_bytes();
    Ok(Answered::new(&head, body))
}
