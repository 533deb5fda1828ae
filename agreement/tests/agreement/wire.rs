//! The proxy between controller processes and the API server: it holds requests until it is said what becomes of them.
//!
//! Lists and watches that fill caches go through at once.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Error, Result};
use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::http::header::{ACCEPT, CONTENT_TYPE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};
use tokio::task::AbortHandle;

use crate::http::{Answered, Sent, Target};

/// Between all processes of a world and its API server.
#[derive(Clone)]
pub(crate) struct Wire {
    server: Target,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    /// Requests whose senders wait, by number: the order in which they came.
    held: BTreeMap<u64, Held>,
    next: u64,
    /// Whether everything goes through.
    open: bool,
    /// The connections of each process over which watches run.
    watches: Vec<(usize, AbortHandle)>,
}

/// A request whose sender waits for the answer.
struct Held {
    process: usize,
    sent: Sent,
    /// What the server has answered, once per delivery.
    answers: Vec<Answered>,
    /// Dropped, it breaks the sender's connection.
    verdict: oneshot::Sender<Answered>,
}

/// What can be known of a request that is held.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub(crate) id: u64,
    pub(crate) sent: Sent,
    pub(crate) is_delivered: bool,
}

type Body = BoxBody<Bytes, Error>;

impl Wire {
    pub(crate) fn new(server: Target) -> Self {
        Wire { server, shared: Arc::default() }
    }

    /// Listens for a process.
    pub(crate) async fn listen(&self, process: usize) -> std::io::Result<SocketAddr> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let wire = self.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                wire.serve(process, stream);
            }
        });
        Ok(address)
    }

    fn serve(&self, process: usize, stream: TcpStream) {
        let wire = self.clone();
        let service = service_fn(move |request| {
            let wire = wire.clone();
            async move { wire.pass(process, request).await }
        });
        tokio::spawn(async move {
            // A connection that breaks is what this proxy is for.
            let _broken = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }

    async fn pass(&self, process: usize, request: Request<Incoming>) -> Result<Response<Body>> {
        let (head, body) = request.into_parts();
        let header = |name| head.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let sent = Sent {
            method: head.method.clone(),
            target: head.uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
            accept: header(ACCEPT),
            content_type: header(CONTENT_TYPE),
            body: body.collect().await?.to_bytes(),
        };
        if fills_a_cache(&sent) {
            let (response, connection) = self.server.open(&sent).await?;
            self.state().watches.push((process, connection));
            return Ok(response.map(|body| body.map_err(Error::from).boxed()));
        }
        let Some(verdict) = self.hold(process, &sent) else {
            return Ok(response(self.server.ask(&sent).await?));
        };
        // An error breaks the connection: that is what a lost answer looks like.
        Ok(response(verdict.await.context("the answer is lost")?))
    }

    /// Holds a request, unless everything goes through.
    fn hold(&self, process: usize, sent: &Sent) -> Option<oneshot::Receiver<Answered>> {
        let mut state = self.state();
        if state.open {
            return None;
        }
        let (verdict, receiver) = oneshot::channel();
        let id = state.next;
        state.next += 1;
        state.held.insert(id, Held { process, sent: sent.clone(), answers: Vec::new(), verdict });
        drop(state);
        self.shared.changed.notify_waiters();
        Some(receiver)
    }

    /// The requests of a process that are held, in the order in which they came.
    pub(crate) fn waiting(&self, process: usize) -> Vec<Waiting> {
        let state = self.state();
        let held = state.held.iter().filter(|(_, held)| held.process == process);
        held.map(|(id, held)| Waiting {
            id: *id,
            sent: held.sent.clone(),
            is_delivered: !held.answers.is_empty(),
        })
        .collect()
    }

    /// Waits until a request comes, but not for long.
    pub(crate) async fn next_request(&self, at_most: Duration) {
        let _elapsed = tokio::time::timeout(at_most, self.shared.changed.notified()).await;
    }

    /// Sends a request to the server that no one waits for.
    pub(crate) async fn deliver_sent(&self, sent: &Sent) -> Result<Answered> {
        self.server.ask(sent).await
    }

    /// Sends a held request to the server. Its answer is held.
    pub(crate) async fn deliver(&self, id: u64) -> Result<()> {
        let Some(sent) = self.state().held.get(&id).map(|held| held.sent.clone()) else { return Ok(()) };
        let answered = self.server.ask(&sent).await?;
        if let Some(held) = self.state().held.get_mut(&id) {
            held.answers.push(answered);
        }
        Ok(())
    }

    /// Passes an answer on: the one with this code, if there are several.
    pub(crate) fn answer(&self, id: u64, code: Option<u16>) {
        let Some(mut held) = self.state().held.remove(&id) else { return };
        let wanted = held.answers.iter().position(|answered| Some(answered.code.as_u16()) == code);
        if !held.answers.is_empty() {
            // Whoever was killed does not listen any more.
            let _gone = held.verdict.send(held.answers.swap_remove(wanted.unwrap_or(0)));
        }
    }

    /// Breaks the connection of whoever waits.
    pub(crate) fn lose(&self, id: u64) {
        self.state().held.remove(&id);
    }

    /// Answers as an API server does that is too busy; the request goes nowhere.
    pub(crate) fn refuse(&self, id: u64) {
        let message = "the server is currently unable to handle the request";
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": "ServiceUnavailable", "code": 503,
        });
        let refused = Answered {
            code: StatusCode::SERVICE_UNAVAILABLE,
            content_type: "application/json".to_owned(),
            body: status.to_string().into(),
        };
        if let Some(held) = self.state().held.remove(&id) {
            let _gone = held.verdict.send(refused);
        }
    }

    /// Forgets what a process waits for: it is dead.
    pub(crate) fn forget(&self, process: usize) {
        let mut state = self.state();
        state.held.retain(|_, held| held.process != process);
        state.watches.retain(|(watcher, _)| *watcher != process);
    }

    /// Breaks the watches of a process.
    pub(crate) fn break_watches(&self, process: usize) {
        let mut state = self.state();
        state.watches.iter().filter(|(watcher, _)| *watcher == process).for_each(|(_, it)| it.abort());
        state.watches.retain(|(watcher, _)| *watcher != process);
    }

    /// From now on everything goes through, and so does what is held.
    pub(crate) async fn open(&self) -> Result<()> {
        let held: Vec<(u64, bool)> = {
            let mut state = self.state();
            state.open = true;
            state.held.iter().map(|(id, held)| (*id, held.answers.is_empty())).collect()
        };
        for (id, is_new) in held {
            if is_new {
                self.deliver(id).await?;
            }
            self.answer(id, None);
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a request is a list or a watch that a cache begins with.
fn fills_a_cache(sent: &Sent) -> bool {
    !sent.is_write() && (sent.target.contains("watch=true") || sent.target.contains("limit="))
}

fn response(answered: Answered) -> Response<Body> {
    let body = Full::new(answered.body).map_err(|never| match never {}).boxed();
    let mut response = Response::new(body);
    *response.status_mut() = answered.code;
    if let Ok(content_type) = answered.content_type.parse() {
        response.headers_mut().insert(CONTENT_TYPE, content_type);
    }
    response
}
