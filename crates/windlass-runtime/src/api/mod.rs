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
use windlass::model::{Request, Response, Status, Verb};

use crate::operations::metrics::Metrics;

pub(crate) use answer::{Answered, read};
pub(crate) use failure::{of_answer, read_status};
pub(crate) use lines::Lines;

/// Maximum number of attempts of a request that the server asks to send again.
const TRIES_MAX: u32 = 5;
/// The longest that one attempt of a request may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// A longer wait is the caller's affair: it holds a worker.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(30);

/// Performs requests with kube's client.
///
/// A failure is always a `Status` in the answer, whatever failed: what cannot be reached is a 503.
#[derive(Clone)]
pub struct Api {
    client: kube::Client,
    counted: Option<Arc<Counted>>,
    request_timeout: Duration,
}

/// What to answer instead of sending a request now; `None` if it may be sent.
pub(crate) type SendCondition<'a> = &'a (dyn Fn() -> Option<Status> + Sync);

/// How much of objects is asked for. A server that cannot leave out the rest may send all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// All of each.
    Whole,
    /// The metadata of each in a list.
    ListOfMetadata,
    /// The metadata of one.
    Metadata,
}

impl Form {
    fn accept(self) -> &'static str {
        match self {
            Form::Whole => "application/json",
            Form::ListOfMetadata => {
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
            }
            Form::Metadata => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
        }
    }
}

/// Where requests are counted, and for which host.
struct Counted {
    metrics: Metrics,
    host: String,
}

impl Api {
    /// Sends requests with this client.
    pub fn new(client: kube::Client) -> Self {
        Api { client, counted: None, request_timeout: REQUEST_TIMEOUT }
    }

