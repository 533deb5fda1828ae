//! Views: what each process sees of the cluster, which may be behind it.
//!
//! A view is what a process's watches have delivered, with the answers to its own writes merged in, object by object. It
//! is not stored: it is the cluster without what the process's backlog has not delivered yet.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_model::{Change, History, Key, ResourceId};

use super::Parts;
use crate::host::backlog::Backlog;
use crate::host::controller::{Host, insert};
use crate::ids::{BacklogId, ChangeId, ChangeListId, ClusterId};
use crate::index::{KindIndex, ProcessIndex};
use crate::intern::Interner;

/// The backlog of a process that has seen everything.
pub(crate) const NOTHING_UNSEEN: BacklogId = BacklogId::FIRST;
/// Stands for a list of changes where views are never behind, and nothing looks at it.
pub(crate) const NO_CHANGES: ChangeListId = ChangeListId::FIRST;

/// What is needed to know what each process sees.
pub(crate) struct Views {
    /// All that were committed, if views can be behind.
    pub(crate) changes: Interner<Change>,
    pub(crate) change_lists: Interner<Vec<ChangeId>>,
    pub(crate) backlogs: Interner<Backlog>,
    /// The kinds that any process watches.
    pub(super) kinds: Vec<ResourceId>,
    /// By kind: the most writes to one object that a process had not seen.
    oldest: BTreeMap<KindIndex, usize>,
}

impl Views {
    pub(crate) fn new(processes: &[windlass::Controller]) -> Self {
        let watches = processes.iter().flat_map(|process| process.declaration().all_watches());
        let mut kinds: Vec<ResourceId> = watches.map(|watch| watch.kind.resource.clone()).collect();
        kinds.sort();
        kinds.dedup();
        Views {
            changes: Interner::new(),
            change_lists: Interner::new(),
            backlogs: Interner::beginning_with(Backlog::default()),
            kinds,
            oldest: BTreeMap::new(),
        }
    }

    /// The number of a list of changes.
    pub(crate) fn list(&mut self, changes: &[Change]) -> ChangeListId {
        let list = changes.iter().map(|change| self.changes.id(change.clone())).collect();
        self.change_lists.id(list)
    }

    /// The plural of a kind, for people.
    pub(crate) fn kind_name(&self, kind: KindIndex) -> &str {
        &self.kinds[kind.index()].plural
    }

    /// By plural: the most writes to one object that a process had not seen.
    pub(crate) fn oldest(&self) -> BTreeMap<String, usize> {
        self.oldest.iter().map(|(kind, writes)| (self.kind_name(*kind).to_owned(), *writes)).collect()
    }

    pub(super) fn kind_of(&self, key: &Key) -> Option<KindIndex> {
        let is = |kind: &ResourceId| *kind.group == *key.group && *kind.plural == *key.plural;
        KindIndex::all(self.kinds.len()).find(|kind| is(&self.kinds[kind.index()]))
    }

    /// How many of the changes in a backlog are to the same object as the given one.
    fn writes_to(&self, backlog: &Backlog, kind: KindIndex, key: &Key) -> usize {
        backlog.of(kind).iter().filter(|change| self.changes.get(**change).key == *key).count()
    }

    fn note_oldest(&mut self, backlog: &Backlog) {
        for (kind, change) in backlog.all() {
            let writes = self.writes_to(backlog, kind, &self.changes.get(change).key.clone());
            let oldest = self.oldest.entry(kind).or_default();
            *oldest = writes.max(*oldest);
        }
    }
}

