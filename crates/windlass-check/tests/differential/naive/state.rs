//! A state: everything that the future depends on, as plain values.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use rustc_hash::FxHasher;
use serde_json::Value;
use windlass::model::Cluster;
use windlass::{Answer, Ask, ObjectRef};

use super::views::View;
use crate::machine::is_read;
use crate::world::Budget;

/// The whole world at one point in time.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub(super) cluster: Snapshot,
    /// The state of the service.
    pub(super) service: Known<Value>,
    pub(super) processes: Vec<Process>,
    /// Requests of processes that have crashed since: each arrives at some later time.
    pub(super) late: Vec<Message>,
    /// Requests that have arrived and may arrive once more. None is there twice.
    pub(super) copies: Vec<Message>,
    pub(super) left: Budget,
    /// Which processes cannot reach which peers.
    pub(super) cuts: BTreeSet<(usize, Peer)>,
    /// How far each script has got.
    pub(super) scripts: Vec<usize>,
    /// The oldest view with which a process may start again; `None` if none can, or views are never behind.
    pub(super) oldest: Option<View>,
}

impl State {
    /// A restart was used up: without another, old views make no difference any more.
    pub(super) fn forget_what_cannot_come_back(&mut self) {
        if self.left.crashes == 0 && self.left.watch_gaps == 0 {
            self.oldest = None;
        }
    }
}

/// Whom a process speaks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Peer {
    Api,
    Service,
}

/// A controller process.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Process {
    /// Parents whose last change the watch has not shown yet.
    pub(super) fresh: BTreeSet<ObjectRef>,
    /// Parents of which a watch event may be repeated.
    pub(super) observed: BTreeSet<ObjectRef>,
    pub(super) timers: BTreeSet<ObjectRef>,
    pub(super) queue: Vec<ObjectRef>,
    /// Sorted by target.
    pub(super) active: Vec<Reconcile>,
    /// How often its clock has jumped forward, less how often back.
    pub(super) skew: i8,
    /// What its watches have delivered; `None` if views are never behind.
    pub(super) view: Option<View>,
}

/// A reconcile that waits for answers.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Reconcile {
    pub(super) target: ObjectRef,
    /// All that was asked and answered so far, in batches.
    pub(super) past: Past,
    pub(super) slots: Vec<Slot>,
}

/// Batches of asks with their answers.
pub(super) type Past = Vec<Vec<(Known<Ask>, Known<Answer>)>>;

/// An ask that was sent, and what has become of it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Slot {
    pub(super) message: Message,
    pub(super) delivered: bool,
    /// Answers on their way back. None is there twice.
    pub(super) replies: Vec<Known<Answer>>,
    pub(super) answer: Option<Known<Answer>>,
}

/// A request on its way.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Message {
    pub(super) sender: usize,
    pub(super) ask: Known<Ask>,
    /// The uid that the object had when the sender last saw it, if the request does not say it itself.
    pub(super) decided_on: Option<String>,
}

impl Message {
    /// Whom it is for.
    pub(super) fn peer(&self) -> Peer {
        match &*self.ask {
            Ask::Call { .. } => Peer::Service,
            _ => Peer::Api,
        }
    }

    /// Whether it can change anything where it arrives.
    pub(super) fn has_effect(&self) -> bool {
        match &*self.ask {
            Ask::Call { request, .. } => !is_read(request),
            ask => ask.has_effect(),
        }
    }
}

/// A value with its hash, so that large ones are hashed once.
#[derive(Debug)]
pub(super) struct Known<T> {
    hash: u64,
    value: Arc<T>,
}

impl<T: Hash> Known<T> {
    pub(super) fn new(value: T) -> Self {
        let mut hasher = FxHasher::default();
        value.hash(&mut hasher);
        Known { hash: hasher.finish(), value: Arc::new(value) }
    }
}

impl<T> Clone for Known<T> {
    fn clone(&self) -> Self {
        Known { hash: self.hash, value: self.value.clone() }
    }
}

impl<T> Deref for Known<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Eq> PartialEq for Known<T> {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && (Arc::ptr_eq(&self.value, &other.value) || self.value == other.value)
    }
}

impl<T: Eq> Eq for Known<T> {}

impl<T> Hash for Known<T> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(self.hash);
    }
}

/// An order for sets in lists. Two values with one hash have none, which costs some states and no more.
impl<T: Eq> Ord for Known<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.hash.cmp(&other.hash)
    }
}

impl<T: Eq> PartialOrd for Known<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// All objects. The hash is of their versions, which differ if the objects do, nearly always.
#[derive(Clone)]
pub(super) struct Snapshot {
    hash: u64,
    cluster: Arc<Cluster>,
}

impl Snapshot {
    pub(super) fn new(cluster: Cluster) -> Self {
        let mut hasher = FxHasher::default();
        for (key, history) in cluster.store().history() {
            (&key.name, history.version, history.incarnation, history.object.is_some()).hash(&mut hasher);
        }
        Snapshot { hash: hasher.finish(), cluster: Arc::new(cluster) }
    }
}

impl Deref for Snapshot {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.cluster
    }
}

impl PartialEq for Snapshot {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
            && (Arc::ptr_eq(&self.cluster, &other.cluster) || self.cluster.store() == other.cluster.store())
    }
}

impl Eq for Snapshot {}

impl Hash for Snapshot {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(self.hash);
    }
}

/// Adds to a sorted list.
pub(super) fn add<T: Ord>(list: &mut Vec<T>, value: T) {
    let index = list.partition_point(|known| *known < value);
    list.insert(index, value);
}

/// Adds to a sorted list, unless it is there.
pub(super) fn add_once<T: Ord>(list: &mut Vec<T>, value: T) {
    if !list.contains(&value) {
        add(list, value);
    }
}
