//! Two-phase commit: several resource managers commit a transaction together, or none of them does.
//!
//! Each manager works, and then either prepares, and says so, or gives up by itself. A coordinator that has heard
//! from all managers may decide to commit; it may decide to abort at any time. Managers then follow the decision.
//! Messages are never lost, but arrive in any order, and any number of times.
//!
//! No controller is involved: [`TwoPhaseCommit`] is a `Model`, and the same engine explores it. Start there, and see
//! [`State`] for how a whole transaction fits in two words.

mod model;
mod permutations;
mod state;

pub use model::{Action, TwoPhaseCommit};
pub use state::{Decision, Phase, State};
