//! What is done to processes, connections and servers.

mod schedule;

use std::fmt;

pub use schedule::{Planned, Scene, schedule};

/// A fault, with the time after which it is over. Instances are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// SIGKILL; a new process with the same name is started later.
    Kill(usize),
    /// SIGTERM; a new process with the same name is started later.
    Terminate(usize),
    /// SIGSTOP, and SIGCONT later.
    Pause(usize),
    /// The instance is cut off from all servers.
    Partition(usize, Silence),
    /// The instance is cut off from the registry only, where that is not the API server.
    LoseRegistry(usize),
    /// The clock of the day jumps by an hour, forwards or backwards.
    JumpClock(usize, Direction),
    /// SIGKILL of the API server, which is started again with its data.
    RestartServer,
    /// SIGKILL of the registry, where that is not the API server, which is started again with its data.
    RestartRegistry,
}

/// What a process notices of being cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// Connections break, and new ones are refused.
    Loud,
    /// Nothing arrives any more. Requests that were sent arrive afterwards if their sender still waits.
    Silent,
}

/// Where a clock jumps to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Into the future.
    Forwards,
    /// Into the past.
    Backwards,
}

impl Fault {
    /// The instance that it hits; none if it hits a server.
    pub fn instance(self) -> Option<usize> {
        match self {
            Fault::Kill(instance)
            | Fault::Terminate(instance)
            | Fault::Pause(instance)
            | Fault::Partition(instance, _)
            | Fault::LoseRegistry(instance)
            | Fault::JumpClock(instance, _) => Some(instance),
            Fault::RestartServer | Fault::RestartRegistry => None,
        }
    }

    /// What kind of fault it is, for counting.
    pub fn kind(self) -> &'static str {
        match self {
            Fault::Kill(_) => "kill",
            Fault::Terminate(_) => "terminate",
            Fault::Pause(_) => "pause",
            Fault::Partition(_, Silence::Loud) => "partition",
            Fault::Partition(_, Silence::Silent) => "silent partition",
            Fault::LoseRegistry(_) => "partition from the registry",
            Fault::JumpClock(..) => "clock jump",
            Fault::RestartServer => "restart of the API server",
            Fault::RestartRegistry => "restart of the registry",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.instance() {
            Some(instance) => write!(f, "{} of {}", self.kind(), instance_name(instance)),
            None => f.write_str(self.kind()),
        }
    }
}

/// The name of an instance, as a StatefulSet would give it.
pub fn instance_name(instance: usize) -> String {
    format!("app-{instance}")
}
