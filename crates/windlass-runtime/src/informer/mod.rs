//! Informers: one list and watch per selection of objects, shared by all controllers of a process.

mod backoff;
mod events;
mod follow;
mod gate;
mod refresh;
mod selection;
mod state;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use serde_json::Value;
use windlass::model::selector::{FieldSelector, LabelSelector, ShardSelector};
use windlass::model::{Key, ResourceId};
use windlass::{KindInfo, ObjectRef, only_metadata};

use crate::api::Api;
use crate::cache::{Cache, Change, Head, Source};

pub(crate) use backoff::JitteredBackoff;
pub(crate) use follow::follow;
use gate::{Gate, Passing};
use refresh::Refresh;
pub use selection::Selection;
pub use state::InformerState;
pub(crate) use state::StateCell;

/// A change of one object.
pub(crate) struct WatchEvent {
    pub(crate) kind: Arc<KindInfo>,
    pub(crate) key: Key,
    pub(crate) before: Option<Arc<Value>>,
    pub(crate) after: Option<Arc<Value>>,
    pub(crate) origin: EventOrigin,
}

/// Why a watch event was reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventOrigin {
    /// The object was in the initial list.
    Initial,
    /// The object has just changed.
    Live,
    /// This process has just written it.
    OwnWrite,
}

/// Handles watch events.
pub(crate) trait EventHandler: Send + Sync {
    /// Called once for each change.
    fn changed(&self, event: &WatchEvent);
}

/// A list and watch of a selection, its cache, and the handlers of its events.
pub(crate) struct Informer {
    pub(crate) kind: Arc<KindInfo>,
    pub(crate) selection: Selection,
    pub(crate) cache: Cache,
    pub(crate) state: StateCell,
    refresh: Refresh,
    labels: LabelSelector,
    fields: FieldSelector,
    gate: Gate,
    handlers: RwLock<Vec<Arc<dyn EventHandler>>>,
}

impl Informer {
    pub(crate) fn new(kind: KindInfo, selection: Selection) -> Result<Self, String> {
        Ok(Informer {
            kind: Arc::new(kind),
            labels: LabelSelector::parse(selection.labels.as_deref().unwrap_or_default())?,
            fields: FieldSelector::parse(selection.fields.as_deref().unwrap_or_default())?,
            gate: Gate::new(selection.shards.as_deref())?,
            selection,
            cache: Cache::default(),
            state: StateCell::default(),
            refresh: Refresh::default(),
            handlers: RwLock::default(),
        })
    }

    /// Notifies all handlers.
    fn announce(&self, change: &Change, origin: EventOrigin) {
        let (before, after) =
            (change.before.as_deref().and_then(read), change.after.as_deref().and_then(read));
        self.announce_as(change, before, after, origin);
    }

    /// As [`Informer::announce`], for objects that are parsed already.
    fn announce_as(
        &self,
        change: &Change,
        before: Option<Arc<Value>>,
        after: Option<Arc<Value>>,
        origin: EventOrigin,
    ) {
        let event = self.event(&change.key, before, after, origin);
        for handler in self.handlers.read().unwrap_or_else(PoisonError::into_inner).iter() {
            handler.changed(&event);
        }
    }

    fn event(
        &self,
        key: &ObjectRef,
        before: Option<Arc<Value>>,
        after: Option<Arc<Value>>,
        origin: EventOrigin,
    ) -> WatchEvent {
        let resource = &self.selection.resource;
        let key = Key::new(&resource.group, &resource.plural, &key.namespace, &key.name);
        WatchEvent { kind: Arc::clone(&self.kind), key, before, after, origin }
    }

    /// What is kept of an object.
    fn kept_text(&self, object: &Value, text: &Arc<str>) -> Arc<str> {
        if self.selection.metadata_only { only_metadata(object).to_string().into() } else { Arc::clone(text) }
    }

    /// Lists everything again, and waits until it is in the cache: whatever was written before is then known.
    pub(crate) async fn refreshed(&self) {
        self.refresh.refreshed().await;
    }

    /// Keeps only what is in some of its shards from now on. What it kept of others is forgotten without any event.
    pub(crate) fn narrow(&self, shards: ShardSelector) {
        let kept = Passing::Shards(shards.clone());
        self.gate.narrow(shards);
        self.cache.forget(|key, uid| !kept.lets_in(&key.namespace, uid));
    }

    /// Takes nothing in any more: what it keeps goes to another one.
    pub(crate) fn shut(&self) {
        self.gate.shut();
    }

