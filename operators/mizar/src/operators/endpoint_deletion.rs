//! The workflow that deletes an endpoint: its bouncers forget it, then its droplet. When it is gone, another one can have its
//! address.

use windlass::{Cx, Machine, Outcome, States, done, to};

use super::endpoint_bouncers::around;
use super::parts::{Parts, all_droplets_of_bouncers, hosted_endpoint, interface, on, one_endpoint};
use super::program::Program;
use crate::api::Endpoint;
use crate::mistake::Mistake;
use crate::settings::MizarSettings;
use crate::tables::Inventory;

/// The finalizer machine of whoever gave the endpoint its address.
pub(crate) struct EndpointDeletion {
    settings: MizarSettings,
}

/// The steps of the workflow.
#[derive(States)]
pub(crate) enum EndpointDeletionStep {
    /// No row asks for the address any more: an endpoint that is being deleted has none. The claim stays until the endpoint
    /// is gone, and is released by [`AllocationOperator`](super::AllocationOperator): whatever is tried again until then
    /// is about this endpoint, and not about another one with its address.
    #[state(
        initial,
        condition = "Deallocated",
        when_true = "It gives its address back",
        next(BouncersForget)
    )]
    Deallocation,
    /// No bouncer knows the endpoint.
    #[state(condition = "BouncersCleared", when_true = "No bouncer knows it", next(EndpointForgets))]
    BouncersForget,
    /// The endpoint knows no bouncer.
    #[state(condition = "EndpointCleared", when_true = "It knows no bouncer")]
    EndpointForgets,
}

impl EndpointDeletion {
    pub(crate) fn new(settings: &MizarSettings) -> Self {
        EndpointDeletion { settings: settings.clone() }
    }
}

impl Machine for EndpointDeletion {
    type Parent = Endpoint;
    type State = EndpointDeletionStep;

    async fn run(&self, step: EndpointDeletionStep, cx: &Cx<Endpoint>) -> Outcome<EndpointDeletionStep> {
        let endpoint = cx.parent();
        let at_bouncers =
            |inventory: &Inventory| on(all_droplets_of_bouncers(inventory), &one_endpoint(endpoint));
        let at_host = |_: &Inventory| -> Parts {
            let mut part = hosted_endpoint(endpoint);
            part.scopes.extend(interface(endpoint).filter(|_| !self.settings.has(Mistake::LeavesInterfaces)));
            endpoint.spec.droplet.clone().map(|droplet| (droplet, part)).into_iter().collect()
        };
        match step {
            EndpointDeletionStep::Deallocation if endpoint.state().address.ip.is_none() => done(),
            EndpointDeletionStep::Deallocation => to(EndpointDeletionStep::BouncersForget),
            EndpointDeletionStep::BouncersForget => {
                if self.settings.has(Mistake::ForgetsInAnotherOrder) {
                    Program::new(&self.settings, around(&self.settings, cx), &at_host).run(cx).await?;
                }
                let program = Program::new(&self.settings, around(&self.settings, cx), &at_bouncers);
                match program.run(cx).await?.or_wait(&self.settings) {
                    Ok(_) => to(EndpointDeletionStep::EndpointForgets),
                    Err(waits) => waits,
                }
            }
            EndpointDeletionStep::EndpointForgets => {
                let program = Program::new(&self.settings, around(&self.settings, cx), &at_host);
                match program.run(cx).await?.or_wait(&self.settings) {
                    Ok(_) => done(),
                    Err(waits) => waits,
                }
            }
        }
    }
}
