//! The informers of a sharded controller's outputs. An output carries its slot as a label, so an instance watches the
//! slots that it owns and no others.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use futures::future::join_all;
use windlass::CONTROLLER_LABEL;
use windlass::WatchDeclaration;
use windlass::model::ResourceId;
use windlass_shard::{Slot, SlotCount};

use crate::api::Api;
use crate::enqueuer::Enqueuer;
use crate::informer::{Informer, Informers, Selection};

use super::chunks::{Chunks, Open, find, lock};
use super::slot_selection::SlotSelection;
use super::stamp::SLOT_LABEL;

/// The informers of one controller's outputs.
pub(crate) struct OutputInformers {
    chunks: Chunks,
    /// Outputs that have no slot yet: they were made before the controller was sharded.
    unlabelled: Mutex<Vec<Open>>,
}

impl OutputInformers {
    pub(crate) fn new(informers: &Arc<Informers>, namespaces: &[String], count: SlotCount) -> Self {
        let is_watched = WatchDeclaration::is_of_outputs;
        let chunks = Chunks::new((informers, namespaces), SlotSelection::Label(count), is_watched, None);
        OutputInformers { chunks, unlabelled: Mutex::default() }
    }

    /// The API server that they are watched on.
    pub(crate) fn api(&self) -> &Api {
        self.chunks.informers.api()
    }

    /// Says who is notified, and watches what has no slot yet.
    pub(crate) fn start(&self, enqueuer: &Arc<Enqueuer>) {
        self.chunks.start(enqueuer);
        let labels = format!("!{SLOT_LABEL},{CONTROLLER_LABEL}={}", enqueuer.context.controller.name());
        let added =
            self.chunks.add_with(&|selection| Selection { labels: Some(labels.clone()), ..selection });
        let open = added.into_iter().map(|informer| Open::follow(informer, &self.chunks.informers));
        *lock(&self.unlabelled) = open.collect();
    }

    /// Waits until everything that has no slot yet is known.
    pub(crate) async fn unlabelled_synced(&self) {
        let informers: Vec<Arc<Informer>> =
            lock(&self.unlabelled).iter().map(|open| Arc::clone(&open.informer)).collect();
        join_all(informers.iter().map(|informer| informer.state.synced())).await;
    }

    /// Watches slots, and waits until all of their outputs are known.
    pub(crate) async fn load(&self, slots: &[Slot]) {
        self.chunks.load(slots).await;
    }

    /// Slots are another's now.
    pub(crate) fn drop_slots(&self, slots: &BTreeSet<Slot>) {
        self.chunks.drop_slots(slots);
    }

    /// Whether watches carry much that is not this instance's, or could be fewer.
    pub(crate) fn is_wasteful(&self) -> bool {
        self.chunks.is_wasteful()
    }

    /// Watches what is owned by as few watches as possible.
    pub(crate) fn compact(&self) {
        self.chunks.compact();
    }

    /// Ends all watches.
    pub(crate) fn close(&self) {
        self.chunks.close();
        lock(&self.unlabelled).clear();
    }

    /// The informer that knows all outputs of a kind in a slot, in a namespace or (`None`) in all.
    pub(crate) fn of_slot(
        &self,
        resource: &ResourceId,
        namespace: Option<&str>,
        slot: Slot,
    ) -> Option<Arc<Informer>> {
        self.chunks.of_slot(resource, namespace, slot)
    }

    /// The informer that knows all outputs of a kind that have no slot yet.
    pub(crate) fn without_slot(
        &self,
        resource: &ResourceId,
        namespace: Option<&str>,
    ) -> Option<Arc<Informer>> {
        find(lock(&self.unlabelled).iter(), resource, namespace)
    }
}
