//! Random runs.

use std::sync::atomic::Ordering;

use super::super::test_models::{Climbers, Fair, Fault, Forbidden, Graph};
use super::super::{
    Options, Scheduler, Simulation, SimulationOptions, StopReason, Violation, explore, simulate,
};
use super::actions;

fn seeded(seed: u64) -> SimulationOptions {
    SimulationOptions { seed, runs: Some(200), depth: 60, ..SimulationOptions::default() }
}

fn violation_of(simulation: &Simulation) -> (u64, &Violation) {
    let (seed, violation) = simulation.violation.as_ref().expect("it is planted");
    (*seed, violation)
}

/// Too large to explore in a test, with a violation in one corner.
fn planted() -> Climbers {
    let mut climbers = Climbers::new(6, 30).always(|at| at[2] < 5 || at[4] != 0);
    climbers.falls = 2;
    climbers
}

#[test]
fn finds_what_is_planted_and_finds_it_again_from_its_seed() {
    for scheduler in [Scheduler::Random, Scheduler::Pct(3)] {
        let options = SimulationOptions { scheduler, end_states: 0, ..seeded(7) };
        let first = simulate(&planted(), &options);
        let (seed, violation) = violation_of(&first);
        let Violation::Always { property, trace } = violation else { panic!("{violation:?}") };
        assert_eq!((property.as_str(), actions(trace)), ("always", vec!["Up(2)"; 5]), "it is made shortest");
        assert_eq!(violation_of(&simulate(&planted(), &options)), (seed, violation));
        let single = SimulationOptions { seed, runs: Some(1), ..options };
        assert_eq!(violation_of(&simulate(&planted(), &single)), (seed, violation));
    }
}

#[test]
fn priorities_find_what_chance_does_not() {
    // One actor must be at the top before any other has moved.
    let climbers = Climbers::new(4, 20).always(|at| at[1] < 20 || at.iter().sum::<u32>() > 20);
    let options = SimulationOptions { end_states: 0, ..seeded(1) };
    assert!(simulate(&climbers, &options).violation.is_none());
    let by_priority = SimulationOptions { scheduler: Scheduler::Pct(2), runs: Some(50), ..options };
    assert!(simulate(&climbers, &by_priority).violation.is_some());
}

#[test]
fn priorities_change_on_the_way() {
    // Two are half way up and the others have not begun: somebody must have been interrupted.
    let half = 5..15;
    let climbers = Climbers::new(4, 20)
        .always(move |at| !(half.contains(&at[0]) && half.contains(&at[1]) && at[2] + at[3] == 0));
    let by_priority =
        |changes| SimulationOptions { scheduler: Scheduler::Pct(changes), end_states: 0, ..seeded(1) };
    assert!(simulate(&climbers, &by_priority(0)).violation.is_none());
    assert!(simulate(&climbers, &by_priority(2)).violation.is_some());
}

#[test]
fn violating_actions_are_found_with_the_steps_they_take() {
    let graph = Graph::new(&[(0, 1, Fair), (1, 0, Fair), (1, 2, Fault), (2, 0, Fair), (2, 5, Forbidden)]);
    let simulation = simulate(&graph, &seeded(3));
    let Violation::Step { message, trace } = violation_of(&simulation).1 else { panic!("{simulation:?}") };
    assert_eq!((message.as_str(), actions(trace)), ("wrong 5", vec!["0-1", "1-2", "2-5"]));
}

#[test]
fn liveness_is_decided_and_unfair_loops_are_no_ends() {
    // 0 and 1 loop for as long as one likes, but 2 stays possible: no violation.
    let leaves = Graph::new(&[(0, 1, Fair), (1, 0, Fair), (1, 2, Fair)]);
    let simulation = simulate(&leaves.clone().eventually_in(&[2]), &seeded(5));
    assert!(simulation.violation.is_none());
    assert_eq!((simulation.runs, simulation.undecided), (200, 0));
    // After a fault there is another loop, which nothing leaves.
    let mut graph = leaves;
    graph.edges.extend([(0, 3, Fault), (3, 4, Fair), (4, 3, Fair)]);
    let simulation = simulate(&graph.eventually_in(&[2, 3]), &seeded(5));
    let Violation::Eventually { trace, repeats, .. } = violation_of(&simulation).1 else { panic!() };
    assert_eq!((actions(trace), actions(repeats)), (vec!["0-3", "3-4"], vec!["4-3", "3-4"]));
}

#[test]
fn too_many_states_leave_liveness_undecided() {
    let mut climbers = Climbers::new(6, 30).eventually(|_| false);
    climbers.again = true;
    let simulation = simulate(&climbers, &SimulationOptions { runs: Some(3), ..seeded(1) });
    assert_eq!((simulation.violation, simulation.undecided, simulation.runs), (None, 3, 3));
    // As fair runs come near their end, there is less to search.
    let climbers = Climbers::new(6, 30).eventually(|_| false);
    let simulation = simulate(&climbers, &SimulationOptions { runs: Some(3), ..seeded(1) });
    assert!(matches!(violation_of(&simulation).1, Violation::Eventually { .. }));
}

#[test]
fn sometimes_is_noted_and_it_can_be_stopped() {
    let simulation = simulate(&Climbers::new(3, 9).sometimes(|at| at == [9, 9, 9]), &seeded(1));
    assert_eq!(simulation.sometimes, [("sometimes".to_owned(), true)]);
    let options = SimulationOptions { runs: None, ..seeded(1) };
    options.stop.store(true, Ordering::Relaxed);
    let simulation = simulate(&planted(), &options);
    assert_eq!((simulation.runs, simulation.stopped), (0, true));
}

#[test]
fn it_takes_over_when_memory_is_full() {
    let options = Options {
        memory_bytes: 1_000_000,
        threads: 2,
        then_simulate: Some(SimulationOptions { end_states: 0, ..seeded(2) }),
        ..Options::default()
    };
    let climbers = Climbers::new(6, 30).always(|at| at.iter().sum::<u32>() < 50);
    let exploration = explore(&climbers, &options);
    assert_eq!((exploration.stop_reason, &exploration.violation), (StopReason::MemoryLimit, &None));
    assert!(exploration.states > 10_000);
    assert!(matches!(violation_of(exploration.simulation.as_ref().unwrap()).1, Violation::Always { .. }));
}
