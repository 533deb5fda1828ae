//! The controller host: a queue, timers, and at most one reconcile at a time.

use std::collections::{BTreeSet, VecDeque};

use super::database::{Child, Name, Pair, Reply, Request};

/// What one controller process knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Controller {
    /// Parents with a change that the watch has not delivered yet.
    pub(crate) fresh: BTreeSet<Name>,
    /// Parents that the watch has notified of, and may notify of again.
    pub(crate) notified: BTreeSet<Name>,
    /// Parents to be looked at again after a while.
    pub(crate) timers: BTreeSet<Name>,
    /// Parents to be reconciled; none stands twice.
    pub(crate) queue: VecDeque<Name>,
    /// The reconcile that runs.
    pub(crate) active: Option<Reconcile>,
}

impl Controller {
    pub(crate) fn enqueue(&mut self, name: Name) {
        if !self.queue.contains(&name) {
            self.queue.push_back(name);
        }
    }

    /// The reconcile gets an answer and goes on, or ends.
    pub(crate) fn receive(&mut self, reply: Reply) {
        let Some(active) = &mut self.active else { return };
        match active.go_on(reply) {
            Progress::Waits => {}
            Progress::Done => self.active = None,
            Progress::Conflict => {
                self.timers.insert(active.pair);
                self.active = None;
            }
        }
    }
}

/// What a reconcile waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Step {
    ReadPair,
    ReadConfigMap(Child),
    Apply(Child),
    List,
    WriteStatus,
}

/// How a reconcile goes on.
pub(crate) enum Progress {
    Waits,
    Done,
    Conflict,
}

/// A reconcile under way: the step, and everything that it has learned on the way there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Reconcile {
    pub(crate) pair: Name,
    step: Step,
    parent: Option<Pair>,
    /// Whether each ConfigMap was there when it was looked for.
    found: [bool; 2],
    /// Whether each ConfigMap was made by this reconcile.
    created: [bool; 2],
    /// Whether the request was delivered, at least once.
    pub(crate) delivered: bool,
    /// Answers on their way back; several if the request was duplicated.
    pub(crate) replies: BTreeSet<Reply>,
}

impl Reconcile {
    pub(crate) fn new(pair: Name) -> Self {
        Reconcile {
            pair,
            step: Step::ReadPair,
            parent: None,
            found: [false; 2],
            created: [false; 2],
            delivered: false,
            replies: BTreeSet::new(),
        }
    }

    /// The request that was sent and not answered.
    pub(crate) fn request(&self) -> Request {
        match self.step {
            Step::ReadPair => Request::GetPair(self.pair),
            Step::ReadConfigMap(child) => Request::GetConfigMap(self.pair, child),
            Step::Apply(child) => Request::Apply(self.pair, child),
            Step::List => Request::List(self.pair),
            Step::WriteStatus => {
                Request::PatchStatus(self.pair, self.parent.map_or(0, |parent| parent.version))
            }
        }
    }

    fn go_on(&mut self, reply: Reply) -> Progress {
        self.delivered = false;
        self.replies.clear();
        let next = match (self.step, reply) {
            (Step::ReadPair, Reply::Pair(pair)) => {
                self.parent = Some(pair);
                Step::ReadConfigMap(Child::First)
            }
            (Step::ReadConfigMap(child), reply) => {
                self.found[child as usize] = matches!(reply, Reply::ConfigMap(_));
                Step::Apply(child)
            }
            (Step::Apply(child), Reply::Applied { created, .. }) => {
                self.created[child as usize] = created;
                match child {
                    Child::First => Step::ReadConfigMap(Child::Second),
                    Child::Second => Step::List,
                }
            }
            (Step::List, Reply::Listed) => {
                if self.parent.is_some_and(|parent| parent.ready) {
                    return Progress::Done;
                }
                Step::WriteStatus
            }
            (Step::WriteStatus, Reply::Conflict) => return Progress::Conflict,
            _ => return Progress::Done,
        };
        self.step = next;
        Progress::Waits
    }
}
