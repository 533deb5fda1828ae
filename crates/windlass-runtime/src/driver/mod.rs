//! The driver: performs what a reconcile asks for, from start to end.

mod cached;
mod contest;
mod memo;
mod skip;
mod states;
mod status_write;

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};
use tracing::{Instrument, Span};
use windlass::model::apply::overwritten;
use windlass::model::{Body, Reason, Request, Response, Status, Verb, object};
use windlass::{Answer, Ask, Bug, CallError, Contested, Controller, KindInfo, ObjectRef, Reconciled};
use windlass::{CoroutineState, Rival, Shortcut};

use crate::api::{self, Api};
use crate::informer::Informers;
use crate::operations::clock::now;
use crate::operations::entropy::random_bytes;
use crate::operations::leader::Leading;
use crate::operations::spans;
use crate::services::Services;
use crate::sharding::{Grant, InFlight, NOT_OWNED, as_last_written};

pub use contest::ContestSettings;
use contest::{Applied, Contests};
use memo::Memo;
use skip::Applying;
use states::States;
use status_write::StatusWrite;

/// After its timeout, a reconcile may still report it in the status of its parent, within this time.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// Performs asks for all controllers of a process.
#[derive(Clone)]
pub(crate) struct Driver {
    api: Api,
    informers: Arc<Informers>,
    services: Arc<Services>,
    time_limit: Duration,
    contests: Arc<Mutex<Contests>>,
    /// Whether this process leads, if only the leader may act.
    leading: Option<Leading>,
    /// What a reconcile of a sharded controller may do.
    grant: Option<Arc<Grant>>,
}

/// A reconcile that has ended, with everything that it asked.
pub(crate) struct Transcript {
    pub(crate) end: End,
    /// The states that ran, with the time that each took.
    pub(crate) states: Vec<(&'static str, Duration)>,
    /// Everything that it asked for, and the answers: with these it can be run again.
    pub(crate) exchanges: Vec<Exchange>,
    /// The length of the texts of all objects that it was answered with.
    pub(crate) read_length: usize,
}

/// How a reconcile ended, seen from outside.
#[derive(Debug)]
pub(crate) enum End {
    /// It came to its end.
    Ended(Box<Reconciled>),
    /// Its code has a bug, and it could not go on.
    Bug(Bug),
    /// It did not end, not even after its timeout.
    TimedOut,
}

/// One batch of asks with its answers.
pub(crate) struct Exchange {
    /// The state that asked.
    pub(crate) state: &'static str,
    pub(crate) asks: Vec<Ask>,
    pub(crate) answers: Vec<Answer>,
}

impl Transcript {
    /// The parent as the reconcile saw it first.
    pub(crate) fn parent(&self, kind: &KindInfo, key: &ObjectRef) -> Option<&Value> {
        let answers = self.exchanges.iter().flat_map(|exchange| &exchange.answers);
        let objects = answers.filter_map(|answer| match answer {
            Answer::Api(response) => response.as_object().map(|object| &**object),
            _ => None,
        });
        let is_parent = |object: &&Value| object["kind"] == *kind.kind && ObjectRef::of(object) == *key;
        objects.into_iter().find(is_parent)
    }
}

impl Driver {
    pub(crate) fn new(
        informers: Arc<Informers>,
        services: Arc<Services>,
        time_limit: Duration,
        contests: ContestSettings,
    ) -> Self {
        let contests = Arc::new(Mutex::new(Contests::new(contests)));
        Driver {
            api: informers.api().clone(),
            informers,
            services,
            time_limit,
            contests,
            leading: None,
            grant: None,
        }
    }

    /// Acts only while this process leads. A process that was paused and resumes has its reconciles where they were;
    /// they must not act before it has found out that its lease is over.
    pub(crate) fn only_while(self, leading: Option<Leading>) -> Self {
        Driver { leading, ..self }
    }

    /// Acts only as far as a grant permits, and each request for no longer than the grant's protocol reckons with.
    pub(crate) fn granted(self, grant: Option<Grant>) -> Self {
        let Some(grant) = grant else { return self };
        let api = self.api.clone().request_timeout(grant.flight());
        Driver { api, grant: Some(Arc::new(grant)), ..self }
    }

    /// The requests of this driver.
    pub(crate) fn api(&self) -> &Api {
        &self.api
    }

