//! How etcd can fail, and what to do about it.

use std::error::Error;
use std::time::Duration;

use tonic::{Code, ConnectError, Status};

/// A call to etcd that came to nothing. The text says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EtcdError {
    /// The address cannot be one.
    #[error("{address:?} is no address of etcd: {problem}; write etcd://HOST:PORT[,HOST:PORT...][/PREFIX]")]
    Address {
        /// What was given.
        address: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The certificates cannot be used.
    #[error("TLS to etcd cannot be used: {problem}")]
    Tls {
        /// What is wrong with them.
        problem: String,
    },
    /// The name of a controller type cannot be one.
    #[error("{controller_type:?} is no controller type: it must not be empty, and have no slash")]
    ControllerType {
        /// What was given.
        controller_type: String,
    },
    /// The number of slots cannot be one.
    #[error(transparent)]
    Slots(#[from] windlass_shard::InvalidSlotCount),
    /// None of the endpoints could be reached, or the connection broke.
    #[error("cannot reach etcd at {address}: {problem}; check that it runs, and that this address is right")]
    Unreachable {
        /// Who was called.
        address: String,
        /// What the transport says.
        problem: String,
    },
    /// There was no answer in time.
    #[error(
        "etcd at {address} did not answer within {deadline:?}; it may have no quorum, or a slow disk: see \
         `etcdctl endpoint status --cluster`"
    )]
    Deadline {
        /// Who was called.
        address: String,
        /// How long it had.
        deadline: Duration,
    },
    /// The member is there, and cannot serve: it has no leader, or the leader changes.
    #[error(
        "etcd at {address} cannot serve now: {message}; if this goes on, it has no quorum: see `etcdctl endpoint status \
         --cluster`"
    )]
    Unavailable {
        /// Who was called.
        address: String,
        /// What etcd says.
        message: String,
    },
    /// The alarm NOSPACE: etcd takes no more writes.
    #[error(
        "etcd at {address} is full and takes no writes ({message}); compact and defragment it, or raise \
         --quota-backend-bytes, then run `etcdctl alarm disarm`"
    )]
    Full {
        /// Who was called.
        address: String,
        /// What etcd says.
        message: String,
    },
    /// The value is larger than etcd takes.
    #[error(
        "etcd at {address} refuses a value as too large ({message}); raise its --max-request-bytes, or use fewer slots"
    )]
    TooLarge {
        /// Who was called.
        address: String,
        /// What etcd says.
        message: String,
    },
    /// The user is unknown, has another password, or lacks a permission.
    #[error(
        "etcd at {address} denies access: {message}; check the user, its password, and its role for {prefix}"
    )]
    Denied {
        /// Who was called.
        address: String,
        /// What etcd says.
        message: String,
        /// The keys that are needed.
        prefix: String,
    },
    /// Another error.
    #[error("etcd at {address} answers: {message} ({code:?})")]
    Refused {
        /// Who was called.
        address: String,
        /// The kind of error.
        code: Code,
        /// What etcd says.
        message: String,
    },
    /// The data are not those that were seen before.
    #[error(
        "etcd has lost what was written before ({problem}): it was restored from a backup, emptied, or replaced; restart all \
         instances"
    )]
    OtherHistory {
        /// How that shows.
        problem: String,
    },
    /// A value that somebody has edited.
    #[error("the value of {key} in etcd cannot be used: {problem}; correct it with `etcdctl put`")]
    Value {
        /// The key.
        key: String,
        /// What is wrong with the value.
        problem: String,
    },
    /// A ring that was made with other settings.
    #[error(
        "the ring at {key} in etcd {problem}; all instances of a controller type must have the same settings"
    )]
    Settings {
        /// The key.
        key: String,
        /// What differs.
        problem: String,
    },
    /// etcd answered something that is no answer to what was asked.
    #[error("etcd sent no sensible answer: {problem}")]
    Answer {
        /// What is wrong with it.
        problem: String,
    },
}

/// A failed call to one endpoint, and what follows from it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: EtcdError,
    /// Whether it is certain that nothing was done.
    pub(crate) is_undone: bool,
    pub(crate) blames: Blames,
}

/// What is to be replaced before the next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blames {
    /// The endpoint: another one may do better.
    Endpoint,
    /// The connection or its token.
    Session,
    /// Neither: it would be the same again.
    Request,
}