    /// Keeps what another informer has kept, which is shut, if it is wanted. What has changed since is announced when
    /// this informer lists for the first time.
    pub(crate) fn absorb(&self, shut: &Informer, wanted: impl Fn(&str) -> bool) {
        let gate = self.gate.held();
        let is_wanted =
            |key: &ObjectRef, uid: &str, text: &str| gate.lets_in(&key.namespace, uid) && wanted(text);
        self.cache.absorb(&shut.cache, is_wanted);
    }

    /// Shows one handler everything that is known, as if it had just been listed.
    pub(crate) fn replay(&self, handler: &dyn EventHandler) {
        let everything = LabelSelector::everything();
        for after in self.cache.list(None, &everything).iter().filter_map(|found| read(&found.text)) {
            let key = ObjectRef::of(&after);
            handler.changed(&self.event(&key, None, Some(after), EventOrigin::Initial));
        }
    }

    /// Adds a handler of all events from now on.
    pub(crate) fn add_event_handler(&self, handler: Arc<dyn EventHandler>) {
        self.handlers.write().unwrap_or_else(PoisonError::into_inner).push(handler);
    }

    /// Whether this informer observes everything that another one would.
    fn covers(&self, other: &Informer) -> bool {
        let (this, that) = (&self.selection, &other.selection);
        // A field selector cannot be evaluated on metadata afterwards.
        let shows_enough = !this.metadata_only || (that.metadata_only && other.fields.is_everything());
        this == that
            || (shows_enough
                && this.shards.is_none()
                && this.reaches(&that.resource, that.namespace.as_deref())
                && other.labels.is_within(&self.labels)
                && other.fields.is_within(&self.fields))
    }

    /// Whether an object is among those that this informer keeps.
    fn selects(&self, object: &Value) -> bool {
        let namespace = windlass::model::object::namespace(object);
        self.selection.namespace.as_deref().is_none_or(|wanted| wanted == namespace)
            && self.labels.matches(&object["metadata"]["labels"])
            && self.fields.matches(object)
    }
}

fn read(text: &str) -> Option<Arc<Value>> {
    serde_json::from_str(text).ok().map(Arc::new)
}

/// Informers by what they select. Several may select the same: controllers that are sharded have informers of their own.
#[derive(Default)]
struct Open {
    by_selection: BTreeMap<(Selection, u64), Arc<Informer>>,
    added: u64,
}

impl Open {
    fn add(&mut self, informer: &Arc<Informer>) {
        self.added += 1;
        self.by_selection.insert((informer.selection.clone(), self.added), Arc::clone(informer));
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Informer>> {
        self.by_selection.values()
    }
}

/// All informers of a process.
pub(crate) struct Informers {
    api: Api,
    informers: Mutex<Open>,
}

impl Informers {
    /// None yet.
    pub(crate) fn new(api: Api) -> Self {
        Informers { api, informers: Mutex::default() }
    }

    pub(crate) fn api(&self) -> &Api {
        &self.api
    }

    /// Returns an informer that covers a selection, and possibly more; creates one if there is none. It does nothing until
    /// it is followed. Its cache is indexed by the given labels.
    ///
    /// # Errors
    /// When a selector cannot be read.
    pub(crate) fn open<'a>(
        &self,
        kind: &KindInfo,
        selection: Selection,
        indexed: impl Iterator<Item = &'a str>,
    ) -> Result<Arc<Informer>, String> {
        let wanted = Informer::new(kind.clone(), selection)?;
        let mut informers = self.lock();
        let known = informers.all().find(|known| known.covers(&wanted)).cloned();
        let informer = known.unwrap_or_else(|| {
            let made = Arc::new(wanted);
            informers.add(&made);
            made
        });
        indexed.for_each(|label| informer.cache.index(label));
        Ok(informer)
    }

