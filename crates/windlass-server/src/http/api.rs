//! The entry of every request: authentication, authorization, parsing, evaluation and the answer.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use hyper::Request as HttpRequest;
use hyper::Version;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderMap, HeaderName, USER_AGENT};
use hyper::http::request::Parts;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::block_in_place;
use windlass_model::http::{Format, HttpParts, NO_SUCH_PAGE, Output, Parsed, has_no_page, parse, present};
use windlass_model::list::{ContinueToken, list_from};
use windlass_model::{Effect, Reason, Request, Response, Status, TypeInfo, Types, Verb, handle_as};

use crate::clock;
use crate::closing::Closing;
use crate::http::access::{AccessControl, Caller};
use crate::http::answer::{
    Answer, AnswerBody, JSON, add_warnings, of_bytes, of_status, of_text, of_value, with_body,
};
use crate::http::guarded::Guarded;
use crate::http::texts::{Texts, pieces};
use crate::http::watch::WatchRequest;
use crate::http::{about, body, definition_status, documents, health};
use crate::limits::Limits;
use crate::metrics::{About, Metrics, RequestKind};
use crate::store::{Snapshot, Storage, WriteError, Written};

/// A request with more bytes than this takes milliseconds to evaluate: small ones do not wait for it.
const LARGE_BODY_BYTES: usize = 64 * 1024;

/// Number of requests with large bodies that are evaluated at the same time.
pub(crate) const LARGE_BODIES_AT_ONCE: usize = 2;

/// Everything that answering a request takes.
pub(crate) struct Api {
    pub(crate) storage: Storage,
    pub(crate) metrics: Metrics,
    pub(crate) limits: Limits,
    pub(crate) documents: documents::Documents,
    pub(crate) access: AccessControl,
    /// Where clients reach the server.
    pub(crate) url: String,
    pub(crate) closing: Closing,
    pub(crate) reads: Semaphore,
    pub(crate) writes: Semaphore,
    /// Room for the bytes of large bodies.
    pub(crate) bodies: Semaphore,
    /// Turns of requests with large bodies.
    pub(crate) large_bodies: Semaphore,
}

impl Api {
    /// Answers any request at all.
    pub(crate) async fn answer(self: &Arc<Self>, request: HttpRequest<Incoming>) -> Answer {
        let started = Instant::now();
        let (parts, body) = request.into_parts();
        let mut body = Some(body);
        let snapshot = self.storage.snapshot();
        let about = about::of(&parts, snapshot.types());
        let routed = Guarded::new(self.route(&parts, &mut body, &snapshot, &about)).await;
        let answer = match routed.unwrap_or_else(|| Err(fault())) {
            Ok(answer) => answer,
            Err(status) => of_status(&status, Format::Json),
        };
        if let Some(body) = body {
            body::leave(body, self.limits.body_timeout);
        }
        let (code, took) = (answer.status().as_u16(), started.elapsed());
        self.metrics.answered(&about, code, took);
        tracing::debug!(
            method = %parts.method, path = parts.uri.path(), code, took_ms = took.as_secs_f64() * 1e3, "request handled"
        );
        answer
    }

    async fn route(
        self: &Arc<Self>,
        parts: &Parts,
        body: &mut Option<Incoming>,
        snapshot: &Snapshot,
        about: &About,
    ) -> Result<Answer, Status> {
        if let Some(problem) = wrong_host(parts) {
            return Ok(of_bytes(400, "text/plain; charset=utf-8", problem));
        }
        if let Some(answer) = health::answer(self, parts) {
            return Ok(answer);
        }
        let caller = self.access.authorize(parts, &self.storage, snapshot)?;
        if let Some(answer) = health::answer_authorized(self, parts) {
            return Ok(answer);
        }
        if let Some(answer) = self.documents.answer(snapshot.types(), parts) {
            return Ok(answer);
        }
        if has_no_page(parts.method.as_str(), parts.uri.path(), snapshot.types()) {
            return Ok(of_bytes(404, "text/plain; charset=utf-8", NO_SUCH_PAGE));
        }
        // Read before the request counts as in flight, so that slow bodies do not.
        let body = match body.take() {
            Some(body) => body::read(body, self.limits.body_timeout, &self.bodies).await?,
            None => Bytes::new(),
        };
        let _permit = self.admit(about)?;
        if body.len() <= LARGE_BODY_BYTES {
            return self.evaluate_body(&caller, parts, body, snapshot, about).await;
        }
        // A few at a time, beside the threads that answer everybody else: health, leases, small requests.
        let _turn = self.large_bodies.acquire().await;
        aside(self.evaluate_body(&caller, parts, body, snapshot, about)).await
    }

