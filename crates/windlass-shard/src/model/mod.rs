//! The protocol as a model for the checker: every interleaving of instances, registry, clock, network and faults.
//!
//! [`World`] is a few instances that share a few slots. The instances are the production code ([`Instance`]). Their
//! registry is a set of registers, and their writes to objects stay in flight for as long as the protocol allows.
//!
//! What is simplified: an instance sends its next request as soon as it can, and time passes only when all that are not
//! paused have done what they wanted (unless a stall says otherwise). The answer comes with the performance of a request,
//! unless the process is paused. A slot is loaded at once. A write to an object never arrives early: arriving early is
//! like not having been sent, as far as others can see.

mod faults;
mod narrate;
mod parts;
mod process;
mod registers;
mod state;
mod step;
mod world;
mod worlds;

pub use faults::Faults;
pub use state::State;
pub use world::{Action, World};
pub use worlds::{NamedWorld, worlds};

use crate::instance::Instance;
use crate::mutation::Mutation;
use crate::timing::Timing;

/// The shortest times with which every rule matters: a lease and a permit of two units, requests that take up to two.
pub(crate) const TIMING: Timing =
    Timing { lease_ms: 2, renew_ms: 2, request_ms: 2, retry_ms: 1, drift_ms: 0, settle_ms: 0 };