    /// The longest that one attempt of a request may take; lists have no limit. Default: 30 seconds.
    #[must_use]
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.request_timeout = timeout;
        self
    }

    /// The namespace of the kubeconfig's context or, in a pod, of the pod.
    pub fn default_namespace(&self) -> &str {
        self.client.default_namespace()
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
        self.answered_in(request, Form::Whole).await
    }

    /// The same, with objects in some form.
    pub(crate) async fn answered_in(&self, request: &Request, form: Form) -> Answered {
        self.answered_while(request, form, &|| None).await
    }

    /// The same for a request that may be sent only under a condition, which is checked before **each** attempt: a server
    /// that is busy may ask for the next one when the condition no longer holds.
    pub(crate) async fn answered_while(
        &self,
        request: &Request,
        form: Form,
        refusal: SendCondition<'_>,
    ) -> Answered {
        let written = write(request);
        let mut tries = 1;
        let mut earlier_arrived = true;
        loop {
            if let Some(status) = refusal() {
                return Answered::of_failure(status);
            }
            let mut answered = match self.send_in_time(request, &written, form).await {
                Ok(answered) => answered,
                Err(status) => return Answered::of_failure(status),
            };
            // A gateway that was asked first may pass the request on after the answer to a later attempt.
            earlier_arrived &= answered.has_arrived;
            answered.has_arrived = earlier_arrived;
            match answered.retry_after() {
                Some(wait) if tries < TRIES_MAX && wait <= RETRY_AFTER_MAX => tokio::time::sleep(wait).await,
                _ => return answered,
            }
            tries += 1;
        }
    }

    /// Begins a watch of what a list request selects; its events are lines of JSON.
    pub(crate) async fn watch(
        &self,
        request: &Request,
        options: &WatchOptions,
        form: Form,
    ) -> Result<Lines, Status> {
        let response = self.send(&write_watch(request, options), form).await?;
        if response.status().is_success() {
            return Ok(Lines::new(response.into_body()));
        }
        let answered = collect(response).await?;
        Err(of_answer(&answered))
    }

    /// Sends a request once. One that is not answered in time fails, so that a write is not in flight for longer than
    /// its sender knows about. Lists may be large, and have no effect: they take what they take.
    async fn send_in_time(
        &self,
        request: &Request,
        written: &Written,
        form: Form,
    ) -> Result<Answered, Status> {
        if request.verb == Verb::List {
            return self.send_once(written, form).await;
        }
        let sent = tokio::time::timeout(self.request_timeout, self.send_once(written, form)).await;
        match sent {
            Ok(answered) => answered,
            Err(_) => Err(failure::of_timeout(request, self.request_timeout)),
        }
    }

    async fn send_once(&self, written: &Written, form: Form) -> Result<Answered, Status> {
        collect(self.send(written, form).await?).await
    }

    async fn send(&self, written: &Written, form: Form) -> Result<http::Response<Body>, Status> {
        let mut request = http::Request::builder().method(written.method).uri(&written.target);
        request = request.header(ACCEPT, form.accept());
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use serde_json::json;
    use windlass::model::{Reason, ResourceId};

    use super::*;

    /// A server that is busy for this number of requests, and the count of its requests.
    fn busy(times: u32, retry_after: &'static str) -> (Api, Arc<AtomicU32>) {
        refuses(429, times, retry_after)
    }

    /// The same with another code.
    fn refuses(code: u16, times: u32, retry_after: &'static str) -> (Api, Arc<AtomicU32>) {
        let asked = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&asked);
        let service = tower::service_fn(move |_: http::Request<Body>| {
            let busy = counter.fetch_add(1, Ordering::Relaxed) < times;
            let response = http::Response::builder().status(if busy { code } else { 200 });
            let response = if busy { response.header("Retry-After", retry_after) } else { response };
            let body = json!({"kind": "ConfigMap", "metadata": {"name": "a"}}).to_string();
            async move { response.body(Body::from(body.into_bytes())) }
        });
        (Api::new(kube::Client::new(service, "default")), asked)
    }

    fn get() -> Request {
        Request::new(Verb::Get, ResourceId::new("", "v1", "configmaps")).in_namespace("default").named("a")
    }

    #[tokio::test(start_paused = true)]
    async fn a_busy_server_is_asked_again_when_it_says() {
        let (api, asked) = busy(2, "3");
        let start = tokio::time::Instant::now();
        assert_eq!(api.perform(&get()).await.code, 200);
        assert_eq!((asked.load(Ordering::Relaxed), start.elapsed().as_secs()), (3, 6));
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_stays_busy_is_left_alone() {
        let (api, asked) = busy(100, "1");
        let response = api.perform(&get()).await;
        assert_eq!(response.failure().and_then(|status| status.reason), Some(Reason::TooManyRequests));
        assert_eq!(asked.load(Ordering::Relaxed), TRIES_MAX);
        let (api, asked) = busy(100, "3600");
        assert_eq!(api.perform(&get()).await.code, 429);
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn the_condition_of_a_request_is_checked_before_each_attempt() {
        let (api, asked) = busy(100, "3");
        let sent = Arc::clone(&asked);
        let only_once = move || match sent.load(Ordering::Relaxed) {
            0 => None,
            _ => Some(Status::failure(503, Reason::ServiceUnavailable, "no longer")),
        };
        let answered = api.answered_while(&get(), Form::Whole, &only_once).await;
        assert_eq!(read(&get(), &answered).code, 503);
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn an_attempt_that_a_gateway_refused_may_arrive_after_a_later_one() {
        for (code, has_arrived) in [(429, true), (503, false)] {
            let (api, asked) = refuses(code, 1, "3");
            let answered = api.answered(&get()).await;
            assert_eq!((answered.code, asked.load(Ordering::Relaxed)), (200, 2));
            assert_eq!(answered.has_arrived, has_arrived, "{code}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_is_not_answered_fails_in_time() {
        let never =
            |_: http::Request<Body>| std::future::pending::<Result<http::Response<Body>, std::io::Error>>();
        let api = Api::new(kube::Client::new(tower::service_fn(never), "default"));
        let start = tokio::time::Instant::now();
        let response = api.request_timeout(Duration::from_secs(7)).perform(&get()).await;
        let status = response.failure().expect("a failure");
        assert_eq!((status.code, status.reason), (504, Some(Reason::Timeout)));
        assert_eq!(status.message, "get configmaps was not answered within 7s");
        assert_eq!(start.elapsed().as_secs(), 7);
    }

    #[tokio::test]
    async fn a_server_that_cannot_be_reached_is_a_status() {
        let refuse = |_: http::Request<Body>| async {
            Err::<http::Response<Body>, _>(std::io::Error::other("connection refused"))
        };
        let api = Api::new(kube::Client::new(tower::service_fn(refuse), "default"));
        let response = api.perform(&get()).await;
        let status = response.failure().expect("a failure");
        assert_eq!((status.code, status.reason), (503, Some(Reason::ServiceUnavailable)));
        assert!(status.message.ends_with("connection refused"), "{}", status.message);
    }
}
