//! A tap on the wire: it writes down what a client sends, and can make it fail.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use kube::client::Body;
use serde_json::Value;
use tokio::sync::watch;
use tower::BoxError;

type AnyBody = UnsyncBoxBody<Bytes, BoxError>;
type Rule = Box<dyn FnMut(&Sent) -> Fault + Send>;

/// A request that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
}

impl Sent {
    pub(crate) fn is_watch(&self) -> bool {
        self.target.contains("watch=true")
    }

    /// Whether a watch begins with it.
    pub(crate) fn is_list(&self) -> bool {
        self.method == "GET" && self.target.contains("limit=")
    }

    pub(crate) fn is_write(&self) -> bool {
        self.method != "GET"
    }

    /// Whether it writes a Kubernetes Event.
    pub(crate) fn is_event(&self) -> bool {
        self.target.contains("/events")
    }

    /// Whether it is a read or write of a reconcile, and no part of a watch.
    pub(crate) fn is_work(&self) -> bool {
        !self.is_watch() && !self.is_list() && !self.is_event()
    }
}

/// What becomes of a request.
pub(crate) enum Fault {
    /// It goes through.
    None,
    /// It is answered so, and goes nowhere.
    Answer { code: u16, retry_after: Option<u32>, body: Value },
    /// It never arrives, and nothing comes back.
    Swallowed,
    /// It is performed, but nothing comes back.
    AnswerLost,
}

/// Between a client and its server.
#[derive(Clone)]
pub(crate) struct Tap(Arc<Shared>);

struct Shared {
    sent: Mutex<Vec<Sent>>,
    rule: Mutex<Option<Rule>>,
    cuts: watch::Sender<u64>,
    received: Arc<AtomicUsize>,
    /// What came over watches since somebody began to listen.
    heard: Arc<Mutex<Option<Vec<u8>>>>,
}

impl Tap {
    pub(crate) fn new() -> Self {
        Tap(Arc::new(Shared {
            sent: Mutex::default(),
            rule: Mutex::default(),
            cuts: watch::Sender::new(0),
            received: Arc::default(),
            heard: Arc::default(),
        }))
    }

    /// A client that goes through this tap.
    pub(crate) fn on(&self, client: &kube::Client) -> kube::Client {
        let (shared, inner) = (Arc::clone(&self.0), client.clone());
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let (shared, inner) = (Arc::clone(&shared), inner.clone());
            async move { shared.pass(inner, request).await }
        });
        kube::Client::new(service, client.default_namespace())
    }

    /// Decides from now on what becomes of requests.
    pub(crate) fn rule(&self, rule: impl FnMut(&Sent) -> Fault + Send + 'static) {
        *lock(&self.0.rule) = Some(Box::new(rule));
    }

    /// Lets everything through again.
    pub(crate) fn no_rule(&self) {
        *lock(&self.0.rule) = None;
    }

    /// Breaks every connection over which a watch runs.
    pub(crate) fn cut_watches(&self) {
        self.0.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// What was sent since the last time, in order.
    pub(crate) fn take(&self) -> Vec<Sent> {
        std::mem::take(&mut *lock(&self.0.sent))
    }

    /// The last that was sent of such.
    pub(crate) fn last(&self, such: impl Fn(&Sent) -> bool) -> Option<Sent> {
        lock(&self.0.sent).iter().rev().find(|sent| such(sent)).cloned()
    }

    /// How many bytes came back in all.
    pub(crate) fn received(&self) -> usize {
        self.0.received.load(Ordering::Relaxed)
    }

    /// Keeps what comes over watches from now on.
    pub(crate) fn listen(&self) {
        *lock(&self.0.heard) = Some(Vec::new());
    }

    /// What came over watches since.
    pub(crate) fn heard(&self) -> String {
        String::from_utf8_lossy(lock(&self.0.heard).as_deref().unwrap_or_default()).into_owned()
    }

    /// How many of what was sent are such.
    pub(crate) fn count(&self, such: impl Fn(&Sent) -> bool) -> usize {
        lock(&self.0.sent).iter().filter(|sent| such(sent)).count()
    }
}

impl Shared {
    async fn pass(
        &self,
        inner: kube::Client,
        request: http::Request<Body>,
    ) -> Result<http::Response<AnyBody>, BoxError> {
        let target = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
        let sent = Sent { method: request.method().to_string(), target };
        lock(&self.sent).push(sent.clone());
        let fault = lock(&self.rule).as_mut().map_or(Fault::None, |rule| rule(&sent));
        match fault {
            Fault::None if sent.is_watch() => {
                let cuts = self.cuts.subscribe();
                Ok(inner.send(request).await?.map(|body| self.counted(self.overheard(until_cut(body, cuts)))))
            }
            Fault::None => {
                let whole = |body: Body| body.map_err(Into::into).boxed_unsync();
                Ok(inner.send(request).await?.map(|body| self.counted(whole(body))))
            }
            Fault::Answer { code, retry_after, body } => Ok(answer(code, retry_after, &body)),
            Fault::Swallowed => std::future::pending().await,
            Fault::AnswerLost => {
                inner.send(request).await?.into_body().collect().await?;
                std::future::pending().await
            }
        }
    }
}

impl Shared {
    /// A body that is kept, if somebody listens.
    fn overheard(&self, body: AnyBody) -> AnyBody {
        let heard = Arc::clone(&self.heard);
        let listen = move |frame: Frame<Bytes>| {
            if let (Some(heard), Some(data)) = (&mut *lock(&heard), frame.data_ref()) {
                heard.extend_from_slice(data);
            }
            frame
        };
        body.map_frame(listen).boxed_unsync()
    }

    /// A body whose bytes are counted as they come.
    fn counted(&self, body: AnyBody) -> AnyBody {
        let received = Arc::clone(&self.received);
        let count = move |frame: Frame<Bytes>| {
            received.fetch_add(frame.data_ref().map_or(0, Bytes::len), Ordering::Relaxed);
            frame
        };
        body.map_frame(count).boxed_unsync()
    }
}

fn answer(code: u16, retry_after: Option<u32>, body: &Value) -> http::Response<AnyBody> {
    let mut builder = http::Response::builder().status(code);
    if let Some(seconds) = retry_after {
        builder = builder.header(http::header::RETRY_AFTER, seconds);
    }
    let body = Full::new(Bytes::from(format!("{body}\n"))).map_err(|never| match never {});
    builder.body(body.boxed_unsync()).expect("an answer")
}

/// A body that breaks off when the watches are cut.
fn until_cut(body: Body, cuts: watch::Receiver<u64>) -> AnyBody {
    let frames = futures::stream::unfold(Some((body, cuts)), |going_on| async {
        let (mut body, mut cuts) = going_on?;
        tokio::select! {
            frame = body.frame() => match frame? {
                Ok(frame) => Some((Ok(frame), Some((body, cuts)))),
                Err(error) => Some((Err(BoxError::from(error)), None)),
            },
            _ = cuts.changed() => Some((Err("the connection was cut".into()), None)),
        }
    });
    StreamBody::new(frames).boxed_unsync()
}

fn lock<Guarded>(mutex: &Mutex<Guarded>) -> MutexGuard<'_, Guarded> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