    /// Reads a request, and does what it asks for.
    async fn evaluate_body(
        self: &Arc<Self>,
        caller: &Caller,
        parts: &Parts,
        body: Bytes,
        snapshot: &Snapshot,
        about: &About,
    ) -> Result<Answer, Status> {
        let content_type = header(&parts.headers, &CONTENT_TYPE);
        let (body, yaml_findings) = body::as_json(body, content_type).await?;
        let parsed = parse(
            &HttpParts {
                method: parts.method.as_str(),
                path: parts.uri.path(),
                query: parts.uri.query().unwrap_or_default(),
                content_type,
                accept: header(&parts.headers, &ACCEPT),
                user_agent: header(&parts.headers, &USER_AGENT),
                body: &body,
                yaml_findings: &yaml_findings,
            },
            snapshot.types(),
        )?;
        let format = parsed.format;
        let answer = self.perform(caller, parsed, snapshot, about).await;
        Ok(answer.unwrap_or_else(|status| of_status(&status, format)))
    }

    /// Counts a request as in flight, or refuses it with 429 if there are too many. Watches do not count, since they last.
    fn admit(&self, about: &About) -> Result<Option<(SemaphorePermit<'_>, crate::metrics::Guard)>, Status> {
        let (in_flight, kind) = match about.verb {
            "WATCH" => return Ok(None),
            "GET" | "LIST" => (&self.reads, RequestKind::readOnly),
            _ => (&self.writes, RequestKind::mutating),
        };
        match in_flight.try_acquire() {
            Ok(permit) => Ok(Some((permit, self.metrics.in_flight(kind)))),
            Err(_) => Err(too_many_requests()),
        }
    }

    async fn perform(
        self: &Arc<Self>,
        caller: &Caller,
        parsed: Parsed,
        snapshot: &Snapshot,
        about: &About,
    ) -> Result<Answer, Status> {
        let info = snapshot.types().get(&parsed.request.resource).cloned();
        match (parsed.watch.clone(), info) {
            (Some(options), Some(info)) => self.watch(parsed, options, info, about),
            (None, Some(info)) if is_plain_list(&parsed) => self.list(&parsed, &info, snapshot),
            (_, info) if parsed.request.verb.is_write() => self.write(caller, parsed, info).await,
            (_, info) => {
                let effect = evaluate(snapshot, snapshot.types(), caller.as_model(), &parsed.request);
                Ok(self.encode(&parsed, info.as_deref(), &effect.response))
            }
        }
    }

    /// A list whose items go out as they are stored.
    fn list(&self, parsed: &Parsed, info: &TypeInfo, snapshot: &Snapshot) -> Result<Answer, Status> {
        let older = self.older_snapshot(&parsed.request, snapshot);
        let snapshot = older.as_ref().unwrap_or(snapshot);
        let texts = Texts::of(snapshot, info);
        let list = list_from(&texts, info, &parsed.request)?;
        if list.continue_token.is_some() {
            self.storage.pin(snapshot);
        }
        let mut answer = with_body(200, JSON, AnswerBody::Pieces(Box::new(pieces(list))));
        add_warnings(&mut answer, &parsed.warnings);
        add_warnings(&mut answer, info.deprecation.as_slice());
        Ok(answer)
    }

    /// The state that the pages of one list share, or that a client asks for by its version.
    fn older_snapshot(&self, request: &Request, newest: &Snapshot) -> Option<Snapshot> {
        let options = &request.options;
        let token = options.continue_token.as_deref().and_then(|token| ContinueToken::decode(token).ok());
        let version = match token {
            Some(token) => token.version?,
            None if options.limit > 0 || options.resource_version_match.as_deref() == Some("Exact") => {
                options.resource_version.as_deref()?.parse().ok()?
            }
            None => return None,
        };
        if version == newest.version() { None } else { self.storage.at(version) }
    }

    fn watch(
        self: &Arc<Self>,
        parsed: Parsed,
        options: windlass_model::watch::WatchOptions,
        info: Arc<TypeInfo>,
        about: &About,
    ) -> Result<Answer, Status> {
        let (guard, events) = self.metrics.watch(about);
        let stream = crate::http::watch::start(WatchRequest {
            storage: self.storage.clone(),
            info,
            request: parsed.request,
            options,
            output: parsed.output,
            format: parsed.format,
            closing: self.closing.clone(),
            stall_timeout: self.limits.stall_timeout,
            sent: Box::new(move |count| {
                let _open = &guard;
                events.inc_by(count as u64);
            }),
        })?;
        let mut answer = with_body(200, parsed.format.watch_media_type(), AnswerBody::Stream(stream));
        add_warnings(&mut answer, &parsed.warnings);
        Ok(answer)
    }

