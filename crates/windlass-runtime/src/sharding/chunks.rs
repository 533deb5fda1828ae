//! Watches of slots, opened and closed while a controller runs.
//!
//! Slots that are gained together are one chunk, with one watch per kind and namespace; its first list is the consistent
//! one that the protocol asks for. A chunk that has lost many of its slots, or has many small neighbours, is replaced.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use futures::future::join_all;
use tokio::task::JoinHandle;
use windlass::model::ResourceId;
use windlass::{ObjectRef, WatchDeclaration};
use windlass_shard::Slot;

use crate::cache::Found;
use crate::enqueuer::Enqueuer;
use crate::informer::{EventHandler, Informer, Informers, Selection, follow};
use crate::subscription::Subscription;

use super::slot_selection::SlotSelection;

/// More chunks than this are merged.
const CHUNKS_MAX: usize = 16;

/// The watches of one controller that are of slots: those of its outputs, or those of its parents.
pub(crate) struct Chunks {
    pub(super) informers: Arc<Informers>,
    pub(super) namespaces: Vec<String>,
    selection: SlotSelection,
    is_watched: fn(&WatchDeclaration) -> bool,
    /// Who is notified before the enqueuer.
    first: Option<Arc<dyn EventHandler>>,
    enqueuer: OnceLock<Weak<Enqueuer>>,
    known: Mutex<Vec<Chunk>>,
}

/// Slots that are watched together.
struct Chunk {
    /// Those that are this instance's, and known by no later chunk.
    slots: BTreeSet<Slot>,
    /// Number of slots that are watched.
    watched: usize,
    open: Vec<Open>,
}

/// An informer that runs until this is dropped.
pub(super) struct Open {
    pub(super) informer: Arc<Informer>,
    informers: Arc<Informers>,
    following: JoinHandle<()>,
}

impl Open {
    /// Follows an informer from now on.
    pub(super) fn follow(informer: Arc<Informer>, informers: &Arc<Informers>) -> Self {
        let (api, followed) = (informers.api().clone(), Arc::clone(&informer));
        let following = tokio::spawn(async move { follow(&api, &followed).await });
        Open { informer, informers: Arc::clone(informers), following }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.informer.shut();
        self.following.abort();
        self.informers.close(&self.informer);
        // No one finds it any more, and no one should wait for it.
        self.informer.state.set_synced();
    }
}

impl Chunk {
    fn is_synced(&self) -> bool {
        self.open.iter().all(|open| open.informer.state.is_synced())
    }
}

impl Chunks {
    pub(super) fn new(
        (informers, namespaces): (&Arc<Informers>, &[String]),
        selection: SlotSelection,
        is_watched: fn(&WatchDeclaration) -> bool,
        first: Option<Arc<dyn EventHandler>>,
    ) -> Self {
        Chunks {
            informers: Arc::clone(informers),
            namespaces: namespaces.to_vec(),
            selection,
            is_watched,
            first,
            enqueuer: OnceLock::new(),
            known: Mutex::default(),
        }
    }

    /// Says who is notified.
    pub(super) fn start(&self, enqueuer: &Arc<Enqueuer>) {
        let is_new = self.enqueuer.set(Arc::downgrade(enqueuer)).is_ok();
        assert!(is_new, "slots are watched for one controller");
    }

    /// Watches slots, and waits until all of their objects are known.
    pub(super) async fn load(&self, slots: &[Slot]) {
        let slots: BTreeSet<Slot> = slots.iter().copied().collect();
        // A slot that was lost and came back is known by its new chunk alone.
        self.drop_slots(&slots);
        let chunks: Vec<Chunk> =
            self.selection.split(&slots).into_iter().map(|slots| self.open(slots)).collect();
        let opened = chunks.iter().flat_map(|chunk| &chunk.open);
        let informers: Vec<Arc<Informer>> = opened.map(|open| Arc::clone(&open.informer)).collect();
        lock(&self.known).extend(chunks);
        join_all(informers.iter().map(|informer| informer.state.synced())).await;
    }

    /// Slots are another's now.
    pub(super) fn drop_slots(&self, slots: &BTreeSet<Slot>) {
        let mut known = lock(&self.known);
        for chunk in known.iter_mut().filter(|chunk| !chunk.slots.is_disjoint(slots)) {
            chunk.slots.retain(|slot| !slots.contains(slot));
            let Some(shards) = self.selection.shards(&chunk.slots) else { continue };
            chunk.open.iter().for_each(|open| open.informer.narrow(shards.clone()));
        }
        known.retain(|chunk| !chunk.slots.is_empty());
    }

    /// Whether watches carry much that is not this instance's, or could be fewer.
    pub(super) fn is_wasteful(&self) -> bool {
        let known = lock(&self.known);
        let synced: Vec<&Chunk> = known.iter().filter(|chunk| chunk.is_synced()).collect();
        let watched: usize = synced.iter().map(|chunk| chunk.watched).sum();
        let owned: BTreeSet<Slot> = synced.iter().flat_map(|chunk| &chunk.slots).copied().collect();
        let fewest = || self.selection.split(&owned).len();
        watched > owned.len() + owned.len() / 20
            || (synced.len() > CHUNKS_MAX && synced.len() > CHUNKS_MAX.max(2 * fewest()))
    }

