//! Virtual networks: VPCs, networks and endpoints as custom resources, the operators that provision them, and the daemon
//! that keeps the tables of a node.
//!
//! Start with [`tables::Inventory`]: it says which rows the objects ask for, and everything else makes it so. [`api`] has the
//! objects, [`operators`] the machines, [`droplets`] what they call, and [`daemon`] what answers.
//!
//! ```
//! use windlass_mizar::MizarSettings;
//! use windlass_mizar::operators;
//!
//! let names: Vec<String> =
//!     operators::all(&MizarSettings::default()).iter().map(|one| one.name().to_owned()).collect();
//! assert!(names.contains(&"mizar-vpc".to_owned()));
//! ```

pub mod address;
pub mod api;
pub mod audit;
pub mod builtins;
pub mod daemon;
pub mod droplets;
mod mistake;
pub mod names;
pub mod operators;
mod settings;
mod suite;
pub mod tables;
pub mod wire;
pub mod workflows;
pub mod worlds;

pub use mistake::Mistake;
pub use settings::{MizarSettings, SettingError};
pub use suite::{Operator, suite};

/// The version of the protocol between operators and daemons.
pub const PROTOCOL: u32 = 1;
