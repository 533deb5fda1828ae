//! The engine: explores any [`Model`], of controllers or of anything else.
//!
//! [`explore`] visits every state, breadth first, and evaluates it; [`simulate`] takes random runs through what is
//! too large for that.

mod arena;
mod batch;
mod ends;
mod exits;
mod expansion;
mod exploration;
mod explore;
mod fair_from;
mod liveness;
mod model;
mod options;
mod pair_list;
mod pair_table;
mod random;
mod retrace;
mod scheduler;
mod search;
mod shard;
mod shared;
mod shorten;
mod simulate;
mod slots;
mod subsumption;
#[cfg(test)]
mod test_models;
#[cfg(test)]
mod tests;
mod tuple_store;
mod walk;
mod weak_fairness;
mod worker;

pub use expansion::Expansion;
pub use exploration::{Exploration, Memory, StopReason};
pub use explore::explore;
pub use model::{Model, Next, Property, PropertyKind};
pub use options::{Fairness, Options, Progress, ProgressCallback};
pub(crate) use random::Random;
pub use scheduler::Scheduler;
pub use simulate::{Simulation, SimulationOptions, simulate};

pub use crate::violation::Violation;
