//! Runs machines on any Kubernetes that a kubeconfig, or the pod's own account, can reach.

#![allow(dead_code, reason = "the manager, which uses these, follows")]

mod api;
mod cache;
pub mod operations;
pub mod queue;
mod watch;

pub use api::Api;
pub use watch::{Selection, WatchState, Watches};
