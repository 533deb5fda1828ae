//! The informers of a sharded controller's outputs: watches of its slots, opened and closed while it runs.
//!
//! An output carries its slot as a label, so an instance watches the slots that it owns and no others. Slots that are
//! gained together are one chunk, with one watch per kind and namespace; its first list is the consistent one that the
//! protocol asks for. A chunk that has lost many of its slots, or has many small neighbours, is replaced.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use futures::future::join_all;
use tokio::task::JoinHandle;
use windlass::model::ResourceId;
use windlass::{CONTROLLER_LABEL, WatchDeclaration};
use windlass_shard::Slot;

use crate::enqueuer::Enqueuer;
use crate::informer::{Informer, Informers, Selection, follow};
use crate::subscription::Subscription;

use super::stamp::SLOT_LABEL;

/// The most slots that one watch selects. A longer selector makes a URL that proxies refuse.
const CHUNK_MAX: usize = 512;
/// More chunks than this are merged.
const CHUNKS_MAX: usize = 16;

/// The informers of one controller's outputs.
pub(crate) struct OutputInformers {
    informers: Arc<Informers>,
    namespaces: Vec<String>,
    enqueuer: OnceLock<Weak<Enqueuer>>,
    chunks: Mutex<Vec<Chunk>>,
    /// Outputs that have no slot yet: they were made before the controller was sharded.
    unlabelled: Mutex<Vec<Open>>,
}

/// Slots that are watched together.
struct Chunk {
    /// Those that are this instance's.
    slots: BTreeSet<Slot>,
    /// Number of slots that are watched.
    watched: usize,
    open: Vec<Open>,
}

/// An informer that runs until this is dropped.
struct Open {
    informer: Arc<Informer>,
    informers: Arc<Informers>,
    following: JoinHandle<()>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.following.abort();
        self.informers.close(&self.informer);
    }
}

impl OutputInformers {
    pub(crate) fn new(informers: &Arc<Informers>, namespaces: &[String]) -> Self {
        OutputInformers {
            informers: Arc::clone(informers),
            namespaces: namespaces.to_vec(),
            enqueuer: OnceLock::new(),
            chunks: Mutex::default(),
            unlabelled: Mutex::default(),
        }
    }

    /// Says who is notified, and watches what has no slot yet.
    pub(crate) fn start(&self, enqueuer: &Arc<Enqueuer>) {
        assert!(
            self.enqueuer.set(Arc::downgrade(enqueuer)).is_ok(),
            "outputs are watched for one controller"
        );
        let controller = enqueuer.context.controller.name();
        let opened = self.open(&format!("!{SLOT_LABEL},{CONTROLLER_LABEL}={controller}"));
        *lock(&self.unlabelled) = opened;
    }

    /// Waits until everything that has no slot yet is known.
    pub(crate) async fn unlabelled_synced(&self) {
        let informers: Vec<Arc<Informer>> =
            lock(&self.unlabelled).iter().map(|open| Arc::clone(&open.informer)).collect();
        join_all(informers.iter().map(|informer| informer.state.synced())).await;
    }

    /// Watches slots, and waits until all of their outputs are known.
    pub(crate) async fn load(&self, slots: &[Slot]) {
        let chunks: Vec<Chunk> = slots.chunks(CHUNK_MAX).map(|slots| self.chunk(slots)).collect();
        synced(&chunks).await;
        let mut known = lock(&self.chunks);
        // A slot that was lost and came back is known by its new chunk alone.
        known.iter_mut().for_each(|chunk| slots.iter().for_each(|slot| _ = chunk.slots.remove(slot)));
        known.extend(chunks);
        known.retain(|chunk| !chunk.slots.is_empty());
    }

    /// Slots are another's now.
    pub(crate) fn drop_slots(&self, slots: &[Slot]) {
        let mut known = lock(&self.chunks);
        known.iter_mut().for_each(|chunk| slots.iter().for_each(|slot| _ = chunk.slots.remove(slot)));
        known.retain(|chunk| !chunk.slots.is_empty());
    }

    /// Whether watches carry much that is not this instance's, or could be fewer.
    pub(crate) fn is_wasteful(&self) -> bool {
        let chunks = lock(&self.chunks);
        let (owned, watched) = chunks
            .iter()
            .fold((0, 0), |(owned, watched), chunk| (owned + chunk.slots.len(), watched + chunk.watched));
        chunks.len() > CHUNKS_MAX.max(2 * owned.div_ceil(CHUNK_MAX)) || watched > owned + owned / 20
    }

