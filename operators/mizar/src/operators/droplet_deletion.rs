//! The workflow that deletes a droplet: what is on it is placed elsewhere first.

use windlass::{Cx, Machine, Outcome, States, done, secs, waiting};

use super::droplet::placed_on;
use crate::api::Droplet;

/// The finalizer machine of the droplet operator.
pub(crate) struct DropletDeletion;

/// The steps of the workflow.
#[derive(States)]
pub(crate) enum DropletDeletionStep {
    /// Nothing is placed on it.
    #[state(initial, condition = "Evacuated", when_true = "No divider and no bouncer is placed on it")]
    Evacuation,
}

impl Machine for DropletDeletion {
    type Parent = Droplet;
    type State = DropletDeletionStep;

    async fn run(&self, _: DropletDeletionStep, cx: &Cx<Droplet>) -> Outcome<DropletDeletionStep> {
        let left = placed_on(cx, false).await?;
        // What is listed here is what the droplet operator notifies of the deletion.
        cx.report(&serde_json::json!({ "placed": left, "load": left.len() }))?;
        if left.is_empty() {
            return done();
        }
        let message = format!("to be placed elsewhere: {}", left.join(", "));
        waiting(secs(5), "Evacuating", message)
    }
}
