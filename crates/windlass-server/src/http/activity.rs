//! What goes on on a connection: one without requests, or whose client takes nothing, is not kept.

use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::{Instant, sleep};

use crate::http::answer::AnswerBody;

/// Number of times that a connection is checked within its shortest timeout, which is late by as much of it.
const LOOKS: u32 = 20;

/// The requests of one connection.
pub(crate) struct Activity {
    begun: Instant,
    open: Mutex<Open>,
}

struct Open {
    next: u64,
    requests: HashMap<u64, Arc<Progress>>,
    /// When the last request ended, in milliseconds of this connection.
    idle_since: u64,
    /// Since when there is something of a request that is not there yet. The first one is expected from the beginning.
    begun_since: Option<u64>,
}

/// Timeouts of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    /// Until a request that has begun is complete, and until the first one.
    pub(crate) begin: Duration,
    /// Without any request.
    pub(crate) idle: Duration,
    /// While the client takes nothing.
    pub(crate) stall: Duration,
}

/// How far an answer has come.
struct Progress {
    /// Since when the client could take something, in milliseconds of the connection.
    waiting_since: AtomicU64,
    /// Set by a watch that has given up, since the client takes nothing.
    given_up: OnceLock<Arc<AtomicBool>>,
}

/// The server has nothing to send.
const NOT_WAITING: u64 = u64::MAX;

/// Why a connection is not kept.
#[derive(Debug, PartialEq)]
pub(crate) enum Misuse {
    /// There is no request, or only a part of one, and has not been for a while.
    Idle,
    /// There is something to send, and the client does not take it.
    Stalled,
}

impl Activity {
    pub(crate) fn new() -> Arc<Self> {
        let open = Open { next: 0, requests: HashMap::new(), idle_since: 0, begun_since: Some(0) };
        Arc::new(Activity { begun: Instant::now(), open: Mutex::new(open) })
    }

    /// Counts a request as open until what is returned is dropped.
    pub(crate) fn request(self: &Arc<Self>) -> OpenRequest {
        let waiting_since = AtomicU64::new(NOT_WAITING);
        let progress = Arc::new(Progress { waiting_since, given_up: OnceLock::new() });
        let mut open = self.open();
        let number = open.next;
        open.next += 1;
        open.begun_since = None;
        open.requests.insert(number, Arc::clone(&progress));
        OpenRequest { activity: Arc::clone(self), number, progress }
    }

    /// Takes note that the client has sent something.
    pub(crate) fn heard(&self) {
        let now = self.now();
        let mut open = self.open();
        if open.requests.is_empty() {
            open.begun_since.get_or_insert(now);
        }
    }

    /// Returns as soon as the connection should not be kept.
    pub(crate) async fn misuse(&self, timeouts: Timeouts) -> Misuse {
        loop {
            sleep(timeouts.begin.min(timeouts.idle).min(timeouts.stall) / LOOKS).await;
            if let Some(misuse) = self.look(timeouts) {
                return misuse;
            }
        }
    }

    fn look(&self, Timeouts { begin, idle, stall }: Timeouts) -> Option<Misuse> {
        let now = self.now();
        let longer =
            |since: u64, timeout: Duration| Duration::from_millis(now.saturating_sub(since)) > timeout;
        let open = self.open();
        if open.requests.is_empty() {
            let too_long = match open.begun_since {
                Some(since) => longer(since, begin),
                None => longer(open.idle_since, idle),
            };
            return too_long.then_some(Misuse::Idle);
        }
        let stalled = |progress: &Arc<Progress>| {
            let since = progress.waiting_since.load(Ordering::Relaxed);
            let given_up = progress.given_up.get().is_some_and(|given_up| given_up.load(Ordering::Relaxed));
            given_up || since != NOT_WAITING && longer(since, stall)
        };
        open.requests.values().any(stalled).then_some(Misuse::Stalled)
    }

    fn now(&self) -> u64 {
        self.begun.elapsed().as_millis().try_into().unwrap_or(NOT_WAITING - 1)
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is being answered.
pub(crate) struct OpenRequest {
    activity: Arc<Activity>,
    number: u64,
    progress: Arc<Progress>,
}

impl OpenRequest {
    /// Follows an answer on its way out.
    pub(crate) fn answered(self, body: AnswerBody) -> Followed {
        self.waits_for_client();
        if let AnswerBody::Stream(stream) = &body {
            // A request is answered once, so nothing is there yet.
            let _ = self.progress.given_up.set(Arc::clone(&stream.given_up));
        }
        Followed { body, request: self }
    }

    fn waits_for_client(&self) {
        self.progress.waiting_since.store(self.activity.now(), Ordering::Relaxed);
    }

    fn waits_for_nothing(&self) {
        self.progress.waiting_since.store(NOT_WAITING, Ordering::Relaxed);
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        let now = self.activity.now();
        let mut open = self.activity.open();
        open.requests.remove(&self.number);
        open.idle_since = now;
    }
}

/// A body that takes note of when it was last asked for more.
pub(crate) struct Followed {
    body: AnswerBody,
    request: OpenRequest,
}

impl Body for Followed {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Followed { body, request } = self.get_mut();
        let polled = Pin::new(body).poll_frame(context);
        match polled {
            Poll::Ready(_) => request.waits_for_client(),
            Poll::Pending => request.waits_for_nothing(),
        }
        polled
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    const TIMEOUTS: Timeouts = Timeouts {
        begin: Duration::from_secs(4),
        idle: Duration::from_secs(20),
        stall: Duration::from_secs(8),
    };

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_requests_is_idle() {
        let activity = Activity::new();
        let begun = Instant::now();
        assert_eq!(activity.misuse(TIMEOUTS).await, Misuse::Idle);
        assert!(begun.elapsed() < TIMEOUTS.begin * 2, "the first request is expected soon");
        let request = activity.request();
        let misuse = tokio::time::timeout(TIMEOUTS.idle * 9, activity.misuse(TIMEOUTS)).await;
        assert!(misuse.is_err(), "an answer may take long");
        drop(request);
        sleep(TIMEOUTS.begin * 2).await;
        assert_eq!(activity.look(TIMEOUTS), None, "the next request may come later");
        assert_eq!(activity.misuse(TIMEOUTS).await, Misuse::Idle);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_has_begun_is_expected_soon() {
        let activity = Activity::new();
        drop(activity.request());
        activity.heard();
        sleep(TIMEOUTS.begin / 2).await;
        activity.heard();
        assert_eq!(activity.look(TIMEOUTS), None);
        sleep(TIMEOUTS.begin).await;
        assert_eq!(activity.look(TIMEOUTS), Some(Misuse::Idle), "one byte now and then is not enough");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_is_stalled() {
        let activity = Activity::new();
        let body = AnswerBody::Whole(Some(Bytes::from_static(b"answer")));
        let mut body = activity.request().answered(body);
        sleep(TIMEOUTS.stall / 2).await;
        assert_eq!(activity.look(TIMEOUTS), None);
        body.frame().await.expect("a frame").expect("data");
        sleep(TIMEOUTS.stall / 2 + TIMEOUTS.stall / 4).await;
        assert_eq!(activity.look(TIMEOUTS), None);
        assert_eq!(activity.misuse(TIMEOUTS).await, Misuse::Stalled);
    }
}
