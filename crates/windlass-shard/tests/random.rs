//! Random runs of worlds that are too large to be explored: three instances, two slots and every kind of fault.

use windlass_check::engine::{Scheduler, SimulationOptions, simulate};
use windlass_shard::Mutation;
use windlass_shard::model::{Faults, World};

fn everything() -> World {
    let faults =
        Faults { pauses: 3, crashes: 2, deaths: 0, timeouts: 2, lost_replies: 2, stalls: 4, leaves: 1 };
    World::new(3, 2).monitors(2).faults(faults)
}

fn options(scheduler: Scheduler, runs: u64) -> SimulationOptions {
    SimulationOptions {
        runs: Some(runs),
        depth: 400,
        scheduler,
        end_states: 0,
        ..SimulationOptions::default()
    }
}

#[test]
fn random_runs_with_all_faults_find_nothing() {
    for scheduler in [Scheduler::Random, Scheduler::Pct(4)] {
        let found = simulate(&everything(), &options(scheduler, 1_500));
        assert!(
            found.violation.is_none(),
            "{}",
            found.violation.map(|(_, violation)| violation.to_string()).unwrap_or_default()
        );
        println!("{scheduler:?}: {} steps in {:?}", found.steps, found.elapsed);
    }
}

#[test]
fn random_runs_catch_a_broken_rule() {
    let world = everything().broken(Mutation::MovesWithoutKill);
    let found = simulate(&world, &options(Scheduler::Random, 3_000));
    assert!(found.violation.is_some(), "not caught in {} steps", found.steps);
}
