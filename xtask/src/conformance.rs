//! `cargo xtask conformance`: builds what the scripts are performed against, and performs them.

use std::path::Path;

use anyhow::Result;

use crate::arguments::{ConformancePlan, Target};
use crate::envtest;
use crate::process::{cargo, run as execute};

/// Builds the embedded server and the runner, finds a real API server, and hands on the arguments.
pub(crate) fn run(root: &Path, plan: &ConformancePlan) -> Result<()> {
    let needs_kubernetes = plan.record || plan.against.contains(&Target::Kubernetes);
    let assets = if needs_kubernetes { Some(envtest::provide(root)?) } else { envtest::find(root)? };
    let mut command = cargo(root);
    command.args(["run", "--quiet", "--package", "conformance", "--"]).args(runner_arguments(plan));
    if let Some(assets) = assets {
        command.env(envtest::VARIABLE, assets);
    }
    let compares = !plan.list && !plan.record;
    if compares && (plan.against.is_empty() || plan.against.contains(&Target::Server)) {
        execute(cargo(root).args(["build", "--quiet", "--package", "windlass-cli"]))?;
        command.arg("--windlass").arg(root.join("target/debug/windlass"));
    }
    execute(&mut command)
}

/// The plan as arguments of the runner.
fn runner_arguments(plan: &ConformancePlan) -> Vec<String> {
    let mut arguments = Vec::new();
    if let Some(name) = &plan.only {
        arguments.extend(["--only".to_owned(), name.clone()]);
    }
    if !plan.against.is_empty() {
        let names: Vec<&str> = plan.against.iter().map(|target| target.name()).collect();
        arguments.push(format!("--against={}", names.join(",")));
    }
    if plan.list {
        arguments.push("--list".to_owned());
    }
    if plan.record {
        arguments.push("--record".to_owned());
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_reaches_the_runner() {
        let against = vec![Target::Model, Target::Kubernetes];
        let plan = ConformancePlan { only: Some("apply/".to_owned()), against, list: true, record: true };
        assert_eq!(
            runner_arguments(&plan),
            ["--only", "apply/", "--against=model,kubernetes", "--list", "--record"]
        );
        assert!(runner_arguments(&ConformancePlan::default()).is_empty());
    }
}
