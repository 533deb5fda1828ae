//! What those who run a controller need: metrics, health, events, preflight, leader election.

pub mod endpoints;
pub mod metrics;