    /// Adds an informer of a selection, whatever other informers cover. It does nothing until it is followed.
    ///
    /// # Panics
    /// If a selector cannot be read.
    pub(crate) fn add<'a>(
        &self,
        kind: &KindInfo,
        selection: Selection,
        indexed: impl Iterator<Item = &'a str>,
    ) -> Arc<Informer> {
        let informer = Arc::new(Informer::new(kind.clone(), selection).expect("the selector was made here"));
        indexed.for_each(|label| informer.cache.index(label));
        self.lock().add(&informer);
        informer
    }

    /// Removes an informer that is no longer followed.
    pub(crate) fn close(&self, closed: &Arc<Informer>) {
        self.lock().by_selection.retain(|_, known| !Arc::ptr_eq(known, closed));
    }

    /// All informers.
    pub(crate) fn all(&self) -> Vec<Arc<Informer>> {
        self.lock().all().cloned().collect()
    }

    /// The state of each informer.
    pub(crate) fn states(&self) -> Vec<(Selection, InformerState)> {
        self.all().iter().map(|informer| (informer.selection.clone(), informer.state.get())).collect()
    }

    /// A synced informer of all objects of a kind, in a namespace or (`None`) in all.
    pub(crate) fn covering(&self, resource: &ResourceId, namespace: Option<&str>) -> Option<Arc<Informer>> {
        self.synced(resource, namespace, |informer| informer.selection.is_whole())
    }

    /// A synced informer of all objects of a kind that selectors match, in a namespace or (`None`) in all.
    pub(crate) fn covering_selection(
        &self,
        resource: &ResourceId,
        namespace: Option<&str>,
        labels: &LabelSelector,
        fields: &FieldSelector,
    ) -> Option<Arc<Informer>> {
        let covers = |informer: &Informer| {
            let Informer { labels: wider, fields: more, selection, .. } = informer;
            let partial = selection.metadata_only || selection.shards.is_some();
            !partial && labels.is_within(wider) && fields.is_within(more)
        };
        self.synced(resource, namespace, covers)
    }

    /// An informer that knows an object, though perhaps not all others.
    pub(crate) fn knowing(&self, resource: &ResourceId, key: &ObjectRef) -> Option<Arc<Informer>> {
        let namespace = Some(key.namespace.as_str()).filter(|namespace| !namespace.is_empty());
        let knows =
            |informer: &Informer| !informer.selection.metadata_only && informer.cache.get(key).is_some();
        self.synced(resource, namespace, knows)
    }

    fn synced(
        &self,
        resource: &ResourceId,
        namespace: Option<&str>,
        wanted: impl Fn(&Informer) -> bool,
    ) -> Option<Arc<Informer>> {
        let informers = self.lock();
        let mut reaching = informers.all().filter(|informer| informer.selection.reaches(resource, namespace));
        reaching.find(|informer| informer.state.is_synced() && wanted(informer)).cloned()
    }

    /// Adds the response to an own write to the caches, so that every later read sees it. Returns the text that is
    /// cached, if any. The previous text was mostly parsed already, and `known` returns its value.
    pub(crate) fn wrote(
        &self,
        resource: &ResourceId,
        object: &Arc<Value>,
        text: &str,
        known: impl Fn(&Arc<str>) -> Option<Arc<Value>>,
    ) -> Option<Arc<str>> {
        let informers = self.of(resource);
        // A subresource may be answered with an object of another kind.
        let mut informers =
            informers.iter().filter(|informer| object["kind"] == *informer.kind.kind).peekable();
        informers.peek()?;
        let text: Arc<str> = text.into();
        // What is another's is not gone for that.
        for informer in informers.filter(|informer| informer.gate.lets_in(object)) {
            let head = Head::of(object, &informer.cache.indexed()).ok()?;
            let change = if head.is_last {
                informer.cache.delete_own(&head.key, Some(&head.uid))
            } else if !informer.selects(object) {
                informer.cache.unselect_own(&head)
            } else {
                informer.cache.put(head, informer.kept_text(object, &text), Source::OwnWrite)
            };
            match change {
                Some(change) if informer.selection.metadata_only => {
                    informer.announce(&change, EventOrigin::OwnWrite)
                }
                Some(change) => {
                    let before = change.before.as_ref().and_then(|text| known(text).or_else(|| read(text)));
                    let after = change.after.is_some().then(|| Arc::clone(object));
                    informer.announce_as(&change, before, after, EventOrigin::OwnWrite);
                }
                None => {}
            }
        }
        Some(text)
    }

    /// Removes an object that this process has deleted from the caches.
    pub(crate) fn deleted(&self, resource: &ResourceId, key: &ObjectRef, uid: Option<&str>) {
        for informer in self.of(resource) {
            if let Some(change) = informer.cache.delete_own(key, uid) {
                informer.announce(&change, EventOrigin::OwnWrite);
            }
        }
    }

    fn of(&self, resource: &ResourceId) -> Vec<Arc<Informer>> {
        self.lock().all().filter(|informer| informer.selection.resource == *resource).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.informers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
