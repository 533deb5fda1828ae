//! All integration tests in one binary: linking many takes longer than running them.

mod fixture;
mod outputs;
mod parents;
mod permissions;
mod recordings;
mod reports;
mod rules;
mod triggers;
