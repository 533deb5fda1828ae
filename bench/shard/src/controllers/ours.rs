//! The controller on Windlass: a program as a user writes it.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::CustomResourceExt;
use two_configmaps::{Pair, config_map};
use windlass::{CallError, Cx, Declaration, Machine, Outcome, Service, States, done, waiting};
use windlass_app::{AppController, ManagerArguments};
use windlass_runtime::{Manager, ServiceClient};

/// Its name, and that of its ring.
pub(crate) const NAME: &str = "one-configmap";

/// Makes one ConfigMap for each `Pair`.
struct OneConfigMap;

#[derive(States)]
enum Step {
    #[state(initial, condition = "Made")]
    Make,
}

/// Something outside that takes its time.
struct Outside;

impl Service for Outside {
    const NAME: &'static str = "outside";
    type Request = ();
    type Response = ();
}

impl Machine for OneConfigMap {
    type Parent = Pair;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.name(NAME).output::<ConfigMap>();
    }

    async fn run(&self, step: Step, cx: &Cx<Pair>) -> Outcome<Step> {
        let Step::Make = step;
        let map = config_map("cm1", cx.parent());
        let name = map.metadata.name.clone().unwrap_or_default();
        // As the peers do: what is as wanted already needs nothing from outside.
        let is_made = cx
            .cached::<ConfigMap>(&name)
            .await
            .is_ok_and(|there| there.is_some_and(|there| there.data == map.data));
        if !is_made && let Err(error) = cx.call(Outside, ()).await {
            return waiting(Duration::from_secs(1), "NoAnswer", error.to_string());
        }
        cx.ensure(map);
        done()
    }
}

struct Sleeper(Duration);

impl ServiceClient<Outside> for Sleeper {
    async fn call(&self, (): ()) -> Result<(), CallError> {
        tokio::time::sleep(self.0).await;
        Ok(())
    }
}

#[derive(Args)]
struct WaitArguments {
    /// How long the call of something outside takes.
    #[arg(long, value_name = "MS", default_value_t = 0)]
    wait_ms: u64,
}

impl ManagerArguments for WaitArguments {
    /// The peers publish no events and ask for no permissions, so neither does this.
    fn configure(&self, manager: Manager) -> anyhow::Result<Manager> {
        let manager = manager.service(Outside, Sleeper(Duration::from_millis(self.wait_ms)));
        Ok(manager.events(false).preflight(false))
    }
}

/// The program: `run one-configmap ...`.
pub(crate) fn main() -> ExitCode {
    windlass_app::main(|app| {
        let controller = AppController::new(OneConfigMap).definition(Pair::crd());
        app.arguments::<WaitArguments>().about("One ConfigMap for each Pair").controller(controller)
    })
}
