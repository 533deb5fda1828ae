//! Plans: everything that a process can do in its situation, worked out once.
//!
//! Most of what a process does depends on the network in two ways only: whether a message of its own is still on
//! its way, and whether a message may come again. So a plan is made for each situation, with what it does to the
//! network, and to other processes, left open. A second kind of plan holds what clients, the network and the
//! cluster's own controllers can do. All workers share the plans; each remembers those it has met.

mod plan;
mod planner;
mod recent;
mod situation;
pub(super) mod stored;

pub(super) use plan::{Open, Planned};
pub(super) use planner::{EnvironmentPlanId, Planner, PlansOfAll};
pub(super) use situation::{NumberedSituations, Situation, SituationId, Situations};
