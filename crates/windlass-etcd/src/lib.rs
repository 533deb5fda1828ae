//! The registry of a fleet of instances in etcd: its ring and its leases.
//!
//! Start with [`EtcdConnection::open`]; [`EtcdConnection::registry`] then gives the registry of a controller type, which
//! performs what a [`windlass_shard::Instance`] asks.
//!
//! ```no_run
//! use windlass_etcd::{EtcdConnection, EtcdOptions};
//! use windlass_shard::{Answer, KeyField, Request, RingSpec};
//!
//! # async fn example() -> Result<(), windlass_etcd::EtcdError> {
//! let options: EtcdOptions = "etcd://127.0.0.1:2379".parse()?;
//! let connection = EtcdConnection::open(&options)?;
//! let registry = connection.registry(&RingSpec::new("virtualmachine", 4096, KeyField::Uid))?;
//! match registry.perform(&Request::ReadRing).await {
//!     Answer::Ring(ring) => println!("{} members", ring.map_or(0, |ring| ring.value.members().len())),
//!     _ => println!("{}", registry.last_error().unwrap_or_default()),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Keys
//! | key | value | what it is |
//! | --- | --- | --- |
//! | `/windlass/rings/TYPE` | `{"spec": …, "status": …}` | the ring, with the fields of a `ControllerRing` object |
//! | `/windlass/epochs/TYPE` | `{"epoch": 17}` | the epoch of the ring, which remains when somebody deletes the ring |
//! | `/windlass/leases/TYPE/ID` | `{"incarnation": 3, "alive": true}` | the lease of an instance: a register of the protocol |
//! | `/windlass/served/TYPE/ID` | `0-1023,2048` | the slots that an instance serves, for the coverage audit |
//! | `/windlass/controllers/TYPE/ID` | `{"incarnation": 3}` | the instance is there; bound to an etcd lease with a timeout |
//!
//! The version of a register is its `mod_revision`. A swap is a transaction that compares it (with 0 for a register that must
//! not exist yet), and reads are linearizable. That is all that the protocol needs.
//!
//! # Two kinds of leases
//! etcd has leases of its own: keys that are bound to one vanish when it is not renewed in time. The list of instances,
//! [`EtcdConnection::instances`], is made of them. **Who owns what never depends on them**, for these reasons:
//!
//! - An instance would have to know until when its etcd lease is valid. The answer to a keep-alive names a duration, not a
//!   time; it counts from before the keep-alive was sent at the earliest. In a stream of keep-alives, a duration of 0 or less
//!   means that the lease has ended, and no error is reported.
//! - The end of an etcd lease is decided by a clock of the leader. Each new leader lets all leases begin again, so it can be
//!   late by any time; and durations are whole seconds.
//! - A key that has vanished says nothing about requests of its instance that are still in flight, and nothing prevents a
//!   late write of the instance to other keys. (Locks that rest on etcd leases are no mutual exclusion for the same reason.)
//!
//! The lease of the protocol is an ordinary key instead. Its instance swaps it at every renewal, so it has a new
//! `mod_revision`, which others watch by their own clocks. Who sees it unchanged for long enough *ends* it by a swap that
//! compares the last `mod_revision` that was seen. Either the renewal comes first, and then this swap is refused; or the
//! end comes first, and then every later renewal is refused, however late it arrives. Only after its own swap has succeeded
//! does an instance give the slots of the other away, by a swap that compares the ring. The checker explores this protocol
//! (`windlass check sharding`); with etcd leases it would rest on clocks alone. The transaction that ends a lease also
//! takes the instance off the list.
//!
//! # When etcd fails
//! Whatever goes wrong is [`Answer::Unknown`](windlass_shard::Answer::Unknown), after which an instance asks again, and stops
//! acting when its last good renewal is too old. [`EtcdRegistry::last_error`] and a warning in the log say what is wrong and
//! what to do. A swap is sent to another member only if it is certain that the first has not performed it.
//!
//! If etcd was restored from a backup, the registers have gone back, and instances that know newer ones would disagree with
//! those that do not. This is noticed by the revision and the number of the cluster: every answer is then `Unknown`, all
//! instances stop acting, and have to be restarted.

mod client;
mod connection;
mod endpoints;
mod error;
mod follow;
mod history;
mod keys;
mod options;
mod presence;
mod problems;
mod record;
mod registry;
mod transaction;
mod wire;

pub use connection::{EtcdConnection, InstanceEntry, RingEntry};
pub use error::EtcdError;
pub use options::{EtcdIdentity, EtcdOptions, EtcdTls, EtcdUser};
pub use record::StoredRing;
pub use registry::EtcdRegistry;
