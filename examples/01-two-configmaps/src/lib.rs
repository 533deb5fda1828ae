//! The smallest controller: for each `Pair`, two ConfigMaps, the second only after the first.
//!
//! `TwoConfigMaps` is the controller. `SecondFirst` is the same with a mistake, which the check in
//! `tests/` finds.

mod controller;
mod pair;
mod second_first;

pub use controller::TwoConfigMaps;
pub use pair::{Pair, PairSpec, config_map, pair};
pub use second_first::SecondFirst;
