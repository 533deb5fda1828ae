//! The command line as a library: one call gives your program `run`, `check`, `plan`, `replay`, `graph`, `crd`,
//! `manifests`, `managers`, `ring`, `simulate` and `completions` for its own controllers.
//!
//! Start with [`main`], and [`App`], which it builds. The `windlass` binary is this library with the bundled controllers.
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use kube::CustomResourceExt;
//! use two_configmaps::{Pair, TwoConfigMaps, pair};
//! use windlass_app::AppController;
//! use windlass_check::check;
//!
//! fn main() -> ExitCode {
//!     windlass_app::main(|app| {
//!         app.about("Two ConfigMaps for each Pair")
//!             .controller(AppController::new(TwoConfigMaps).definition(Pair::crd()))
//!             .check("one-pair", "a single pair converges", || check(TwoConfigMaps).crd(&Pair::crd()).given([pair("a")]))
//!     })
//! }
//! ```

mod address;
mod app;
mod app_check;
mod app_controller;
mod arguments;
mod check;
pub mod columns;
mod command;
mod completions;
#[cfg(feature = "etcd")]
mod etcd_registry;
mod examples;
mod exit;
mod given_arguments;
mod graph;
mod kubeconfig;
pub mod logs;
mod managed_arguments;
mod managers;
mod manifests;
pub mod output;
mod plan;
mod progress_line;
mod protocol;
mod replay;
mod ring;
mod run;
mod seed;
mod shard_arguments;
mod simulate;
mod svg;
pub mod watching;

pub use address::address;
pub use app::{App, main};
pub use app_check::AppCheck;
pub use app_controller::AppController;
pub use arguments::{ManagerArguments, NoArguments};
pub use command::AppCommand;
pub use exit::exit_code;
pub use kubeconfig::config;
pub use protocol::ProtocolWorld;
