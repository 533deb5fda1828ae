//! The registry in etcd: the same registers as in memory, and what happens when etcd fails.
//!
//! What needs a real etcd is in `real_etcd`, by which name `cargo xtask test` skips it where none can be built.

mod real_etcd;
mod registers;
mod support;
mod unreachable;
