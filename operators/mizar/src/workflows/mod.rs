//! The workflows, and how far each of them has come: read from the conditions of objects, without any state of their own.

mod progress;
mod table;

pub use progress::{Progress, Tracked, progress};
pub use table::{WORKFLOWS, Workflow, WorkflowStep};
