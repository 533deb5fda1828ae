//! A spread that looks random and is the same in every run.

use std::hash::{DefaultHasher, Hash, Hasher};

/// A number from 0 to 1 that belongs to a value.
pub(crate) fn hashed_fraction(value: impl Hash) -> f64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    (hasher.finish() % 1_000) as f64 / 1_000.0
}
