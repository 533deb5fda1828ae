//! A registry in memory, for tests and simulations: registers with versions that grow.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::lease::{InstanceId, Lease};
use crate::registry::{Answer, Request, Version, Versioned};
use crate::ring::{Epoch, Ring};

/// A registry in memory: what the Kubernetes API or etcd is for a real fleet.
#[derive(Clone, Debug, Default)]
pub struct MemoryRegistry {
    ring: Option<Versioned<Arc<Ring>>>,
    leases: BTreeMap<InstanceId, Versioned<Lease>>,
    last: u64,
    /// The epoch of the last ring that was deleted.
    deleted: Epoch,
    /// Swaps of the ring that were performed.
    pub swaps: u64,
    /// Swaps of the ring that were refused.
    pub conflicts: u64,
}

impl MemoryRegistry {
    /// The ring as it is.
    pub fn ring(&self) -> Option<Arc<Ring>> {
        self.ring.as_ref().map(|ring| ring.value.clone())
    }

    /// Deletes the ring, as somebody might by hand.
    pub fn delete_ring(&mut self) {
        if let Some(ring) = self.ring.take() {
            self.deleted = ring.value.epoch();
        }
    }

    /// Performs a request.
    pub fn perform(&mut self, request: &Request) -> Answer {
        match request {
            Request::ReadRing if self.ring.is_none() && self.deleted != Epoch::default() => {
                Answer::RingGone(self.deleted)
            }
            Request::ReadRing => Answer::Ring(self.ring.clone()),
            Request::ReadLeases(ids) => {
                Answer::Leases(ids.iter().map(|id| (id.clone(), self.leases.get(id).cloned())).collect())
            }
            Request::SwapLease { id, expected, lease } => {
                if self.leases.get(id).map(|lease| lease.version) != *expected {
                    return Answer::Conflict;
                }
                let version = self.next_version();
                self.leases.insert(id.clone(), Versioned::new(version, *lease));
                Answer::Swapped(version)
            }
            Request::SwapRing { expected, ring } => {
                if self.ring.as_ref().map(|ring| ring.version) != *expected {
                    self.conflicts += 1;
                    return Answer::Conflict;
                }
                self.swaps += 1;
                let version = self.next_version();
                self.ring = Some(Versioned::new(version, ring.clone()));
                Answer::Swapped(version)
            }
        }
    }

    fn next_version(&mut self) -> Version {
        self.last += 1;
        Version(self.last)
    }
}
