//! What the bars of balance, movement and memory are about, at their size: for the tests of this crate and for
//! `cargo xtask bench shard`. Figures, not verdicts: who calls this compares them with the bars.

mod balance;
mod directory;

pub use balance::{Balance, grow_and_shrink, moved_by_rolling_restart};
pub use directory::{Change, OBJECTS, million_objects};
