//! `cargo xtask chaos`: instances of a sharded controller under faults, for longer than a test run has time for.

use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;

use crate::arguments::{ChaosPlan, ChaosRegistry, ChaosServer};
use crate::envtest;
use crate::process::{cargo, run as execute};

/// Builds the programs of a run, finds kube-apiserver and etcd if they take part, and hands on the arguments.
pub(crate) fn run(root: &Path, plan: &ChaosPlan) -> Result<()> {
    execute(cargo(root).args(["build", "--quiet", "--release", "--package", "chaos", "--bins"]))?;
    let mut command = cargo(root);
    command
        .args(["run", "--quiet", "--release", "--package", "chaos", "--bin", "chaos", "--"])
        .args(arguments(plan));
    if needs_envtest(plan) {
        command.env(envtest::VARIABLE, envtest::provide(root)?);
    }
    execute(&mut command)
}

fn needs_envtest(plan: &ChaosPlan) -> bool {
    plan.server != ChaosServer::Embedded || plan.registry != ChaosRegistry::Api
}

/// The plan as arguments of the program.
fn arguments(plan: &ChaosPlan) -> Vec<String> {
    let ChaosPlan { minutes, seed, server, registry, instances, objects, lease, output } = plan;
    let mut arguments = vec![
        format!("--minutes={minutes}"),
        format!("--server={}", name(server)),
        format!("--registry={}", name(registry)),
        format!("--instances={instances}"),
        format!("--objects={objects}"),
        format!("--lease={lease}"),
        format!("--output={}", name(output)),
    ];
    arguments.extend(seed.map(|seed| format!("--seed={seed}")));
    arguments
}

/// The word for a value on the command line.
fn name(value: &impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::arguments::ChaosOutput;

    use super::*;

    #[test]
    fn the_plan_reaches_the_program() {
        let mut plan = ChaosPlan {
            minutes: 2,
            seed: Some(7),
            server: ChaosServer::Embedded,
            registry: ChaosRegistry::Api,
            instances: 5,
            objects: 100,
            lease: 6,
            output: ChaosOutput::Json,
        };
        let words = [
            "--minutes=2",
            "--server=embedded",
            "--registry=api",
            "--instances=5",
            "--objects=100",
            "--lease=6",
            "--output=json",
            "--seed=7",
        ];
        assert_eq!(arguments(&plan), words);
        assert!(!needs_envtest(&plan));
        plan.registry = ChaosRegistry::Both;
        assert!(needs_envtest(&plan));
    }
}
