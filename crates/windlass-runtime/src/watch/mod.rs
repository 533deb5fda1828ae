//! One list and watch per selection of objects, shared by all controllers of a process.

mod backoff;
mod events;
mod follow;
mod selection;
mod state;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use serde_json::Value;
use windlass::model::selector::{FieldSelector, LabelSelector};
use windlass::model::{Key, ResourceId};
use windlass::{KindInfo, ObjectRef, only_metadata};

use crate::api::Api;
use crate::cache::{Cache, Change, Head, Source};

pub(crate) use backoff::Backoff;
pub(crate) use follow::follow;
pub use selection::Selection;
pub(crate) use state::StateCell;
pub use state::WatchState;

/// What changed about one object, for those who may have to act on it.
pub(crate) struct News {
    pub(crate) kind: Arc<KindInfo>,
    pub(crate) key: Key,
    pub(crate) before: Option<Arc<Value>>,
    pub(crate) after: Option<Arc<Value>>,
    pub(crate) moment: Moment,
}

/// How it comes that a watch tells of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The watch begins, and the object is there.
    Initial,
    /// Something happened just now.
    Live,
    /// This process has just written it.
    OwnWrite,
}

/// Whoever acts on changes.
pub(crate) trait Listener: Send + Sync {
    /// Is told of each change once.
    fn changed(&self, news: &News);
}

/// One watch, its cache, and who is told of its changes.
pub(crate) struct Watch {
    pub(crate) kind: Arc<KindInfo>,
    pub(crate) selection: Selection,
    pub(crate) cache: Cache,
    pub(crate) state: StateCell,
    labels: LabelSelector,
    fields: FieldSelector,
    listeners: RwLock<Vec<Arc<dyn Listener>>>,
}

impl Watch {
    fn new(kind: KindInfo, selection: Selection) -> Result<Self, String> {
        Ok(Watch {
            kind: Arc::new(kind),
            labels: LabelSelector::parse(selection.labels.as_deref().unwrap_or_default())?,
            fields: FieldSelector::parse(selection.fields.as_deref().unwrap_or_default())?,
            selection,
            cache: Cache::default(),
            state: StateCell::default(),
            listeners: RwLock::default(),
        })
    }

    /// Tells everybody who is concerned.
    fn announce(&self, change: &Change, moment: Moment) {
        let (before, after) =
            (change.before.as_deref().and_then(read), change.after.as_deref().and_then(read));
        self.announce_as(change, before, after, moment);
    }

    /// The same, for an object that has been read already.
    fn announce_as(
        &self,
        change: &Change,
        before: Option<Arc<Value>>,
        after: Option<Arc<Value>>,
        moment: Moment,
    ) {
        let resource = &self.selection.resource;
        let ObjectRef { namespace, name } = &change.place;
        let news = News {
            kind: Arc::clone(&self.kind),
            key: Key::new(&resource.group, &resource.plural, namespace, name),
            before,
            after,
            moment,
        };
        for listener in self.listeners.read().unwrap_or_else(PoisonError::into_inner).iter() {
            listener.changed(&news);
        }
    }

    /// What is kept of an object.
    fn kept_text(&self, object: &Value, text: &Arc<str>) -> Arc<str> {
        if self.selection.metadata_only { only_metadata(object).to_string().into() } else { Arc::clone(text) }
    }

    /// Tells somebody from now on.
    pub(crate) fn listen(&self, listener: Arc<dyn Listener>) {
        self.listeners.write().unwrap_or_else(PoisonError::into_inner).push(listener);
    }

    /// Whether this tells all that another watch would tell.
    fn covers(&self, other: &Watch) -> bool {
        let (this, that) = (&self.selection, &other.selection);
        // What is selected by fields cannot be told from metadata afterwards.
        let tells_enough = !this.metadata_only || (that.metadata_only && other.fields.is_everything());
        this == that
            || (tells_enough
                && this.reaches(&that.resource, that.namespace.as_deref())
                && other.labels.is_within(&self.labels)
                && other.fields.is_within(&self.fields))
    }

    /// Whether an object is among those that this watch is about.
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

/// All watches of a process.
pub(crate) struct Watches {
    api: Api,
    watches: Mutex<BTreeMap<Selection, Arc<Watch>>>,
}

impl Watches {
    /// None yet.
    pub(crate) fn new(api: Api) -> Self {
        Watches { api, watches: Mutex::default() }
    }

    pub(crate) fn api(&self) -> &Api {
        &self.api
    }

