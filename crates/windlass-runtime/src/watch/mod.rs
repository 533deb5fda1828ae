//! One list and watch per selection of objects, shared by all controllers of a process.

mod backoff;
mod events;
mod follow;
mod state;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use serde_json::Value;
use windlass::model::selector::{FieldSelector, LabelSelector};
use windlass::model::{Key, Request, ResourceId, Verb};
use windlass::{KindInfo, ObjectRef};

use crate::api::Api;
use crate::cache::{Cache, Change, Head, Source};

pub(crate) use backoff::Backoff;
pub(crate) use follow::follow;
pub(crate) use state::StateCell;
pub use state::WatchState;

/// Which objects a watch is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Selection {
    /// Group, version and plural.
    pub resource: ResourceId,
    /// One namespace; `None` for all, and for cluster-scoped kinds.
    pub namespace: Option<String>,
    /// A label selector, as written.
    pub labels: Option<String>,
    /// A field selector, as written.
    pub fields: Option<String>,
}

impl Selection {
    /// All objects of a kind, in one namespace or in all.
    pub fn whole(kind: &KindInfo, namespace: Option<&str>) -> Self {
        let namespace = namespace.filter(|_| kind.namespaced).map(str::to_owned);
        Selection { resource: kind.resource.clone(), namespace, labels: None, fields: None }
    }

    /// The list request of these objects.
    pub(crate) fn request(&self) -> Request {
        let namespace = self.namespace.as_deref().unwrap_or_default();
        let mut request = Request::new(Verb::List, self.resource.clone()).in_namespace(namespace);
        request.options.label_selector.clone_from(&self.labels);
        request.options.field_selector.clone_from(&self.fields);
        request
    }

    /// Whether nothing but the namespace restricts it.
    fn is_whole(&self) -> bool {
        self.labels.is_none() && self.fields.is_none()
    }

    fn covers(&self, resource: &ResourceId, namespace: Option<&str>) -> bool {
        let everywhere = self.namespace.is_none();
        self.resource == *resource
            && self.is_whole()
            && (everywhere || (namespace.is_some() && self.namespace.as_deref() == namespace))
    }
}

impl std::fmt::Display for Selection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ResourceId { group, plural, .. } = &self.resource;
        f.write_str(plural)?;
        if !group.is_empty() {
            write!(f, ".{group}")?;
        }
        if let Some(namespace) = &self.namespace {
            write!(f, " in namespace {namespace}")?;
        }
        let selectors = self.labels.iter().chain(&self.fields);
        selectors.into_iter().try_for_each(|selector| write!(f, " with {selector}"))
    }
}

/// What changed about one object, for those who may have to act on it.
pub(crate) struct News {
    pub(crate) kind: Arc<KindInfo>,
    pub(crate) key: Key,
    pub(crate) before: Option<Arc<Value>>,
    pub(crate) after: Option<Arc<Value>>,
    /// Whether this is how a watch begins, and nothing that happened just now.
    pub(crate) initial: bool,
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
    fn announce(&self, change: &Change, initial: bool) {
        let after = change.after.as_deref().and_then(read);
        self.announce_as(change, after, initial);
    }

    /// The same, for an object that has been read already.
    fn announce_as(&self, change: &Change, after: Option<Arc<Value>>, initial: bool) {
        let resource = &self.selection.resource;
        let ObjectRef { namespace, name } = &change.place;
        let news = News {
            kind: Arc::clone(&self.kind),
            key: Key::new(&resource.group, &resource.plural, namespace, name),
            before: change.before.as_deref().and_then(read),
            after,
            initial,
        };
        for listener in self.listeners.read().unwrap_or_else(PoisonError::into_inner).iter() {
            listener.changed(&news);
        }
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

    /// The watch of a selection, made if there is none. It does nothing until it is followed.
    ///
    /// # Errors
    /// When a selector cannot be read.
    pub(crate) fn add(
        &self,
        kind: &KindInfo,
        selection: Selection,
        listener: Arc<dyn Listener>,
    ) -> Result<Arc<Watch>, String> {
        let mut watches = self.lock();
        let watch = match watches.get(&selection) {
            Some(known) => Arc::clone(known),
            None => {
                let made = Arc::new(Watch::new(kind.clone(), selection.clone())?);
                watches.insert(selection, Arc::clone(&made));
                made
            }
        };
        watch.listeners.write().unwrap_or_else(PoisonError::into_inner).push(listener);
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
        let watches = self.lock();
        let covering = watches.values().find(|watch| watch.selection.covers(resource, namespace));
        covering.filter(|watch| watch.state.is_synced()).cloned()
    }

    /// An own write was answered with this object: whoever reads from now on sees it. Returns the text under which it
    /// is kept, if it is.
    pub(crate) fn wrote(&self, resource: &ResourceId, object: &Arc<Value>, text: &str) -> Option<Arc<str>> {
        let watches = self.of(resource);
        // A subresource may be answered with an object of another kind.
        let mut watches = watches.iter().filter(|watch| object["kind"] == *watch.kind.kind).peekable();
        watches.peek()?;
        let text: Arc<str> = text.into();
        for watch in watches {
            let head = Head::read(&text).ok()?;
            let change = if head.is_last || !watch.selects(object) {
                watch.cache.delete_own(&head.place, Some(&head.uid))
            } else {
                watch.cache.put(head, Arc::clone(&text), Source::OwnWrite)
            };
            if let Some(change) = change {
                let after = change.after.is_some().then(|| Arc::clone(object));
                watch.announce_as(&change, after, false);
            }
        }
        Some(text)
    }

    /// An own delete has removed an object.
    pub(crate) fn deleted(&self, resource: &ResourceId, place: &ObjectRef, uid: Option<&str>) {
        for watch in self.of(resource) {
            if let Some(change) = watch.cache.delete_own(place, uid) {
                watch.announce(&change, false);
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
