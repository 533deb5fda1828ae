//! What happens in a run, as far as it can be seen from outside the processes.

use std::fmt;

use windlass_model::Request;

use crate::show;

/// One thing that happens. A process is named by its index in [`Stage::processes`](super::Stage::processes).
///
/// What a process does within itself is no event, nor what the cluster's own controllers do: on a real cluster both
/// happen by themselves.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A client does the next event of this script.
    Client {
        /// Which script, counted from 0.
        script: usize,
    },
    /// A process reads from its cache, and so has seen what has happened so far. It is running from here on.
    Read {
        /// Which one.
        process: usize,
    },
    /// A request reaches the API server. A read is answered at once; the answer to a write is held back.
    Deliver {
        /// The sender.
        process: usize,
        /// What it sent.
        request: Request,
    },
    /// The same request reaches it once more, while its sender waits for the answer.
    DeliverAgain {
        /// The sender.
        process: usize,
        /// What it sent.
        request: Request,
    },
    /// The answer to a write reaches the process.
    Reply {
        /// The process.
        process: usize,
        /// What it had sent.
        request: Request,
        /// The status code. The answers to a request that was delivered twice may differ in it.
        code: u16,
    },
    /// A request that a crashed process has left on the network reaches the API server.
    Late {
        /// The process that sent it in an earlier life.
        process: usize,
        /// What it sent.
        request: Request,
    },
    /// A request that was delivered before reaches it once more, and no one waits for the answer.
    Duplicate {
        /// The process that sent it.
        process: usize,
        /// What it sent.
        request: Request,
    },
    /// A process dies.
    Crash {
        /// Which one.
        process: usize,
        /// The writes that it has sent and that were not delivered yet: they stay on the network.
        sent: Vec<Request>,
    },
    /// A request gets lost on its way, and its sender gets no answer.
    LoseRequest {
        /// The sender.
        process: usize,
        /// What it sent.
        request: Request,
    },
    /// The answer to a write gets lost on its way.
    LoseReply {
        /// The sender.
        process: usize,
        /// What it sent.
        request: Request,
    },
    /// A request is answered with 503 and has no effect.
    Error {
        /// The sender.
        process: usize,
        /// What it sent.
        request: Request,
    },
    /// The watches of a process break.
    BreakWatch {
        /// Which one.
        process: usize,
    },
    /// Something that takes more than processes, an API server and what is between them: a partition, a jump of a clock,
    /// a call of a service; or that only the checker takes for possible. The text says what.
    Other(&'static str),
}

impl Event {
    /// Whether it is a fault.
    pub fn is_fault(&self) -> bool {
        match self {
            Event::Client { .. } | Event::Read { .. } | Event::Deliver { .. } | Event::Reply { .. } => false,
            // The fault is the crash before it.
            Event::Late { .. } => false,
            _ => true,
        }
    }
}

/// `process 1: deliver create configmaps default/a-x`
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (process, what, request) = match self {
            Event::Client { script } => return write!(f, "client script {}: next event", script + 1),
            Event::Other(what) => return f.write_str(what),
            Event::Read { process } => (process, "read its cache", None),
            Event::BreakWatch { process } => (process, "BREAK its watches", None),
            Event::Crash { process, sent } => {
                write!(f, "process {}: KILL", process + 1)?;
                return sent
                    .iter()
                    .try_for_each(|request| write!(f, ", after it sent {}", show::request(request)));
            }
            Event::Deliver { process, request } => (process, "deliver", Some(request)),
            Event::DeliverAgain { process, request } => (process, "deliver AGAIN", Some(request)),
            Event::Reply { process, request, code } => {
                return write!(f, "process {}: answer {code} to {}", process + 1, show::request(request));
            }
            Event::Late { process, request } => (process, "deliver LATE", Some(request)),
            Event::Duplicate { process, request } => (process, "deliver AGAIN, to no one", Some(request)),
            Event::LoseRequest { process, request } => (process, "LOSE", Some(request)),
            Event::LoseReply { process, request } => (process, "LOSE the answer to", Some(request)),
            Event::Error { process, request } => (process, "answer 503 to", Some(request)),
        };
        write!(f, "process {}: {what}", process + 1)?;
        request.map_or(Ok(()), |request| write!(f, " {}", show::request(request)))
    }
}