impl Parts {
    /// Changes were committed. A watch delivers what would leave an object more writes behind than is allowed, unless
    /// the process is cut off.
    pub(crate) fn commit(
        &mut self,
        host: &mut Host,
        process: ProcessIndex,
        changes: ChangeListId,
        is_cut: bool,
    ) {
        debug_assert!(
            self.setup.faults.can_lag(),
            "without lag, changes are marked at once and no backlog is kept"
        );
        let mut backlog = (**self.views.backlogs.get(host.unseen)).clone();
        for change in self.views.change_lists.get(changes).clone().iter() {
            let Some(kind) = self.watched_kind(process, *change) else { continue };
            backlog.push(kind, *change);
            let key = self.views.changes.get(*change).key.clone();
            let lag = usize::from(self.setup.faults.stale);
            // A watch delivers in order, so other objects of the kind may have to be delivered first.
            while !is_cut && self.views.writes_to(&backlog, kind, &key) > lag {
                self.deliver_change(host, process, &mut backlog, kind);
            }
        }
        self.views.note_oldest(&backlog);
        host.unseen = self.views.backlogs.id(backlog);
    }

    /// The watch of a kind delivers one more change.
    pub(crate) fn advance(&mut self, host: &mut Host, process: ProcessIndex, kind: KindIndex) {
        let mut backlog = (**self.views.backlogs.get(host.unseen)).clone();
        self.deliver_change(host, process, &mut backlog, kind);
        host.unseen = self.views.backlogs.id(backlog);
    }

    fn deliver_change(
        &mut self,
        host: &mut Host,
        process: ProcessIndex,
        backlog: &mut Backlog,
        kind: KindIndex,
    ) {
        if let Some(change) = backlog.pop(kind) {
            let Change { key, before, after, .. } = (**self.views.changes.get(change)).clone();
            self.mark_change(host, process, &key, before.as_deref(), after.as_deref());
        }
    }

    pub(super) fn mark_change(
        &mut self,
        host: &mut Host,
        process: ProcessIndex,
        key: &Key,
        before: Option<&serde_json::Value>,
        after: Option<&serde_json::Value>,
    ) {
        for job in self.jobs_of(process, key, before, after) {
            insert(&mut host.fresh, job);
        }
    }

    /// The oldest view from which a watch may begin again, after some changes.
    pub(crate) fn remember(&mut self, oldest: BacklogId, changes: ChangeListId) -> BacklogId {
        let mut backlog = (**self.views.backlogs.get(oldest)).clone();
        let lag = usize::from(self.setup.faults.stale);
        for change in self.views.change_lists.get(changes).clone().iter() {
            let key = self.views.changes.get(*change).key.clone();
            let Some(kind) = self.views.kind_of(&key) else { continue };
            backlog.push(kind, *change);
            // The oldest view is not that of a process: nothing is delivered, it is only not so old any more.
            while self.views.writes_to(&backlog, kind, &key) > lag {
                backlog.pop(kind);
            }
        }
        self.views.backlogs.id(backlog)
    }

    /// The backlogs with which a process's watches may begin again.
    pub(crate) fn positions(&mut self, process: ProcessIndex, oldest: BacklogId) -> Arc<[BacklogId]> {
        let oldest = self.views.backlogs.get(oldest).clone();
        let mut watched = Backlog::default();
        for (kind, change) in oldest.all().filter(|(_, change)| self.watched_kind(process, *change).is_some())
        {
            watched.push(kind, change);
        }
        let positions = watched.positions().into_iter();
        positions.map(|backlog| self.views.backlogs.id(backlog)).collect()
    }

    /// The cluster without what a backlog has not delivered.
    pub(crate) fn view(&mut self, cluster: ClusterId, backlog: BacklogId) -> ClusterId {
        let current = self.database.cluster(cluster).clone();
        let mut store = current.store().clone();
        let backlog = self.views.backlogs.get(backlog).clone();
        // The oldest last, so that what is seen of an object is what its first undelivered change found.
        let undelivered: Vec<ChangeId> = backlog.all().map(|(_, change)| change).collect();
        for change in undelivered.into_iter().rev() {
            let Change { key, before, version, .. } = &**self.views.changes.get(change);
            let known = store.history().find(|(known, _)| *known == key);
            // A change that found no object made one: without it, the object has been made once less.
            let incarnation = known.map_or(0, |(_, history)| history.incarnation);
            let history = History {
                version: version - 1,
                incarnation: incarnation - u64::from(before.is_none()),
                object: before.as_ref(),
            };
            store.rewrite(key, history);
        }
        self.database.id(current.with_store(store))
    }
}
