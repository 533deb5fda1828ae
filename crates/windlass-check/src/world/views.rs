//! Views: what each process sees of the cluster, which may be behind it.
//!
//! A view is what a process's watches have delivered, with the answers to its own writes merged in, object by object. It
//! is not stored: it is the cluster without what the process's backlog has not delivered yet.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass::{Answer, Ask, WatchDeclaration};
use windlass_model::selector::{FieldSelector, LabelSelector};
use windlass_model::{Body, Change, History, Key, Request, ResourceId, Verb, object};

use super::parts::{Effect, Parts};
use super::{State, World};
use crate::host::backlog::Backlog;
use crate::host::controller::{Host, insert};
use crate::ids::{AnswerId, AskId, BacklogId, ChangeId, ChangeListId, ClusterId};
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
    kinds: Vec<ResourceId>,
    /// By kind: the most writes to one object that a process had not seen.
    oldest: BTreeMap<u8, usize>,
}

/// What a process's watches know of what a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coverage {
    /// All of it.
    Whole,
    /// The objects that are there; that one is missing says nothing.
    Present,
    /// Nothing: the API server is asked.
    Nothing,
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
    pub(crate) fn kind_name(&self, kind: u8) -> &str {
        &self.kinds[usize::from(kind)].plural
    }

    /// By plural: the most writes to one object that a process had not seen.
    pub(crate) fn oldest(&self) -> BTreeMap<String, usize> {
        self.oldest.iter().map(|(kind, writes)| (self.kind_name(*kind).to_owned(), *writes)).collect()
    }

    fn kind_of(&self, key: &Key) -> Option<u8> {
        let is = |kind: &ResourceId| *kind.group == *key.group && *kind.plural == *key.plural;
        self.kinds.iter().position(is).map(|index| index as u8)
    }

    /// How many of the changes in a backlog are to the same object as the given one.
    fn writes_to(&self, backlog: &Backlog, kind: u8, key: &Key) -> usize {
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
    pub(crate) fn commit(&mut self, host: &mut Host, process: usize, changes: ChangeListId, is_cut: bool) {
        let mut backlog = (**self.views.backlogs.get(host.unseen)).clone();
        for change in self.views.change_lists.get(changes).clone().iter() {
            let Some(kind) = self.watched_kind(process, *change) else { continue };
            backlog.push(kind, *change);
            let key = self.views.changes.get(*change).key.clone();
            let lag = usize::from(self.setup.faults.stale);
            while !is_cut && self.views.writes_to(&backlog, kind, &key) > lag {
                self.deliver_change(host, process, &mut backlog, kind);
            }
        }
        self.views.note_oldest(&backlog);
        host.unseen = self.views.backlogs.id(backlog);
    }

    /// The watch of a kind delivers one more change.
    pub(crate) fn advance(&mut self, host: &mut Host, process: usize, kind: u8) {
        let mut backlog = (**self.views.backlogs.get(host.unseen)).clone();
        self.deliver_change(host, process, &mut backlog, kind);
        host.unseen = self.views.backlogs.id(backlog);
    }

    fn deliver_change(&mut self, host: &mut Host, process: usize, backlog: &mut Backlog, kind: u8) {
        if let Some(change) = backlog.pop(kind) {
            let Change { key, before, after, .. } = (**self.views.changes.get(change)).clone();
            self.mark_change(host, process, &key, before.as_deref(), after.as_deref());
        }
    }

    fn mark_change(
        &mut self,
        host: &mut Host,
        process: usize,
        key: &Key,
        before: Option<&serde_json::Value>,
        after: Option<&serde_json::Value>,
    ) {
        for job in self.jobs_of(process, key, before, after) {
            insert(&mut host.fresh, job);
        }
    }

    /// A process has the answer to a write of its own: it sees that object as the answer has it, and all else as before.
    pub(crate) fn see_own_write(&mut self, host: &mut Host, process: usize, ask: AskId, answer: AnswerId) {
        if host.unseen == NOTHING_UNSEEN {
            return;
        }
        let Some(written) = OwnWrite::of(self.asks.get(ask), self.answers.get(answer)) else { return };
        let Some(kind) = self.views.kind_of(&written.key) else { return };
        let mut backlog = (**self.views.backlogs.get(host.unseen)).clone();
        let mut of_object = Vec::new();
        for change in backlog.of(kind) {
            let known = self.views.changes.get(*change);
            if known.key == written.key {
                of_object.push((*change, known.clone()));
            }
        }
        let Some(last) = of_object.iter().rposition(|(_, change)| written.includes(change)) else { return };
        let seen: Vec<ChangeId> = of_object[..=last].iter().map(|(number, _)| *number).collect();
        backlog.retain(kind, |change| !seen.contains(change));
        let (before, after) = (of_object[0].1.before.clone(), of_object[last].1.after.clone());
        self.mark_change(host, process, &written.key, before.as_deref(), after.as_deref());
        host.unseen = self.views.backlogs.id(backlog);
    }

    /// The kind of a change that a process's watches will deliver.
    fn watched_kind(&self, process: usize, change: ChangeId) -> Option<u8> {
        let change = self.views.changes.get(change);
        let kind = self.views.kind_of(&change.key)?;
        let sides = || change.before.iter().chain(&change.after);
        let watches = self.watches_of(process, &self.views.kinds[usize::from(kind)]);
        watches.into_iter().any(|watch| sides().any(|side| watch.selects(side))).then_some(kind)
    }

    fn watches_of<'a>(&'a self, process: usize, kind: &ResourceId) -> Vec<&'a WatchDeclaration> {
        let watches = self.setup.processes[process].declaration().all_watches().iter();
        watches.filter(|watch| watch.kind.resource == *kind).collect()
    }

    /// The oldest view from which a watch may begin again, after some changes.
    pub(crate) fn remember(&mut self, oldest: BacklogId, changes: ChangeListId) -> BacklogId {
        let mut backlog = (**self.views.backlogs.get(oldest)).clone();
        let lag = usize::from(self.setup.faults.stale);
        for change in self.views.change_lists.get(changes).clone().iter() {
            let key = self.views.changes.get(*change).key.clone();
            let Some(kind) = self.views.kind_of(&key) else { continue };
            backlog.push(kind, *change);
            while self.views.writes_to(&backlog, kind, &key) > lag {
                backlog.pop(kind);
            }
        }
        self.views.backlogs.id(backlog)
    }

    /// The backlogs with which a process's watches may begin again.
    pub(crate) fn positions(&mut self, process: usize, oldest: BacklogId) -> Arc<[BacklogId]> {
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

    /// Whether a process's caches answer a request, given whether what it asks for is missing there.
    pub(crate) fn is_cached(&self, process: usize, ask: AskId, answer: AnswerId) -> bool {
        let Ask::Api { request, .. } = &**self.asks.get(ask) else { return false };
        match self.coverage(process, request) {
            Coverage::Whole => true,
            Coverage::Present => {
                matches!(&**self.answers.get(answer), Answer::Api(response) if response.failure().is_none())
            }
            Coverage::Nothing => false,
        }
    }

    fn coverage(&self, process: usize, request: &Request) -> Coverage {
        let watches = self.watches_of(process, &request.resource);
        let mut watches = watches.into_iter().filter(|watch| !watch.metadata_only).peekable();
        if watches.peek().is_none() {
            return Coverage::Nothing;
        }
        let selected = |selector: &Option<String>| selector.clone().unwrap_or_default();
        let labels = match request.verb {
            Verb::List => LabelSelector::parse(&selected(&request.options.label_selector)),
            _ => Ok(LabelSelector::everything()),
        };
        let fields = match request.verb {
            Verb::List => FieldSelector::parse(&selected(&request.options.field_selector)),
            _ => Ok(FieldSelector::default()),
        };
        let (Ok(labels), Ok(fields)) = (labels, fields) else { return Coverage::Nothing };
        let whole = watches.any(|watch| labels.is_within(&watch.labels) && fields.is_within(&watch.fields));
        match request.verb {
            _ if whole => Coverage::Whole,
            Verb::List => Coverage::Nothing,
            _ => Coverage::Present,
        }
    }
}

