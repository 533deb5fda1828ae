//! The two states of an object that persist. What lies between them is in conditions.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether an object does its work already.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum Phase {
    /// It was created, and some operator still has something to do before it works.
    #[default]
    Init,
    /// It works: all droplets that have to know of it do.
    Provisioned,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Phase::Init => "Init",
            Phase::Provisioned => "Provisioned",
        })
    }
}