    /// Watches what is owned by as few watches as possible. They begin with what the others know, which end: what has
    /// changed since is seen in their first list, and nothing else is new in it.
    pub(super) fn compact(&self) {
        let mut known = lock(&self.known);
        let (replaced, mut kept): (Vec<Chunk>, Vec<Chunk>) =
            std::mem::take(&mut *known).into_iter().partition(Chunk::is_synced);
        let owned: BTreeSet<Slot> = replaced.iter().flat_map(|chunk| &chunk.slots).copied().collect();
        let split = self.selection.split(&owned).into_iter();
        // First added, then shut: own writes must always reach one of both.
        let made: Vec<_> = split.map(|slots| (self.add(&slots), slots)).collect();
        replaced.iter().flat_map(|chunk| &chunk.open).for_each(|open| open.informer.shut());
        for (made, slots) in made {
            for (place, informer) in made.iter().enumerate() {
                let others = replaced.iter().filter_map(|chunk| chunk.open.get(place));
                others.for_each(|other| {
                    informer.absorb(&other.informer, |text| self.selection.is_of(text, &slots));
                });
                informer.state.set_synced();
            }
            kept.push(self.follow(slots, made));
        }
        *known = kept;
        // While these are closed, others may be found already.
        drop(known);
        drop(replaced);
    }

    /// Ends all watches.
    pub(super) fn close(&self) {
        lock(&self.known).clear();
    }

    /// The informer that knows all objects of a kind in a slot, in a namespace or (`None`) in all.
    pub(super) fn of_slot(
        &self,
        resource: &ResourceId,
        namespace: Option<&str>,
        slot: Slot,
    ) -> Option<Arc<Informer>> {
        let known = lock(&self.known);
        let open = known.iter().filter(|chunk| chunk.slots.contains(&slot)).flat_map(|chunk| &chunk.open);
        find(open, resource, namespace)
    }

    /// An object, if it is of a slot that is watched.
    pub(super) fn get(&self, key: &ObjectRef) -> Option<Found> {
        let known = lock(&self.known);
        known.iter().flat_map(|chunk| &chunk.open).find_map(|open| open.informer.cache.get(key))
    }

    /// Its uid.
    pub(super) fn uid(&self, key: &ObjectRef) -> Option<Box<str>> {
        let known = lock(&self.known);
        known.iter().flat_map(|chunk| &chunk.open).find_map(|open| open.informer.cache.uid(key))
    }

    fn open(&self, slots: BTreeSet<Slot>) -> Chunk {
        let informers = self.add(&slots);
        self.follow(slots, informers)
    }

    fn follow(&self, slots: BTreeSet<Slot>, informers: Vec<Arc<Informer>>) -> Chunk {
        let open = informers.into_iter().map(|informer| Open::follow(informer, &self.informers)).collect();
        Chunk { watched: slots.len(), slots, open }
    }

    fn add(&self, slots: &BTreeSet<Slot>) -> Vec<Arc<Informer>> {
        self.add_with(&|selection| self.selection.restrict(selection, slots))
    }

    /// Adds an informer for each kind and namespace, of what is selected; always in the same order.
    pub(super) fn add_with(&self, select: &dyn Fn(Selection) -> Selection) -> Vec<Arc<Informer>> {
        let Some(enqueuer) = self.enqueuer.get().and_then(Weak::upgrade) else { return Vec::new() };
        let watches = enqueuer.context.controller.declaration().all_watches().iter().enumerate();
        let watches = watches.filter(|(_, watch)| (self.is_watched)(watch));
        let selections = watches.flat_map(|(number, watch)| {
            Selection::all_of(watch, &self.namespaces).map(move |selection| (number, watch, selection))
        });
        let add = |(number, watch, selection): (usize, &WatchDeclaration, Selection)| {
            let informer = self.informers.add(&watch.kind, select(selection), watch.indexed_labels());
            self.first.iter().for_each(|first| informer.add_event_handler(Arc::clone(first)));
            informer.add_event_handler(Arc::new(Subscription::to_one(&enqueuer, number)));
            informer
        };
        selections.map(add).collect()
    }
}

pub(super) fn find<'a>(
    mut open: impl Iterator<Item = &'a Open>,
    resource: &ResourceId,
    namespace: Option<&str>,
) -> Option<Arc<Informer>> {
    let reaches = |open: &&Open| open.informer.selection.reaches(resource, namespace);
    open.find(|open| reaches(open) && open.informer.state.is_synced()).map(|open| Arc::clone(&open.informer))
}

pub(super) fn lock<Guarded>(mutex: &Mutex<Guarded>) -> MutexGuard<'_, Guarded> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
