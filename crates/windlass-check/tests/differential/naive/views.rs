//! What a process sees of the cluster if its watches can be behind: a copy of the objects that each delivered change
//! brings forward, and the changes that are still to come.

use std::collections::BTreeSet;

use windlass::model::{Body, Change, Verb, object};
use windlass::{Answer, Ask, Shortcut};

use super::Explorer;
use super::state::{Known, Peer, Process, Slot, Snapshot, State};

/// The kinds that each machine here watches, all of their objects: what it asks a cache for is always there.
const WATCHED: [&str; 2] = ["configmaps", "things"];

/// What the watches of a process have delivered.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct View {
    /// The objects, as far as it knows them.
    pub(super) seen: Snapshot,
    /// What was committed since, the oldest first.
    pending: Vec<Known<Change>>,
}

impl View {
    /// That of a process that has seen everything.
    pub(super) fn current(cluster: &Snapshot) -> Self {
        View { seen: cluster.clone(), pending: Vec::new() }
    }

    /// The kinds that it is behind in.
    pub(super) fn kinds_behind(&self) -> BTreeSet<String> {
        self.pending.iter().map(|change| change.key.plural.to_string()).collect()
    }

    /// The watch of a kind delivers its next change.
    pub(super) fn deliver(&mut self, kind: &str) -> Option<Known<Change>> {
        let index = self.pending.iter().position(|change| *change.key.plural == *kind)?;
        let change = self.pending.remove(index);
        self.see(&change);
        Some(change)
    }

    fn see(&mut self, change: &Change) {
        let mut cluster = (*self.seen).clone();
        cluster.commit(std::slice::from_ref(change));
        self.seen = Snapshot::new(cluster);
    }

    /// Something was committed. If there is a bound, the watch delivers as much as it takes for the object to be no more
    /// writes behind than that; returned is what it delivers.
    fn add(&mut self, change: &Change, bound: Option<u8>) -> Vec<Known<Change>> {
        self.pending.push(Known::new(change.clone()));
        let mut delivered = Vec::new();
        while bound.is_some_and(|bound| self.writes_behind(change) > usize::from(bound)) {
            delivered.extend(self.deliver(&change.key.plural));
        }
        delivered
    }

    fn writes_behind(&self, change: &Change) -> usize {
        self.pending.iter().filter(|known| known.key == change.key).count()
    }

    /// All views between this one and the newest: each watch may be anywhere.
    fn onwards(&self) -> Vec<View> {
        let mut all = vec![self.clone()];
        for kind in self.kinds_behind() {
            let mut further = Vec::new();
            for mut view in all {
                further.push(view.clone());
                while view.deliver(&kind).is_some() {
                    further.push(view.clone());
                }
            }
            all = further;
        }
        all
    }

    /// The answer to a write of its own: it sees that object as the answer has it. Returned is what it has learnt, as one
    /// change.
    fn learn(&mut self, ask: &Ask, answer: &Answer) -> Option<Change> {
        let last = self.pending.iter().rposition(|change| is_known_by(change, ask, answer))?;
        let key = self.pending[last].key.clone();
        let mut learnt: Option<Change> = None;
        for index in (0..=last).filter(|index| self.pending[*index].key == key).collect::<Vec<_>>() {
            let change = (*self.pending[index]).clone();
            self.see(&change);
            let before = learnt.map_or_else(|| change.before.clone(), |learnt| learnt.before);
            learnt = Some(Change { before, ..change });
        }
        let mut index = 0;
        self.pending.retain(|change| {
            index += 1;
            index > last + 1 || change.key != key
        });
        learnt
    }
}

/// Whether whoever gets this answer to a write knows of a change.
fn is_known_by(change: &Change, ask: &Ask, answer: &Answer) -> bool {
    let (Ask::Api { request, .. }, Answer::Api(response)) = (ask, answer) else { return false };
    let is_write = request.verb.is_write() && response.failure().is_none();
    if !is_write || *change.key.plural != *request.resource.plural {
        return false;
    }
    let answered = match &response.body {
        Body::Object(found) => Some(&**found),
        _ => None,
    };
    let name = request.name.as_deref().or(answered.map(object::name));
    if name != Some(&*change.key.name) {
        return false;
    }
    let remains = answered.filter(|found| match object::is_deleting(found) {
        true => object::finalizers(found).next().is_some(),
        false => request.verb != Verb::Delete,
    });
    match remains {
        Some(found) => {
            let version: u64 = object::resource_version(found).parse().unwrap_or(0);
            change.version <= version
        }
        None => {
            let uid = match answered {
                Some(found) => Some(object::uid(found)),
                None => request.options.preconditions.uid.as_deref(),
            };
            let removed = change.before.as_deref().filter(|_| change.after.is_none());
            removed.is_some_and(|removed| uid.is_none_or(|uid| uid == object::uid(removed)))
        }
    }
}

impl Explorer<'_> {
    /// Some objects have changed: watches will show it, sooner or later.
    pub(super) fn observe(&self, state: &mut State, changes: &[Change]) {
        let lag = state.left.stale;
        let watched = |change: &&Change| WATCHED.contains(&&*change.key.plural);
        for change in changes.iter().filter(watched) {
            if let Some(oldest) = &mut state.oldest {
                oldest.add(change, Some(lag));
            }
            for number in 0..state.processes.len() {
                let is_cut = state.cuts.contains(&(number, Peer::Api));
                let process = &mut state.processes[number];
                let shown = match &mut process.view {
                    Some(view) => view.add(change, (!is_cut).then_some(lag)),
                    None => vec![Known::new(change.clone())],
                };
                shown.iter().for_each(|change| self.trigger(process, number, change));
            }
        }
    }

    /// A process is shown a change.
    pub(super) fn trigger(&self, process: &mut Process, number: usize, change: &Change) {
        let (before, after) = (change.before.as_deref(), change.after.as_deref());
        let triggers = self.controllers[number].declaration().triggers(&change.key, before, after);
        process.fresh.extend(triggers.into_iter().map(|trigger| trigger.parent));
    }

    /// The views with which a process may start again: it may find an API server that is behind the one it knew.
    pub(super) fn views_after_restart(&self, state: &State) -> Vec<Option<View>> {
        match &state.oldest {
            Some(oldest) => oldest.onwards().into_iter().map(Some).collect(),
            None => vec![None],
        }
    }

    /// The answer that a process gives itself, if it does: to a read that its caches may answer, and to a write that they
    /// show to change nothing.
    pub(super) fn cached_answer(
        &mut self,
        state: &State,
        process: usize,
        slot: &Slot,
    ) -> Option<Known<Answer>> {
        let Ask::Api { shortcut, .. } = &*slot.message.ask else { return None };
        if *shortcut == Shortcut::None {
            return None;
        }
        let view = state.processes[process].view.as_ref().map_or(&state.cluster, |view| &view.seen);
        let effect = self.effect(view, &slot.message.ask);
        (*shortcut == Shortcut::Cache || effect.changes.is_empty()).then(|| effect.answer.clone())
    }

    /// A process gets an answer.
    pub(super) fn learn(&self, state: &mut State, process: usize, ask: &Ask, answer: &Answer) {
        let known = &mut state.processes[process];
        if let Some(learnt) = known.view.as_mut().and_then(|view| view.learn(ask, answer)) {
            self.trigger(known, process, &learnt);
        }
    }
}
