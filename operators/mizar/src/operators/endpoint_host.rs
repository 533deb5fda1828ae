//! The endpoint operator, for endpoints: the droplet that hosts an endpoint learns of all bouncers of its network.

use serde_json::json;
use windlass::{Cx, Declaration, Machine, Outcome, States, done, waiting, watching};

use super::endpoint_bouncers::around;
use super::parts::{Parts, hosted_endpoint};
use super::program::Program;
use super::triggers::{FALLBACK, once};
use crate::api::{Bouncer, Droplet, Endpoint};
use crate::settings::MizarSettings;
use crate::tables::Inventory;

/// Programs the droplets that host endpoints.
pub struct EndpointHost {
    settings: MizarSettings,
}

/// The steps of a reconcile.
#[derive(States)]
pub enum EndpointHostStep {
    /// The endpoint knows all bouncers.
    #[state(initial, condition = "EndpointReady", when_true = "It knows all bouncers of its network")]
    EndpointUpdated,
}

impl EndpointHost {
    /// The operator.
    pub fn new(settings: &MizarSettings) -> Self {
        EndpointHost { settings: settings.clone() }
    }
}

impl Machine for EndpointHost {
    type Parent = Endpoint;
    type State = EndpointHostStep;

    fn declare(&self, declaration: &mut Declaration) {
        declaration
            .name("mizar-endpoint-host")
            .parents(watching::<Endpoint>().fields("spec.type!=scaled").when(once(
                |endpoint: &Endpoint| endpoint.bouncers_know().is_some(),
                |endpoint| endpoint.state().hosted,
            )))
            .watches::<Bouncer>(|_| Vec::new())
            .watches::<Droplet>(|_| Vec::new());
    }

    async fn run(&self, _: EndpointHostStep, cx: &Cx<Endpoint>) -> Outcome<EndpointHostStep> {
        let endpoint = cx.parent();
        if endpoint.state().hosted {
            return done();
        }
        if endpoint.bouncers_know().is_none() {
            return waiting(FALLBACK, "BouncersNotReady", "the bouncer operator works on it");
        }
        let parts = |_: &Inventory| -> Parts {
            endpoint.spec.droplet.iter().map(|droplet| (droplet.clone(), hosted_endpoint(endpoint))).collect()
        };
        let program = Program::new(&self.settings, around(&self.settings, cx), &parts);
        match program.run(cx).await?.or_wait(&self.settings) {
            Ok(_) => {
                cx.report(&json!({ "hosted": true }))?;
                done()
            }
            Err(waits) => waits,
        }
    }
}
