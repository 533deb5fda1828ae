//! The controller: a queue, timers, and reconciles under way, one at a time or one per object.

use crate::ids::{AnswerId, BacklogId, JobId, MessageId, NodeId};
use crate::intern::Id;

/// What one controller process knows. A crash forgets all of it but what the watch will deliver again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Host {
    /// Parents with a change that the watch has not delivered yet. Coalescing is in the nature of a set: a
    /// watcher may miss versions in between, never the last. Sorted numbers of jobs.
    pub(crate) fresh: Vec<JobId>,
    /// Parents whose change was observed: the watch may deliver it again, if messages can be duplicated. Sorted.
    pub(crate) observed: Vec<JobId>,
    /// Parents to be requeued after a while. Sorted.
    pub(crate) timers: Vec<JobId>,
    /// Parents to be reconciled, first come first served; none stands twice.
    pub(crate) queue: Vec<JobId>,
    /// The reconciles that run, by job; no object is reconciled twice at the same time.
    pub(crate) active: Vec<Active>,
    /// The number of its backlog: what its watches have not delivered yet.
    pub(crate) unseen: BacklogId,
    /// How far its clock has jumped, in jumps.
    pub(crate) skew: i8,
}

/// A reconcile that waits for answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Active {
    pub(crate) job: JobId,
    /// The point that it has reached.
    pub(crate) node: NodeId,
    /// One per ask of that point.
    pub(crate) slots: Vec<Slot>,
}

/// One ask that was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Slot {
    /// The number of the message; 0 stands for a question about the time, which takes no message.
    pub(crate) message: MessageId,
    /// Whether it has been delivered, at least once.
    pub(crate) delivered: bool,
    /// Answers on their way back; several if the ask was duplicated. Sorted, no two alike.
    pub(crate) replies: Vec<AnswerId>,
    /// The answer that has arrived.
    pub(crate) answer: Option<AnswerId>,
}

impl Host {
    /// The index in the queue of the first parent that is not being reconciled.
    pub(crate) fn first_to_start(&self, workers: usize) -> Option<usize> {
        if self.active.len() >= workers {
            return None;
        }
        self.queue.iter().position(|job| self.active.iter().all(|active| active.job != *job))
    }

    /// Adds a reconcile in order.
    pub(crate) fn activate(&mut self, active: Active) {
        let index = self.active.partition_point(|known| known.job < active.job);
        self.active.insert(index, active);
    }
}

/// Adds to a sorted list that is used as a set.
pub(crate) fn insert<T>(set: &mut Vec<Id<T>>, value: Id<T>) {
    if let Err(index) = set.binary_search(&value) {
        set.insert(index, value);
    }
}

/// Removes from a sorted list that is used as a set.
pub(crate) fn remove<T>(set: &mut Vec<Id<T>>, value: Id<T>) {
    if let Ok(index) = set.binary_search(&value) {
        set.remove(index);
    }
}
