//! The workflow that deletes a network: its endpoints first, then its bouncers.

use windlass::{Cx, Machine, Outcome, Select, States, done, to, waiting};

use super::allocation::some_names;
use super::triggers::FALLBACK;
use super::view::of_network;
use crate::api::{Bouncer, Endpoint, Subnet};
use crate::mistake::Mistake;
use crate::settings::MizarSettings;

/// The finalizer machine of the network operator.
pub(crate) struct NetworkDeletion {
    settings: MizarSettings,
}

/// The steps of the workflow.
#[derive(States)]
pub(crate) enum NetworkDeletionStep {
    /// No endpoint is left.
    #[state(
        initial,
        condition = "EndpointsGone",
        when_true = "None of its endpoints is left",
        next(Bouncers)
    )]
    Endpoints,
    /// No bouncer is left. Each of them is forgotten by the dividers first, in a workflow of its own.
    #[state(condition = "BouncersGone", when_true = "None of its bouncers is left")]
    Bouncers,
}

impl NetworkDeletion {
    pub(crate) fn new(settings: &MizarSettings) -> Self {
        NetworkDeletion { settings: settings.clone() }
    }
}

impl Machine for NetworkDeletion {
    type Parent = Subnet;
    type State = NetworkDeletionStep;

    async fn run(&self, step: NetworkDeletionStep, cx: &Cx<Subnet>) -> Outcome<NetworkDeletionStep> {
        let selector = of_network(&cx.parent().spec.vpc, cx.name());
        match step {
            NetworkDeletionStep::Endpoints => {
                let left: Vec<Endpoint> = cx.list(Select::all().everywhere().fields(&selector)).await?;
                if !left.is_empty() || self.settings.has(Mistake::NeverDeletesNetworks) {
                    let message = format!("delete its {} endpoints first: {}", left.len(), some_names(&left));
                    return waiting(FALLBACK, "EndpointsLeft", message);
                }
                to(NetworkDeletionStep::Bouncers)
            }
            NetworkDeletionStep::Bouncers => {
                let left: Vec<Bouncer> = cx.list(Select::all().fields(&selector)).await?;
                for bouncer in left.iter().filter(|bouncer| bouncer.metadata.deletion_timestamp.is_none()) {
                    cx.delete(bouncer).await?;
                }
                if !left.is_empty() {
                    let message =
                        format!("{} of its bouncers are being deleted: {}", left.len(), some_names(&left));
                    return waiting(FALLBACK, "BouncersLeft", message);
                }
                done()
            }
        }
    }
}
