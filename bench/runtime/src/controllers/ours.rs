//! The machine of the first example.

use std::time::Duration;

use anyhow::Result;
use kube::Client;
use two_configmaps::{Pair, TwoConfigMaps};
use windlass::{Cx, Declaration, Machine, Outcome};
use windlass_runtime::Manager;

type Step = <TwoConfigMaps as Machine>::State;

/// The machine, and how often it looks at everything again.
struct Resynced {
    machine: TwoConfigMaps,
    resync: Option<Duration>,
}

impl Machine for Resynced {
    type Parent = Pair;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        self.machine.declare(declaration);
        if let Some(interval) = self.resync {
            declaration.resync(interval);
        }
    }

    async fn run(&self, step: Step, cx: &Cx<Pair>) -> Outcome<Step> {
        self.machine.run(step, cx).await
    }
}

/// The peers publish no events and ask for no permissions, so neither does this.
pub(super) async fn run(client: Client, namespace: &str, resync: Option<Duration>) -> Result<()> {
    let controller = Resynced { machine: TwoConfigMaps, resync };
    let manager = Manager::new().controller(controller).client(client).namespace(namespace);
    Ok(manager.events(false).preflight(false).run().await?)
}
