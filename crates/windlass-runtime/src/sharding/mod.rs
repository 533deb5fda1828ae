//! Sharding: several instances of a controller share its objects, and each object has exactly one owner.
//!
//! Start with [`ShardSettings`]. The protocol is pure and is in `windlass_shard`; `protocol` drives it. Each reconcile has
//! a `grant`, which is checked at each send; `slot_table` says which slots are served and when one is drained; `parents`
//! and `outputs` watch what belongs to the slots.

mod chunks;
mod clock;
mod coverage_audit;
mod fleet;
mod grant;
mod missing;
mod name_check;
mod outputs;
mod overview;
mod parents;
mod protocol;
mod read_again;
mod registry;
mod rights;
mod serving;
mod settings;
mod shard;
mod shard_support;
mod slot_selection;
mod slot_table;
mod stamp;

pub use grant::Fence;
pub use overview::{
    InstanceOverview, LeaseOverview, MoveOverview, OverviewError, RingOverview, ring_overviews,
};
pub use registry::{LEASE_RING_LABEL, Registries, Registry, lease_name, ring_resource};
pub use settings::{ShardSettings, ShardSettingsError};
pub use stamp::{SLOT_LABEL, WRITER_ANNOTATION, last_write};
pub use windlass_shard::{KeyField, Timing};

pub(crate) use fleet::Fleet;
pub(crate) use grant::{Grant, InFlight, NOT_OWNED};
pub(crate) use read_again::{NotRead, admit_unknown, read_again};
pub(crate) use rights::permissions;
pub(crate) use shard::{Admission, Shard};
pub(crate) use stamp::as_last_written;
