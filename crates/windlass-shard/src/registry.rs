//! What an instance asks of the registry: a few registers that are read and compared-and-swapped.
//!
//! There is one register for each instance, its [`Lease`], and one for the [`Ring`]. The registry may be the Kubernetes
//! API or etcd; all that it must do is to refuse a swap unless the register is as the instance has seen it.

use std::sync::Arc;

use crate::lease::{InstanceId, Lease};
use crate::ring::{Epoch, Ring};

/// The version of a register: another one after each write, and a greater one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u64);

/// A register as it was read or written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Versioned<Value> {
    /// Its version.
    pub version: Version,
    /// What it held.
    pub value: Value,
}

impl<Value> Versioned<Value> {
    /// A value with its version.
    pub fn new(version: Version, value: Value) -> Self {
        Versioned { version, value }
    }
}

/// A request to the registry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    /// Read the ring. It must be an uncached read.
    ReadRing,
    /// Read these leases, uncached.
    ReadLeases(Vec<InstanceId>),
    /// Write a lease if it is still of this version; without a version, if there is none.
    SwapLease {
        /// Whose lease.
        id: InstanceId,
        /// The version that is to be replaced.
        expected: Option<Version>,
        /// What to write.
        lease: Lease,
    },
    /// Write the ring if it is still of this version; without a version, if there is none.
    SwapRing {
        /// The version that is to be replaced.
        expected: Option<Version>,
        /// What to write.
        ring: Arc<Ring>,
    },
}

/// The registry's answer to a [`Request`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The ring; none if there never was one.
    Ring(Option<Versioned<Arc<Ring>>>),
    /// There is no ring, but there was one: the leases of its members have seen this epoch.
    RingGone(Epoch),
    /// The leases that were asked for; none for those that do not exist.
    Leases(Vec<(InstanceId, Option<Versioned<Lease>>)>),
    /// It is written, and has this version now.
    Swapped(Version),
    /// It is not written: the register had another version.
    Conflict,
    /// No answer came, or an error that leaves open whether it is written: it may even be written later.
    Unknown,
}
