//! The workflow that deletes a VPC: its networks first, then its dividers. When it is gone, another one can have
//! its VNI.

use windlass::{Cx, Machine, Outcome, Select, States, done, to, waiting};

use super::allocation::some_names;
use super::triggers::FALLBACK;
use crate::api::{Divider, Subnet, Vpc};

/// The finalizer machine of the VPC operator.
pub(crate) struct VpcDeletion;

/// The steps of the workflow.
#[derive(States)]
pub(crate) enum VpcDeletionStep {
    /// No network is left.
    #[state(initial, condition = "NetworksGone", when_true = "None of its networks is left", next(Dividers))]
    Networks,
    /// No divider is left.
    #[state(condition = "DividersGone", when_true = "None of its dividers is left")]
    Dividers,
}

impl Machine for VpcDeletion {
    type Parent = Vpc;
    type State = VpcDeletionStep;

    async fn run(&self, step: VpcDeletionStep, cx: &Cx<Vpc>) -> Outcome<VpcDeletionStep> {
        let of_vpc = || Select::all().fields(&format!("spec.vpc={}", cx.name()));
        match step {
            VpcDeletionStep::Networks => {
                let left: Vec<Subnet> = cx.list(of_vpc()).await?;
                if !left.is_empty() {
                    let message = format!("delete its networks first: {}", some_names(&left));
                    return waiting(FALLBACK, "NetworksLeft", message);
                }
                to(VpcDeletionStep::Dividers)
            }
            VpcDeletionStep::Dividers => {
                let left: Vec<Divider> = cx.list(of_vpc()).await?;
                for divider in left.iter().filter(|divider| divider.metadata.deletion_timestamp.is_none()) {
                    cx.delete(divider).await?;
                }
                if !left.is_empty() {
                    let message =
                        format!("{} of its dividers are being deleted: {}", left.len(), some_names(&left));
                    return waiting(FALLBACK, "DividersLeft", message);
                }
                done()
            }
        }
    }
}
