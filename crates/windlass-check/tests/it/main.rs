//! All integration tests in one binary: linking many takes longer than running them.

mod code_bugs;
mod crash_points;
mod faults;
mod outputs;
mod page;
mod policies;
mod properties;
mod reductions;
mod regressions;
mod renumbering;
mod schedules;
mod services;
mod staleness;
mod steps;
mod things;
mod traces;
mod triggers;
mod vacuity;
mod workloads;
