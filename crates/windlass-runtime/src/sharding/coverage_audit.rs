//! The coverage audit of a running fleet: the few oldest instances compare what all say they serve.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use windlass::model::Body;
use windlass_shard::{Coverage, CoverageGaps, ServedSlots, Slot};

use crate::controller_context::ControllerContext;
use crate::informer::Selection;
use crate::operations::metrics::ShardMetrics;

use super::registry::Registry;
use super::shard::Shard;
use super::slot_selection::SlotSelection;

/// Audits one ring.
pub(super) struct CoverageAudit {
    shard: Arc<Shard>,
    context: Arc<ControllerContext>,
    metrics: ShardMetrics,
    coverage: Coverage,
    found: CoverageGaps,
    /// How often that has changed: of reports that overlap, the last one counts.
    changes: Arc<AtomicU64>,
}

impl CoverageAudit {
    pub(super) fn new(shard: &Arc<Shard>, context: &Arc<ControllerContext>, metrics: &ShardMetrics) -> Self {
        CoverageAudit {
            shard: Arc::clone(shard),
            context: Arc::clone(context),
            metrics: metrics.clone(),
            coverage: Coverage::new(shard.count(), shard.timing.lease_ms),
            found: CoverageGaps::default(),
            changes: Arc::default(),
        }
    }

    /// Looks at what instances serve by the leases that were just read; returns the gaps if they have changed.
    pub(super) fn look(&mut self, registry: &dyn Registry) -> Option<CoverageGaps> {
        let here: ServedSlots = self.shard.slots().served().collect();
        registry.serve(here.clone());
        let gaps = if self.shard.instance().watches_all() {
            let mut served = registry.served();
            // What the lease says of this instance is older.
            served.insert(self.shard.instance().id().clone(), here);
            self.coverage.observe(served.values(), self.shard.now())
        } else {
            self.coverage.forget();
            CoverageGaps::default()
        };
        if gaps == self.found {
            return None;
        }
        self.found = gaps.clone();
        self.changes.fetch_add(1, Ordering::Relaxed);
        Some(gaps)
    }

    /// Counts the objects in gaps, and says so.
    pub(super) fn report(&self, gaps: CoverageGaps) -> impl Future<Output = ()> + use<> {
        let (shard, context) = (Arc::clone(&self.shard), Arc::clone(&self.context));
        let (metrics, changes) = (self.metrics.clone(), Arc::clone(&self.changes));
        let number = changes.load(Ordering::Relaxed);
        async move {
            let unowned = objects_in(&shard, &context, &gaps.unserved).await;
            let doubly_owned = objects_in(&shard, &context, &gaps.served_twice).await;
            if changes.load(Ordering::Relaxed) != number {
                return;
            }
            metrics.set_coverage(unowned, doubly_owned);
            let ring = &shard.spec.controller_type;
            if gaps == CoverageGaps::default() {
                tracing::info!(ring, "each slot is served by one instance again");
                return;
            }
            let slots = |slots: &BTreeSet<Slot>| slots.iter().copied().collect::<ServedSlots>().to_string();
            let (unserved, served_twice) = (slots(&gaps.unserved), slots(&gaps.served_twice));
            tracing::error!(
                ring,
                unserved,
                served_twice,
                unowned,
                doubly_owned,
                "for longer than a lease, slots were served by no instance or by two"
            );
        }
    }
}

/// How many parents are in some slots. Where this instance does not know them all, the API server is asked.
async fn objects_in(shard: &Arc<Shard>, context: &ControllerContext, slots: &BTreeSet<Slot>) -> usize {
    if slots.is_empty() {
        return 0;
    }
    if !shard.knows_own_alone() {
        return slots.iter().map(|slot| shard.parents_of(*slot).len()).sum();
    }
    let by_hash = SlotSelection::Hash(shard.spec.key, shard.count());
    let declared = &context.controller.declaration().all_watches()[0];
    let mut objects = 0;
    for selection in Selection::all_of(declared, &shard.spec.namespaces) {
        for slots in by_hash.split(slots) {
            let request = by_hash.restrict(selection.clone(), &slots).request();
            if let Body::List(list) = &shard.outputs().api().perform(&request).await.body {
                objects += list.items.len();
            }
        }
    }
    objects
}