    /// A watch that tells of a selection, and perhaps of more: made, if there is none yet. It does nothing until it is
    /// followed. Objects are found by the values of some labels.
    ///
    /// # Errors
    /// When a selector cannot be read.
    pub(crate) fn open<'a>(
        &self,
        kind: &KindInfo,
        selection: Selection,
        indexed: impl Iterator<Item = &'a str>,
    ) -> Result<Arc<Watch>, String> {
        let wanted = Watch::new(kind.clone(), selection)?;
        let mut watches = self.lock();
        let known = watches.values().find(|known| known.covers(&wanted)).cloned();
        let watch = known.unwrap_or_else(|| {
            let made = Arc::new(wanted);
            watches.insert(made.selection.clone(), Arc::clone(&made));
            made
        });
        indexed.for_each(|label| watch.cache.index(label));
        Ok(watch)
    }

    /// All watches.
    pub(crate) fn all(&self) -> Vec<Arc<Watch>> {
        self.lock().values().cloned().collect()
    }

    /// How each watch is doing.
    pub(crate) fn states(&self) -> Vec<(Selection, WatchState)> {
        self.all().iter().map(|watch| (watch.selection.clone(), watch.state.get())).collect()
    }

    /// A watch that has told all there is of a kind, in a namespace or (`None`) in all.
    pub(crate) fn covering(&self, resource: &ResourceId, namespace: Option<&str>) -> Option<Arc<Watch>> {
        self.synced(resource, namespace, |watch| watch.selection.is_whole())
    }

    /// A watch that has told all that selectors select of a kind, in a namespace or (`None`) in all.
    pub(crate) fn covering_selection(
        &self,
        resource: &ResourceId,
        namespace: Option<&str>,
        labels: &LabelSelector,
        fields: &FieldSelector,
    ) -> Option<Arc<Watch>> {
        let covers = |watch: &Watch| {
            let Watch { labels: wider, fields: more, selection, .. } = watch;
            !selection.metadata_only && labels.is_within(wider) && fields.is_within(more)
        };
        self.synced(resource, namespace, covers)
    }

    /// A watch that knows an object, though perhaps not all others.
    pub(crate) fn knowing(&self, resource: &ResourceId, place: &ObjectRef) -> Option<Arc<Watch>> {
        let namespace = Some(place.namespace.as_str()).filter(|namespace| !namespace.is_empty());
        let knows = |watch: &Watch| !watch.selection.metadata_only && watch.cache.get(place).is_some();
        self.synced(resource, namespace, knows)
    }

    fn synced(
        &self,
        resource: &ResourceId,
        namespace: Option<&str>,
        wanted: impl Fn(&Watch) -> bool,
    ) -> Option<Arc<Watch>> {
        let watches = self.lock();
        let mut reaching = watches.values().filter(|watch| watch.selection.reaches(resource, namespace));
        reaching.find(|watch| watch.state.is_synced() && wanted(watch)).cloned()
    }

    /// An own write was answered with this object: whoever reads from now on sees it. Returns the text under which it
    /// is kept, if it is. What it was before was most often read already, and `known` has it.
    pub(crate) fn wrote(
        &self,
        resource: &ResourceId,
        object: &Arc<Value>,
        text: &str,
        known: impl Fn(&Arc<str>) -> Option<Arc<Value>>,
    ) -> Option<Arc<str>> {
        let watches = self.of(resource);
        // A subresource may be answered with an object of another kind.
        let mut watches = watches.iter().filter(|watch| object["kind"] == *watch.kind.kind).peekable();
        watches.peek()?;
        let text: Arc<str> = text.into();
        for watch in watches {
            let head = Head::of(object, &watch.cache.indexed()).ok()?;
            let change = if head.is_last {
                watch.cache.delete_own(&head.place, Some(&head.uid))
            } else if !watch.selects(object) {
                watch.cache.unselect_own(&head)
            } else {
                watch.cache.put(head, watch.kept_text(object, &text), Source::OwnWrite)
            };
            match change {
                Some(change) if watch.selection.metadata_only => watch.announce(&change, Moment::OwnWrite),
                Some(change) => {
                    let before = change.before.as_ref().and_then(|text| known(text).or_else(|| read(text)));
                    let after = change.after.is_some().then(|| Arc::clone(object));
                    watch.announce_as(&change, before, after, Moment::OwnWrite);
                }
                None => {}
            }
        }
        Some(text)
    }

    /// An own delete has removed an object.
    pub(crate) fn deleted(&self, resource: &ResourceId, place: &ObjectRef, uid: Option<&str>) {
        for watch in self.of(resource) {
            if let Some(change) = watch.cache.delete_own(place, uid) {
                watch.announce(&change, Moment::OwnWrite);
            }
        }
    }

    fn of(&self, resource: &ResourceId) -> Vec<Arc<Watch>> {
        self.lock().values().filter(|watch| watch.selection.resource == *resource).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Selection, Arc<Watch>>> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
