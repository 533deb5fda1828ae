//! Who owns which object, when several instances of a controller share the work.
//!
//! # The problem
//! One process reconciles a few hundred thousand objects; a fleet of processes shall reconcile more, and go on when one
//! of them dies. Each object must then have **exactly one** owner at any time. Two owners undo each other's work, and an
//! object without an owner is forgotten.
//!
//! # Slots
//! Objects hash into a fixed number of [slots](Slot), 4096 by default. A slot never changes, so it can be a label of the
//! object's children; what changes is the owner of a slot. With slots, a membership change is a few entries of a table,
//! however many objects there are.
//!
//! ```
//! use windlass_shard::{Slot, SlotCount, moves};
//!
//! // Where an object belongs is a function of its uid alone.
//! let count = SlotCount::DEFAULT;
//! let slot = Slot::of("6f1d7a52-4c1f-4d6f-9d0e-0c6a2f1b7c11", count);
//! assert!(slot.index() < count.get());
//!
//! // A third instance joins two: it gets a third of the slots, and no slot moves between the two others.
//! let mut owners: Vec<Option<usize>> = (0..count.get()).map(|slot| Some(slot % 2)).collect();
//! let planned = moves(&owners, 3, None);
//! assert_eq!(planned.len(), 4096 / 3);
//! assert!(planned.iter().all(|planned| planned.to == 2));
//!
//! // Every instance computes the same answer, and there is nothing left to do after it.
//! planned.iter().for_each(|planned| owners[planned.slot.index()] = Some(planned.to));
//! assert!(moves(&owners, 3, None).is_empty());
//! ```
//!
//! # The protocol
//! Each instance renews a [`Lease`], and all of them compare-and-swap one [`Ring`], the table of members and owners.
//! [`Instance`] is the first type to read: a state machine without I/O that says what to ask of the registry
//! ([`Instance::next`]), what to do with slots ([`Instance::take_commands`]), and, before each request for an object,
//! whether it may be sent ([`Instance::permit`]). A slot changes hands only after its owner has drained it and said so, or
//! after the owner's lease has provably ended.
//!
//! ```
//! use windlass_shard::{Command, Instance, InstanceId, MemoryRegistry, Millis, Next, Slot, SlotCount, Timing};
//!
//! let mut registry = MemoryRegistry::default();
//! let count = SlotCount::new(1)?;
//! let mut now = Millis(0);
//! let mut instance = Instance::new(InstanceId::new("a"), count, Timing::default(), now);
//!
//! // It reads, gets a lease, makes the ring, and is idle until it has to renew.
//! while let Next::Ask(request) = instance.next(now) {
//!     instance.answered(registry.perform(&request), now);
//! }
//! let commands = instance.take_commands();
//! let [Command::Load(slot, epoch)] = commands[..] else { panic!("it owns the slot: {commands:?}") };
//! assert_eq!(instance.permit(slot, now), None, "its objects are not known yet");
//!
//! instance.loaded(slot, epoch);
//! assert!(instance.permit(slot, now).is_some());
//!
//! // Without a renewal, the permit ends: another instance may take over now.
//! now = now.plus(Timing::default().renew_ms);
//! assert_eq!(instance.permit(slot, now), None);
//! # Ok::<(), windlass_shard::InvalidSlotCount>(())
//! ```

mod assign;
mod coverage;
mod directory;
pub mod fleet;
mod instance;
mod lease;
#[cfg(feature = "measure")]
pub mod measure;
mod memory;
#[cfg(feature = "model")]
pub mod model;
mod mutation;
mod registry;
mod ring;
mod rules;
mod slot;
mod timing;

pub use assign::{Move, moves};
pub use coverage::{Coverage, CoverageGaps, InvalidServedSlots, ServedSlots};
pub use directory::{Directory, Observed, Preprocessed, Processed, Record, Status, Uid};
pub use instance::{Command, Instance, Next, Permit};
pub use lease::{Incarnation, InstanceId, Lease};
pub use memory::MemoryRegistry;
#[cfg(any(test, feature = "model"))]
pub use mutation::Mutation;
pub use registry::{Answer, Request, Version, Versioned};
pub use ring::{
    Delta, Epoch, InstanceStatus, KeyField, LastRing, Member, Ownership, Phase, Ring, RingError, RingSpec,
    RingStatus, RingTimes, RunStatus,
};
pub use slot::{InvalidSlotCount, Slot, SlotCount, SlotRange, runs};
pub use timing::{Millis, Timing, TimingError};
