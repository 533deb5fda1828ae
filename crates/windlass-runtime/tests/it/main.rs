//! The runtime against a real API server: the embedded one, and kube-apiserver.
//!
//! Scenarios that need nothing but a client run on both.

mod contests;
mod declared;
mod faults;
mod kubernetes;
mod leaders;
mod load;
mod machines;
mod managers;
mod operations;
mod plans;
mod recordings;
mod rules;
mod scenarios;
mod sharding;
mod support;
mod watches;