    /// Runs a reconcile to its end.
    pub(crate) async fn drive(
        &self,
        controller: &Controller,
        target: &ObjectRef,
        create_missing: bool,
    ) -> Transcript {
        let mut coroutine = controller.reconcile(target, create_missing);
        let (mut answers, mut exchanges) = (Vec::new(), Vec::new());
        let (memo, mut states) = (Memo::default(), States::default());
        let deadline = Instant::now() + self.time_limit;
        let end = loop {
            let step = coroutine.resume(std::mem::take(&mut answers));
            states.enter(coroutine.state());
            let asks = match step {
                CoroutineState::End(ended) => break End::Ended(Box::new(ended)),
                CoroutineState::Bug(bug) => break End::Bug(bug),
                CoroutineState::Ask(asks) => asks,
            };
            if Instant::now() >= deadline + LAST_WORDS {
                break End::TimedOut;
            }
            let performed = asks.iter().map(|ask| self.perform_in_time(ask, deadline, &memo));
            answers = join_all(performed).instrument(states.span()).await;
            exchanges.push(Exchange { state: coroutine.state(), asks, answers: answers.clone() });
        };
        Transcript { end, states: states.finish(), exchanges, read_length: memo.length() }
    }

    /// Performs an ask. After the timeout of the reconcile, the answer is a failure, and the reconcile ends as after any
    /// failure: with its outputs recorded and the reason in the status.
    async fn perform_in_time(&self, ask: &Ask, deadline: Instant, memo: &Memo) -> Answer {
        let limit = if Instant::now() < deadline { deadline } else { deadline + LAST_WORDS };
        match timeout_at(limit, self.perform(ask, memo)).await {
            Ok(answer) => answer,
            Err(_) => self.too_late(ask),
        }
    }

    fn too_late(&self, ask: &Ask) -> Answer {
        let waiting_for = match ask {
            Ask::Api { request, .. } => format!("{} {}", request.verb.name(), request.resource.plural),
            Ask::Call { service, .. } => service.clone(),
            Ask::Now => return Answer::Now(now()),
            Ask::Random { .. } => return Answer::Random(random_bytes()),
        };
        let limit = self.time_limit;
        let message = format!("the reconcile took longer than {limit:?}; it was waiting for {waiting_for}");
        ask.held_back(504, Reason::Timeout, &message)
    }

    async fn perform(&self, ask: &Ask, memo: &Memo) -> Answer {
        match ask {
            _ if ask.has_effect() && self.is_deposed() => held_back(ask, DEPOSED),
            _ if ask.has_effect() && !self.is_granted() => held_back(ask, NOT_OWNED),
            Ask::Api { request, shortcut, .. } => Answer::Api(self.request(request, *shortcut, memo).await),
            Ask::Call { service, request } => {
                let span = spans::call(&Span::current(), service);
                self.call(ask, service, request).instrument(span).await
            }
            Ask::Now => Answer::Now(now()),
            Ask::Random { .. } => Answer::Random(random_bytes()),
        }
    }

    /// Calls a service. A sharded controller waits for it no longer than for any other request.
    async fn call(&self, ask: &Ask, service: &str, request: &Value) -> Answer {
        let calling = self.services.call(service, request.clone());
        let Some(grant) = &self.grant else { return Answer::Call(calling.await) };
        let flight = grant.flight_guard();
        if flight.refusal().is_some() {
            return held_back(ask, NOT_OWNED);
        }
        let limit = grant.flight();
        let called = tokio::time::timeout(limit, grant.fencing(calling)).await;
        let called = called.unwrap_or_else(|_| Err(CallError::Timeout { service: service.to_owned() }));
        if !matches!(called, Err(CallError::Timeout { .. } | CallError::Unavailable { .. })) {
            flight.answered();
        }
        Answer::Call(called)
    }

    async fn request(&self, request: &Request, shortcut: Shortcut, memo: &Memo) -> Response {
        let request =
            &*self.grant.as_ref().map_or(Cow::Borrowed(request), |grant| grant.stamp().labelled(request));
        match shortcut {
            Shortcut::None => {
                if let Some(writing) = StatusWrite::new(&self.informers, request) {
                    return self.write_status(&writing, request, memo).await;
                }
            }
            Shortcut::Cache => {
                if let Some(response) = cached::answer(&self.informers, self.grant.as_deref(), request, memo)
                {
                    return response;
                }
            }
            Shortcut::SkipIfUnchanged => {
                if let Some(applying) = Applying::new(&self.informers, self.grant.as_deref(), request) {
                    return self.apply(&applying, request, memo).await;
                }
            }
        }
        self.send(request, memo).await
    }

