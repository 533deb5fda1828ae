//! Shows that instances that share the objects of a controller never write one of them at the same time, and never lose
//! one: with real processes, on real servers, under faults.
//!
//! [`run::run`] starts a fleet of instances of a small controller, each behind proxies of its own, edits its objects, and
//! makes [`fault`]s by a seed. The [`audit::Auditor`] reads the history of the API server from outside and proves from it
//! what must hold. `cargo xtask chaos` runs it.

pub mod audit;
pub mod editor;
pub mod fault;
pub mod fleet;
pub mod follow;
pub mod instance;
mod observe;
pub mod plan;
pub mod proxy;
mod random;
pub mod report;
pub mod run;
pub mod servers;
pub mod setup;
pub mod strike;
pub mod task;
pub mod witness;
