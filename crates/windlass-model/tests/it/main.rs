//! All integration tests in one binary: linking many takes longer than running them.

mod authorization;
mod bad_input;
mod create;
mod definitions;
mod delete;
mod gc;
mod mutating_policies;
mod namespaces;
mod ownership;
mod patch;
mod policies;
mod protection;
mod service_accounts;
mod services;
mod subresources;
mod support;
mod unenforced;
mod update;
mod validation;
mod workloads;
mod write_rules;
