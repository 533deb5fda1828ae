//! The network: messages that were sent and that no process waits for any more.
//!
//! A request whose sender waits is kept with the sender. What is here still has effect, but its answer
//! reaches no one.

use std::sync::Arc;

use super::controller::{insert, remove};
use crate::ids::{AskId, ClusterId, MessageId};
use crate::index::ProcessIndex;

/// A request on its way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Message {
    /// The controller process that sent it.
    pub(crate) sender: ProcessIndex,
    /// The number of what it asks.
    pub(crate) ask: AskId,
    /// The uid of the object that its sender had seen under that name, unless the request itself insists on it.
    pub(crate) decided_on: Option<Arc<str>>,
}

/// Messages on their way, by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Network {
    /// Sent by a process that waits no more, and not delivered yet. Sorted: they may arrive in any order, and at any
    /// time. What a process sent before it crashed is on another connection than what its next life sends, so nothing
    /// keeps the two in order.
    pub(crate) late: Vec<MessageId>,
    /// Delivered once, and to be delivered once more if messages can be duplicated. Sorted.
    pub(crate) copies: Vec<MessageId>,
    /// Those of the copies whose sender still waits. Such a copy is answered, so it matters even if it can change nothing
    /// any more: the sender of a write that went well may get the refusal of its copy first. Sorted.
    pub(crate) awaited: Vec<MessageId>,
}

/// A change of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NetworkOp {
    /// A message stays behind.
    AddLate(MessageId),
    /// A message that stayed behind arrives, by its index.
    TakeLate(usize),
    /// A message may arrive again.
    AddCopy(MessageId),
    /// A message may arrive again while its sender waits.
    AddAwaitedCopy(MessageId),
    /// It has.
    UseCopy(MessageId),
    /// Its sender waits no more.
    Abandon(MessageId),
    /// Messages that can do nothing any more in this cluster are dropped.
    DropDead(ClusterId),
}

impl Network {
    /// The network after a change; `is_dead` says whether a message can have no effect any more.
    pub(crate) fn after(&self, op: NetworkOp, is_dead: impl Fn(ClusterId, MessageId) -> bool) -> Self {
        let mut network = self.clone();
        match op {
            NetworkOp::AddLate(message) => network.add_late(message),
            NetworkOp::TakeLate(index) => drop(network.late.remove(index)),
            NetworkOp::AddCopy(message) => insert(&mut network.copies, message),
            NetworkOp::AddAwaitedCopy(message) => {
                insert(&mut network.copies, message);
                insert(&mut network.awaited, message);
            }
            NetworkOp::UseCopy(message) => {
                remove(&mut network.copies, message);
                remove(&mut network.awaited, message);
            }
            NetworkOp::Abandon(message) => remove(&mut network.awaited, message),
            NetworkOp::DropDead(cluster) => {
                network.late.retain(|message| !is_dead(cluster, *message));
                let awaited = &network.awaited;
                network.copies.retain(|message| awaited.contains(message) || !is_dead(cluster, *message));
            }
        }
        network
    }

    fn add_late(&mut self, message: MessageId) {
        let index = self.late.partition_point(|known| *known < message);
        self.late.insert(index, message);
    }
}