impl Failure {
    /// Whether the same request may succeed elsewhere, or a moment later.
    pub(crate) fn is_transient(&self) -> bool {
        self.blames != Blames::Request
    }

    /// There was no answer in time.
    pub(crate) fn deadline(address: &str, deadline: Duration) -> Failure {
        let error = EtcdError::Deadline { address: address.to_owned(), deadline };
        Failure { error, is_undone: false, blames: Blames::Endpoint }
    }

    /// What a status means.
    pub(crate) fn from_status(address: &str, prefix: &str, status: &Status) -> Failure {
        let (address, message) = (address.to_owned(), status.message().to_owned());
        let failure = |error, is_undone, blames| Failure { error, is_undone, blames };
        // A status with a source was made on this side of the connection.
        if let Some(source) = status.source() {
            let is_undone = chain(source).any(|error| error.is::<ConnectError>());
            let error = EtcdError::Unreachable { address, problem: innermost(source) };
            return failure(error, is_undone, Blames::Endpoint);
        }
        let has = |text: &str| message.contains(text);
        match status.code() {
            Code::Unauthenticated => denied(address, prefix, message, Blames::Session),
            Code::InvalidArgument if has("revision of auth store") => {
                denied(address, prefix, message, Blames::Session)
            }
            Code::PermissionDenied => denied(address, prefix, message, Blames::Request),
            Code::InvalidArgument if has("user name is empty") || has("authentication failed") => {
                denied(address, prefix, message, Blames::Request)
            }
            // The member refuses before it looks at the request, because the request demands a leader.
            Code::Unavailable if has("no leader") => {
                failure(EtcdError::Unavailable { address, message }, true, Blames::Endpoint)
            }
            Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled => {
                failure(EtcdError::Unavailable { address, message }, false, Blames::Endpoint)
            }
            Code::ResourceExhausted if has("space exceeded") => {
                failure(EtcdError::Full { address, message }, false, Blames::Request)
            }
            Code::InvalidArgument | Code::ResourceExhausted if has("too large") || has("larger than max") => {
                failure(EtcdError::TooLarge { address, message }, false, Blames::Request)
            }
            code => failure(EtcdError::Refused { address, code, message }, false, Blames::Request),
        }
    }
}

fn denied(address: String, prefix: &str, message: String, blames: Blames) -> Failure {
    let error = EtcdError::Denied { address, message, prefix: prefix.to_owned() };
    Failure { error, is_undone: true, blames }
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error: &&'a (dyn Error + 'static)| (*error).source())
}

/// The transport says "transport error", and its cause what happened.
pub(crate) fn innermost(error: &(dyn Error + 'static)) -> String {
    chain(error).last().map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(code: Code, message: &str) -> (Failure, String) {
        let failure = Failure::from_status("h:1", "/windlass", &Status::new(code, message));
        let text = failure.error.to_string();
        (failure, text)
    }

    #[test]
    fn a_full_etcd_is_explained() {
        let (failure, text) = read(Code::ResourceExhausted, "etcdserver: mvcc: database space exceeded");
        assert!(!failure.is_undone);
        assert!(text.contains("h:1 is full") && text.contains("etcdctl alarm disarm"), "{text}");
    }

    #[test]
    fn what_is_certainly_not_done_may_be_asked_of_another_member() {
        let (failure, _) = read(Code::Unavailable, "etcdserver: no leader");
        assert_eq!((failure.is_undone, failure.blames), (true, Blames::Endpoint));
        let (failure, _) = read(Code::Unavailable, "etcdserver: request timed out");
        assert_eq!((failure.is_undone, failure.blames), (false, Blames::Endpoint));
    }

    #[test]
    fn an_old_token_is_replaced() {
        for (code, message) in [
            (Code::Unauthenticated, "etcdserver: invalid auth token"),
            (Code::InvalidArgument, "etcdserver: revision of auth store is old"),
        ] {
            let (failure, _) = read(code, message);
            assert_eq!((failure.is_undone, failure.blames), (true, Blames::Session), "{message}");
        }
        let (failure, text) = read(Code::PermissionDenied, "etcdserver: permission denied");
        assert_eq!(failure.blames, Blames::Request);
        assert!(text.contains("its role for /windlass"), "{text}");
    }
}
