//! Where instances find each other: the registers of one ring, in the Kubernetes API or elsewhere.

mod kubernetes;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use windlass_shard::{Answer, InstanceId, Request, Ring, RingSpec, ServedSlots, Versioned};

pub(crate) use kubernetes::{KubernetesRegistry, served_slots};
pub use kubernetes::{LEASE_RING_LABEL, lease_name, ring_resource};

/// The registers of one ring: the ring itself, and a lease for each instance.
///
/// It must be linearizable: a read sees every write that was answered before, and a swap compares versions.
pub trait Registry: Send + Sync + 'static {
    /// Performs a request. What leaves open whether it was performed is [`Answer::Unknown`].
    fn perform<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Answer>;

    /// The ring after each change, for as long as it is polled. It may skip changes, and is repaired by itself.
    fn watch_ring(&self) -> BoxStream<'static, Versioned<Arc<Ring>>>;

    /// Why the last request failed; none if it did not.
    fn last_error(&self) -> Option<String>;

    /// Says which slots this instance serves, for others to see from its next renewal on.
    fn serve(&self, served: ServedSlots);

    /// The slots that living instances said to serve when their leases were last read. It is for the coverage audit; no
    /// decision of the protocol reads it.
    fn served(&self) -> BTreeMap<InstanceId, ServedSlots>;

    /// What it is, for messages: `etcd at 127.0.0.1:2379`.
    fn name(&self) -> String;
}

/// The registries of all rings of a process.
pub trait Registries: Send + Sync + 'static {
    /// The registry of a ring. It is made there when the first instance registers.
    fn of_ring(&self, spec: &RingSpec) -> Arc<dyn Registry>;
}