    /// Sends an apply, unless it would change nothing, or another writer keeps changing it back.
    async fn apply(&self, applying: &Applying<'_>, request: &Request, memo: &Memo) -> Response {
        let unchanged = applying.unchanged(memo);
        let applied = Applied::new(&request.resource, &applying.key, applying.manager);
        if let Some(contested) = self.held(&applied, applying.hash, unchanged.is_some()) {
            return Response::status(contested.status(request));
        }
        if let Some(unchanged) = unchanged {
            return Response::object(unchanged);
        }
        let (before, missing) = (applying.applied_before(memo), applying.is_missing());
        let response = self.send(request, memo).await;
        let Some(after) = response.as_object() else { return response };
        applying.remember(after);
        let contested = match before {
            _ if missing => self.contests().made(&applied, applying.hash, Instant::now().into_std()),
            None => None,
            Some(before) => {
                // What an apply has set that it had set before was changed back by another writer. Who wrote last, and at
                // which epoch, is no one's to fight about.
                let overwritten = overwritten(&as_last_written(&before, after), after, applying.manager);
                if overwritten.is_empty() {
                    self.contests().settled(&applied);
                    return response;
                }
                self.corrected(&applied, applying.hash, Rival::of(&overwritten))
            }
        };
        contested.map_or(response, |contested| Response::status(contested.status(request)))
    }

    /// Writes a status, unless another writer keeps changing it back.
    async fn write_status(&self, writing: &StatusWrite<'_>, request: &Request, memo: &Memo) -> Response {
        let applied = Applied::new(&request.resource, &writing.key, writing.manager);
        if let Some(contested) = self.held(&applied, writing.hash, false) {
            return Response::status(contested.status(request));
        }
        let rivals = writing.rivals(memo);
        let response = self.send(request, memo).await;
        let Some(after) = response.as_object() else { return response };
        writing.remember(after);
        let contested = rivals.and_then(|rivals| self.corrected(&applied, writing.hash, rivals));
        contested.map_or(response, |contested| Response::status(contested.status(request)))
    }

    fn held(&self, applied: &Applied, hash: u64, unchanged: bool) -> Option<Contested> {
        self.contests().held(applied, hash, unchanged, Instant::now().into_std())
    }

    fn corrected(&self, applied: &Applied, hash: u64, rivals: Vec<Rival>) -> Option<Contested> {
        self.contests().corrected(applied, hash, rivals, Instant::now().into_std())
    }

    /// Nothing that runs under the lock panics in the middle of a change.
    fn contests(&self) -> MutexGuard<'_, Contests> {
        self.contests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether only a leader may act, and this process is none.
    fn is_deposed(&self) -> bool {
        self.leading.as_ref().is_some_and(|leading| !leading.now())
    }

    /// Whether the grant of a sharded controller, if this is one, permits to act now.
    fn is_granted(&self) -> bool {
        self.grant.as_ref().is_none_or(|grant| grant.is_valid())
    }

    /// Sends a request, and puts the response to a write into the caches.
    async fn send(&self, request: &Request, memo: &Memo) -> Response {
        let span = spans::request(&Span::current(), request);
        let grant = self.grant.as_ref().filter(|_| request.verb.is_write() && !request.options.dry_run);
        let flight = grant.map(|grant| grant.flight_guard());
        let refusal = || match &flight {
            _ if request.verb.is_write() && self.is_deposed() => Some(withheld(DEPOSED)),
            flight => flight.as_ref().and_then(InFlight::refusal),
        };
        let stamped = grant.map_or(Cow::Borrowed(request), |grant| grant.stamp().stamped(request));
        let sent = self.api.answered_while(&stamped, api::Form::Whole, &refusal);
        let answered = sent.instrument(span.clone()).await;
        if answered.has_arrived
            && let Some(flight) = flight
        {
            flight.answered();
        }
        let response = api::read(request, &answered);
        memo.received(answered.body.len());
        spans::answered(&span, &response);
        if !request.verb.is_write() || request.options.dry_run || response.failure().is_some() {
            return response;
        }
        match &response.body {
            Body::Object(object) if request.verb != Verb::Delete || object::is_deleting(object) => {
                if let Ok(text) = std::str::from_utf8(&answered.body) {
                    let known = |text: &Arc<str>| memo.known(text);
                    memo.add(self.informers.wrote(&request.resource, object, text, known), object);
                }
            }
            Body::Object(_) | Body::Status(_) if request.verb == Verb::Delete => {
                if let Some(name) = &request.name {
                    let key = ObjectRef::new(request.namespace.as_deref().unwrap_or_default(), name);
                    let uid = request.options.preconditions.uid.as_deref();
                    self.contests().unmade(&request.resource, &key);
                    self.informers.deleted(&request.resource, &key, uid);
                }
            }
            _ => {}
        }
        response
    }
}

const DEPOSED: &str = "leader election lost: this process no longer writes";

/// The answer to what this process may not do any more.
fn held_back(ask: &Ask, why: &str) -> Answer {
    ask.held_back(503, Reason::ServiceUnavailable, why)
}

/// The same for a request that was not sent again, since the process lost the right to while it waited.
fn withheld(why: &str) -> Status {
    Status::failure(503, Reason::ServiceUnavailable, why)
}

#[cfg(test)]
mod tests;