/// What the answer to a write says about an object.
struct OwnWrite {
    key: Key,
    what: Written,
}

enum Written {
    /// It is as of this version.
    Version(u64),
    /// The object of this uid, or whichever it was, is gone.
    Deleted { uid: Option<String> },
}

impl OwnWrite {
    /// What an answer says; nothing if it is not that of a write that went well.
    fn of(ask: &Ask, answer: &Answer) -> Option<Self> {
        let (Ask::Api { request, .. }, Answer::Api(response)) = (ask, answer) else { return None };
        if !request.verb.is_write() || request.options.dry_run || response.failure().is_some() {
            return None;
        }
        let named = |name: &str, namespace: &str| {
            Key::new(&request.resource.group, &request.resource.plural, namespace, name)
        };
        match &response.body {
            Body::Object(found) if request.verb != Verb::Delete || object::is_deleting(found) => {
                let key = named(object::name(found), object::namespace(found));
                let is_last = object::is_deleting(found) && object::finalizers(found).next().is_none();
                let what = if is_last {
                    Written::Deleted { uid: Some(object::uid(found).to_owned()) }
                } else {
                    Written::Version(object::resource_version(found).parse().ok()?)
                };
                Some(OwnWrite { key, what })
            }
            Body::Object(_) | Body::Status(_) if request.verb == Verb::Delete => {
                let key = named(request.name.as_deref()?, request.namespace.as_deref().unwrap_or_default());
                let uid = request.options.preconditions.uid.clone();
                Some(OwnWrite { key, what: Written::Deleted { uid } })
            }
            _ => None,
        }
    }