    /// Watches what is owned by as few watches as possible, and closes the others when these know everything.
    pub(crate) async fn compact(&self) {
        let owned: BTreeSet<Slot> = lock(&self.chunks).iter().flat_map(|chunk| chunk.slots.clone()).collect();
        let slots: Vec<Slot> = owned.iter().copied().collect();
        let mut replaced: Vec<Chunk> = slots.chunks(CHUNK_MAX).map(|slots| self.chunk(slots)).collect();
        synced(&replaced).await;
        let mut known = lock(&self.chunks);
        let still: BTreeSet<Slot> = known.iter().flat_map(|chunk| chunk.slots.iter().copied()).collect();
        replaced.iter_mut().for_each(|chunk| chunk.slots.retain(|slot| still.contains(slot)));
        // What was gained meanwhile has chunks of its own, which stay.
        known.iter_mut().for_each(|chunk| chunk.slots.retain(|slot| !owned.contains(slot)));
        known.extend(replaced);
        known.retain(|chunk| !chunk.slots.is_empty());
    }

    /// Ends all watches.
    pub(crate) fn close(&self) {
        lock(&self.chunks).clear();
        lock(&self.unlabelled).clear();
    }

    /// The informer that knows all outputs of a kind in a slot, in a namespace or (`None`) in all.
    pub(crate) fn of_slot(
        &self,
        resource: &ResourceId,
        namespace: Option<&str>,
        slot: Slot,
    ) -> Option<Arc<Informer>> {
        let chunks = lock(&self.chunks);
        let open = chunks.iter().filter(|chunk| chunk.slots.contains(&slot)).flat_map(|chunk| &chunk.open);
        find(open, resource, namespace)
    }

    /// The informer that knows all outputs of a kind that have no slot yet.
    pub(crate) fn without_slot(
        &self,
        resource: &ResourceId,
        namespace: Option<&str>,
    ) -> Option<Arc<Informer>> {
        find(lock(&self.unlabelled).iter(), resource, namespace)
    }

    fn chunk(&self, slots: &[Slot]) -> Chunk {
        let values: Vec<String> = slots.iter().map(ToString::to_string).collect();
        let open = self.open(&format!("{SLOT_LABEL} in ({})", values.join(",")));
        Chunk { slots: slots.iter().copied().collect(), watched: slots.len(), open }
    }

    /// Opens an informer for each output kind and namespace, of what a label selector selects.
    fn open(&self, labels: &str) -> Vec<Open> {
        let Some(enqueuer) = self.enqueuer.get().and_then(Weak::upgrade) else { return Vec::new() };
        let watches = enqueuer.context.controller.declaration().all_watches();
        let outputs = watches.iter().enumerate().filter(|(_, watch)| watch.is_of_outputs());
        outputs.flat_map(|(number, watch)| self.open_kind(&enqueuer, number, watch, labels)).collect()
    }

    fn open_kind(
        &self,
        enqueuer: &Arc<Enqueuer>,
        number: usize,
        watch: &WatchDeclaration,
        labels: &str,
    ) -> Vec<Open> {
        let selected = |selection| Selection { labels: Some(labels.to_owned()), ..selection };
        let selections = Selection::all_of(watch, &self.namespaces).map(selected);
        let open = |selection| {
            let informer = self.informers.add(&watch.kind, selection, watch.indexed_labels());
            informer.add_event_handler(Arc::new(Subscription::to_outputs(enqueuer, number)));
            let (api, followed) = (self.informers.api().clone(), Arc::clone(&informer));
            let following = tokio::spawn(async move { follow(&api, &followed).await });
            Open { informer, informers: Arc::clone(&self.informers), following }
        };
        selections.map(open).collect()
    }
}

fn find<'a>(
    mut open: impl Iterator<Item = &'a Open>,
    resource: &ResourceId,
    namespace: Option<&str>,
) -> Option<Arc<Informer>> {
    let reaches = |open: &&Open| open.informer.selection.reaches(resource, namespace);
    open.find(|open| reaches(open) && open.informer.state.is_synced()).map(|open| Arc::clone(&open.informer))
}

async fn synced(chunks: &[Chunk]) {
    let open = chunks.iter().flat_map(|chunk| &chunk.open);
    join_all(open.map(|open| open.informer.state.synced())).await;
}

fn lock<Guarded>(mutex: &Mutex<Guarded>) -> MutexGuard<'_, Guarded> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
