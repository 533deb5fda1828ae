//! The workflows, and how far each of them has come: read from the conditions of objects, without any state of their own.

mod metrics;
mod progress;
mod table;

pub use metrics::WorkflowMetrics;
pub use progress::{Progress, Tracked, is_done, progress, workflow_of};
pub use table::{WORKFLOWS, Workflow, WorkflowStep};
