//! The tables of a droplet, as data: which rows there are, which rows the objects ask for, and what to change.
//!
//! [`Inventory::rows`] is the one place that says which rows a droplet is to have. Operators program parts of it
//! ([`Scope`]), the droplet operator all of it after a daemon was restarted, and the audit compares it with what the daemons
//! say.

mod change;
mod inventory;
mod row;
mod scope;
mod store;

pub use change::{Change, Former, Held, changes};
pub use inventory::{Inventory, Placed};
pub use row::{Key, Row};
pub use scope::Scope;
pub(crate) use store::is_zero;
pub use store::{Outdated, TableStore};