    async fn write(
        &self,
        caller: &Caller,
        parsed: Parsed,
        info: Option<Arc<TypeInfo>>,
    ) -> Result<Answer, Status> {
        let request = &parsed.request;
        let snapshot = self.storage.snapshot();
        if let Some(response) = self.access.review(caller, &snapshot, request) {
            return Ok(self.encode(&parsed, info.as_deref(), &response));
        }
        let evaluate = |newest: &Snapshot| {
            let effect = evaluate(newest, newest.types(), caller.as_model(), request);
            caller.check_escalation(newest, request, effect)
        };
        if request.options.dry_run {
            return Ok(self.encode(&parsed, info.as_deref(), &evaluate(&snapshot).response));
        }
        let written = self.storage.write(evaluate).await;
        let Written { effect: Effect { response, changes, .. }, text } =
            written.map_err(|error| storage_failure(&error))?;
        definition_status::conditions_set(&self.storage, &changes).await;
        match text {
            Some(text) if parsed.output == Output::Object && parsed.format == Format::Json => {
                Ok(with_all_warnings(of_text(response.code, &text), &parsed, &response))
            }
            _ => Ok(self.encode(&parsed, info.as_deref(), &response)),
        }
    }

    fn encode(&self, parsed: &Parsed, info: Option<&TypeInfo>, response: &Response) -> Answer {
        let value = match info {
            Some(info) => present(response, parsed.output, info, clock::now()),
            None => Cow::Owned(response.to_value()),
        };
        let answer = match response.failure() {
            Some(status) => of_status(status, parsed.format),
            None => of_value(response.code, parsed.format, &value),
        };
        with_all_warnings(answer, parsed, response)
    }
}

fn with_all_warnings(mut answer: Answer, parsed: &Parsed, response: &Response) -> Answer {
    add_warnings(&mut answer, &parsed.warnings);
    add_warnings(&mut answer, &response.warnings);
    answer
}

/// Lists that need not be looked into go out as text.
fn is_plain_list(parsed: &Parsed) -> bool {
    let request = &parsed.request;
    request.verb == Verb::List
        && request.subresource.is_none()
        && request.name.is_none()
        && parsed.output == Output::Object
        && parsed.format == Format::Json
}

/// Evaluates a request by the rules of the model. If they panic, the client gets a 500 and the store goes on.
fn evaluate(
    snapshot: &Snapshot,
    types: &Types,
    caller: windlass_model::Caller<'_>,
    request: &Request,
) -> Effect {
    let effect = catch_unwind(AssertUnwindSafe(|| handle_as(snapshot, types, clock::now(), caller, request)));
    effect.unwrap_or_else(|_| fault().into())
}

fn fault() -> Status {
    Status::internal("the server has a fault and could not answer; its log says more")
}

fn storage_failure(error: &WriteError) -> Status {
    tracing::error!(%error, "write failed");
    let code = if matches!(error, WriteError::Full(_)) { 507 } else { 500 };
    Status::failure(code, Reason::InternalError, format!("the write was not stored: {error}"))
}

pub(crate) fn too_many_requests() -> Status {
    let message = "the server has received too many requests and has asked us to try again later";
    let mut status = Status::failure(429, Reason::TooManyRequests, message);
    status.details = Some(windlass_model::status::Details {
        retry_after_seconds: Some(1),
        ..windlass_model::status::Details::default()
    });
    status
}

/// Does what takes long beside the threads of the runtime, if it has several.
async fn aside<Output>(work: impl Future<Output = Output>) -> Output {
    let runtime = Handle::current();
    match runtime.runtime_flavor() {
        RuntimeFlavor::MultiThread => block_in_place(|| runtime.block_on(work)),
        _ => work.await,
    }
}

/// What is wrong with the `Host` header, in the words of Go's server. Whoever stands between could read two of them in another
/// way than this server does.
fn wrong_host(parts: &Parts) -> Option<&'static str> {
    match parts.headers.get_all(HOST).iter().count() {
        0 if parts.version == Version::HTTP_11 => Some("400 Bad Request: missing required Host header"),
        0 | 1 => None,
        _ => Some("400 Bad Request: too many Host headers"),
    }
}

/// A header as text, if it is there and is text.
pub(crate) fn header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
