//! Tests of the engine as a whole.

mod exploring;
mod liveness;
mod reductions;
mod simulating;

use crate::trace::Trace;

/// The actions of a trace.
fn actions(trace: &Trace) -> Vec<&str> {
    trace.steps.iter().map(|step| step.action.as_str()).collect()
}
