//! An instance of the controller under test: `chaos-tasks run chaos-tasks --shard --instance app-0`.

use std::process::ExitCode;

use anyhow::Result;
use chaos::task::{Task, Tasks};
use kube::CustomResourceExt;
use windlass_app::AppController;
use windlass_runtime::Manager;

fn main() -> ExitCode {
    windlass_app::main(|app| {
        app.about("For each Task a ConfigMap with its value")
            .controller(AppController::new(Tasks).definition(Task::crd()))
            // Events would be many, and no one reads them.
            .manager(|manager| break_a_rule(manager.events(false).preflight(false)))
    })
}

/// Breaks the rule of the protocol that the environment names, if it names one.
#[cfg(feature = "mutant")]
fn break_a_rule(manager: Manager) -> Result<Manager> {
    use windlass_shard::Mutation;

    const RULES: [Mutation; 4] = [
        Mutation::IgnoresDeadline,
        Mutation::SurvivesLoss,
        Mutation::MovesWithoutKill,
        Mutation::IgnoresIncarnation,
    ];
    let Ok(name) = std::env::var(chaos::instance::MUTANT) else { return Ok(manager) };
    match RULES.into_iter().find(|rule| format!("{rule:?}") == name) {
        Some(rule) => Ok(manager.break_sharding_rule(rule)),
        None => anyhow::bail!("{} is none of {RULES:?}: {name:?}", chaos::instance::MUTANT),
    }
}

#[cfg(not(feature = "mutant"))]
fn break_a_rule(manager: Manager) -> Result<Manager> {
    Ok(manager)
}
