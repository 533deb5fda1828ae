//! All integration tests in one binary: linking many takes longer than running them.

mod bad_input;
mod create;
mod definitions;
mod delete;
mod gc;
mod namespaces;
mod ownership;
mod patch;
mod subresources;
mod support;
mod update;
mod validation;
mod write_rules;
