//! With a real etcd: see `cargo xtask envtest`.

mod failures;
mod history;
mod instances;
mod lost_answers;
mod protocol;
mod security;
mod swaps;
mod values;
mod watch;
