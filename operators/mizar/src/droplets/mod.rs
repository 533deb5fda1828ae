//! The daemons on the droplets, as the operators call them: one service, with a client for real ones and a model for checks.

mod client;
mod model;
mod service;

pub use client::{DropletClient, DropletClientSettings};
pub use model::{DaemonEvent, DaemonsModel};
pub use service::{Daemon, DropletAnswer, DropletInfo, DropletRequest, Droplets};