    /// Whether a change is this write, or one before it.
    fn includes(&self, change: &Change) -> bool {
        match &self.what {
            Written::Version(version) => change.version <= *version,
            Written::Deleted { uid } => {
                let gone = change.after.is_none().then_some(change.before.as_ref()).flatten();
                gone.is_some_and(|gone| uid.as_deref().is_none_or(|uid| object::uid(gone) == uid))
            }
        }
    }
}

impl World {
    /// The cluster that a process sees.
    pub(crate) fn view_of(&mut self, state: &State, process: usize) -> ClusterId {
        let unseen = self.menu(state.hosts[process]).unseen;
        self.view(state.cluster, unseen)
    }

    /// The cluster without what a backlog has not delivered.
    pub(crate) fn view(&mut self, cluster: ClusterId, backlog: BacklogId) -> ClusterId {
        if backlog == NOTHING_UNSEEN {
            return cluster;
        }
        let parts = &self.parts;
        let known = self.memory.views.entry((cluster, backlog));
        *known.or_insert_with(|| super::lock(parts).view(cluster, backlog))
    }

    /// The answer of a process's caches to a request, if they have one.
    pub(crate) fn answer_of_caches(
        &mut self,
        state: &State,
        process: usize,
        ask: AskId,
    ) -> Option<(ClusterId, Effect)> {
        let view = self.view_of(state, process);
        let seen = self.effect(view, ask);
        let is_current = !self.faults().can_lag();
        (is_current || self.parts().is_cached(process, ask, seen.answer)).then_some((view, seen))
    }

    /// The oldest backlog that a watch may begin with, after some changes.
    pub(crate) fn oldest_after(&mut self, oldest: BacklogId, changes: ChangeListId) -> BacklogId {
        let parts = &self.parts;
        let known = self.memory.oldest.entry((oldest, changes));
        *known.or_insert_with(|| super::lock(parts).remember(oldest, changes))
    }

    /// The backlogs with which a process's watches may begin again here.
    pub(crate) fn positions(&mut self, state: &State, process: usize) -> Arc<[BacklogId]> {
        let oldest = self.env(state).oldest;
        let parts = &self.parts;
        let known = self.memory.positions.entry((process, oldest));
        known.or_insert_with(|| super::lock(parts).positions(process, oldest)).clone()
    }
}
