//! What a reconcile asks of whoever drives it, and the answers: the only way in and out of pure code.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_model::{Reason, Request, Response, Status, Timestamp};

use crate::detail::Detail;
use crate::outcome::CallError;
use crate::random::RandomBytes;

/// One thing that a reconcile cannot do by itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Ask {
    /// Send a request to the API.
    Api {
        /// The request.
        request: Box<Request>,
        /// What the driver may do instead of sending it.
        shortcut: Shortcut,
        /// How much of the answer is looked at.
        #[serde(default, skip_serializing_if = "Detail::is_whole")]
        detail: Detail,
    },
    /// Call an external service.
    Call {
        /// Which service.
        service: String,
        /// What to say to it.
        request: Value,
    },
    /// The current time.
    Now,
    /// Draw random bits.
    Random {
        /// Whether they must not be written down anywhere.
        secret: bool,
    },
}

/// What a driver that has a watch cache may do instead of sending a request, and still answer that it went well.
///
/// Whatever the shortcut, a driver may hold a write back: because this process does not lead, because another writer
/// keeps changing the object back, or because the time of the reconcile is over. It then answers with a failure
/// ([`Ask::held_back`], or [`Contested::status`](crate::Contested::status)), so a reconcile never takes for written what
/// was not. As with any failure of a network, a failure is no proof that nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Shortcut {
    /// Nothing: only the API itself says that it went well. (Where a plan is drawn up, a dry run of the API.)
    None,
    /// Answer a read from the cache.
    Cache,
    /// Answer a write with the cached object, if the write would not change it.
    SkipIfUnchanged,
}

/// The answer to an [`Ask`], of the same kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Answer {
    /// What the API said.
    Api(Response),
    /// What the service said.
    Call(Result<Value, CallError>),
    /// What time it is.
    Now(Timestamp),
    /// What was drawn.
    Random(RandomBytes),
}

impl Ask {
    /// Whether performing it can change anything outside the reconcile.
    pub fn has_effect(&self) -> bool {
        match self {
            Ask::Api { request, .. } => request.verb.is_write(),
            Ask::Call { .. } => true,
            Ask::Now | Ask::Random { .. } => false,
        }
    }

    /// The answer to what the driver holds back: a failure, with this code and message.
    ///
    /// # Panics
    /// If the code is not that of a failure, or this asks for the time or a random value, which are never held back.
    pub fn held_back(&self, code: u16, reason: Reason, message: &str) -> Answer {
        match self {
            Ask::Call { service, .. } if reason == Reason::Timeout => {
                Answer::Call(Err(CallError::Timeout { service: service.clone() }))
            }
            Ask::Call { service, .. } => {
                let (service, message) = (service.clone(), message.to_owned());
                Answer::Call(Err(CallError::Unavailable { service, message }))
            }
            Ask::Now | Ask::Random { .. } => {
                unreachable!("the time and random values change nothing, so they are never held back")
            }
            Ask::Api { .. } => {
                assert!(code >= 400, "what is held back has failed: {code}");
                Answer::Api(Response::status(Status::failure(code, reason, message)))
            }
        }
    }

    /// Whether an answer is of the kind that this asks for.
    pub fn fits(&self, answer: &Answer) -> bool {
        self.kind().fits(answer)
    }

    pub(crate) fn kind(&self) -> AskKind {
        match self {
            Ask::Api { .. } => AskKind::Api,
            Ask::Call { .. } => AskKind::Call,
            Ask::Now => AskKind::Now,
            Ask::Random { .. } => AskKind::Random,
        }
    }
}

/// Which kind of thing is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AskKind {
    Api,
    Call,
    Now,
    Random,
}

impl AskKind {
    pub(crate) fn fits(self, answer: &Answer) -> bool {
        let kind = match answer {
            Answer::Api(_) => AskKind::Api,
            Answer::Call(_) => AskKind::Call,
            Answer::Now(_) => AskKind::Now,
            Answer::Random(_) => AskKind::Random,
        };
        self == kind
    }
}
