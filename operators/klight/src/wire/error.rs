//! How a call to a peer can fail, in the ways that callers distinguish.

use std::error::Error;
use std::time::Duration;

use tonic::{Code, Status};

use super::hints::{network_said, write_network};

/// The code for a refusal because of another network, whose metadata say which. Not the code that blames a contact, and
/// not one after which a call is tried again.
const OTHER_NETWORK: Code = Code::PermissionDenied;

/// A call to a peer that came to nothing.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CallError {
    /// The address cannot be one.
    #[error("{address:?} is no address of a peer: {problem}")]
    Address {
        /// What was given.
        address: String,
        /// What is wrong with it.
        problem: String,
    },
    /// There is no trusting this authority.
    #[error("the authority to trust cannot be used: {problem}")]
    Authority {
        /// What is wrong with it.
        problem: String,
    },
    /// The network that a join is to be about cannot be one.
    #[error("{network:?} is no network: {problem}")]
    Network {
        /// What was given.
        network: String,
        /// What is wrong with it.
        problem: String,
    },
    /// No peer could be reached there, or the connection broke.
    #[error("cannot reach the peer at {address}: {problem}")]
    Unreachable {
        /// Who was called.
        address: String,
        /// What the transport says.
        problem: String,
    },
    /// There was no answer in time.
    #[error("the peer at {address} did not answer within {deadline:?}")]
    Deadline {
        /// Who was called.
        address: String,
        /// How long it had.
        deadline: Duration,
    },
    /// The peer answered with an error.
    #[error("the peer at {address} answers: {message} ({code:?})")]
    Refused {
        /// Who was called.
        address: String,
        /// The kind of error.
        code: Code,
        /// What the peer says.
        message: String,
    },
    /// The peer that was asked to let another in is of another network; or a peer that was asked to join says so of its
    /// contact. Both are healthy.
    #[error("the peer at {address} answers: {message}")]
    OtherNetwork {
        /// Who was called.
        address: String,
        /// The network that does not match.
        network: String,
        /// What the peer says.
        message: String,
    },
    /// The answer was more than was asked for, or made no sense.
    #[error("the peer at {address} sent {problem}")]
    Answer {
        /// Who was called.
        address: String,
        /// What is wrong with the answer.
        problem: String,
    },
}

impl CallError {
    /// Whether a peer that was asked to join says that its contact was at fault: unreachable, silent, or sending invalid
    /// data. The peer that was asked is healthy. A contact of another network is not at fault: see
    /// [`CallError::OtherNetwork`].
    pub fn blames_contact(&self) -> bool {
        matches!(self, CallError::Refused { code: Code::FailedPrecondition, .. })
    }

    /// Whether a peer of ours says that whom the call was meant for is not at its address any more.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(self, CallError::OtherNetwork { .. } | CallError::Refused { code: Code::NotFound, .. })
    }

    pub(super) fn from_status(address: &str, status: &Status) -> CallError {
        let address = address.to_owned();
        if status.code() == OTHER_NETWORK
            && let Some(network) = network_said(status.metadata())
        {
            return CallError::OtherNetwork { address, network, message: status.message().to_owned() };
        }
        // A status with a source was made on this side of the connection.
        match status.source() {
            Some(source) => CallError::Unreachable { address, problem: innermost(source) },
            None => CallError::Refused { address, code: status.code(), message: status.message().to_owned() },
        }
    }

    /// The refusal that the other side reads as [`CallError::OtherNetwork`].
    pub(crate) fn other_network(network: &str, message: String) -> Status {
        let mut status = Status::new(OTHER_NETWORK, message);
        write_network(status.metadata_mut(), Some(network));
        status
    }

    pub(crate) fn code(&self) -> Option<Code> {
        match self {
            CallError::Refused { code, .. } => Some(*code),
            _ => None,
        }
    }
}

/// The transport says "transport error", and its cause what happened.
pub(super) fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}
