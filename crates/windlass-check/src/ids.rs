//! The numbers of all kinds of parts that a world interns. The compiler keeps them apart: see [`Id`].

use windlass::{Answer, Ask};
use windlass_model::{Change, Key, MemoryStore};

use crate::host::backlog::Backlog;
use crate::host::controller::Host;
use crate::host::environment::Environment;
use crate::host::network::{Message, Network};
use crate::host::service::ServiceStates;
use crate::intern::Id;
use crate::steps::{Job, Node};
use crate::world::StepViolation;

/// All objects. Their store is what is compared; types and time are the same in all.
pub(crate) type ClusterId = Id<MemoryStore>;
/// The messages that no process waits for.
pub(crate) type NetworkId = Id<Network>;
/// Budgets, scripts, services, clocks and partitions.
pub(crate) type EnvironmentId = Id<Environment>;
/// What one controller process knows, whichever process that is.
pub(crate) type HostId = Id<Host>;

/// What a coroutine asks for.
pub(crate) type AskId = Id<Ask>;
/// What it is answered.
pub(crate) type AnswerId = Id<Answer>;
/// An ask that was sent, with its sender.
pub(crate) type MessageId = Id<Message>;
/// A reconcile to be done.
pub(crate) type JobId = Id<Job>;
/// Some jobs of one process, sorted.
pub(crate) type JobSetId = Id<Vec<JobId>>;
/// By process: the jobs that a change triggers.
pub(crate) type MarksId = Id<Vec<JobSetId>>;
/// A point of a reconcile: the answers so far.
pub(crate) type NodeId = Id<Node>;
/// The states of all services.
pub(crate) type ServicesId = Id<ServiceStates>;
/// A step that must never happen.
pub(crate) type ViolationId = Id<StepViolation>;

/// The change of an object, as a watch delivers it.
pub(crate) type ChangeId = Id<Change>;
/// The changes of one commit.
pub(crate) type ChangeListId = Id<Vec<ChangeId>>;
/// The changes that the watches of a process have not delivered.
pub(crate) type BacklogId = Id<Backlog>;
/// The key of an object, where versions are counted by it.
pub(crate) type KeyId = Id<Key>;
