//! What a reconcile asks of whoever drives it, and the answers: the only way in and out of pure code.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_model::{Request, Response, Timestamp};

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
    },
    /// Call an external service.
    Call {
        /// Which service.
        service: String,
        /// What to say to it.
        request: Value,
    },
    /// Tell the time.
    Now,
    /// Draw random bits.
    Random {
        /// Whether they must not be written down anywhere.
        secret: bool,
    },
}

/// What a driver that has a watch cache may do instead of sending a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Shortcut {
    /// Nothing: the request must reach the API.
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
