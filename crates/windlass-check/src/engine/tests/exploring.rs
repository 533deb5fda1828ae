//! Counts, order, traces and limits.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

use super::super::test_models::{Climbers, Fair, Fault, Forbidden, ForbiddenFault, Graph};
use super::super::{Exploration, Options, Property, StopReason, Violation, explore};
use super::actions;

fn on(threads: usize) -> Options {
    Options { threads, symmetry: false, partial_order: false, ..Options::default() }
}

#[test]
fn a_grid_has_as_many_states_and_steps_as_it_must() {
    for threads in [1, 2, 4] {
        let exploration = explore(&Climbers::new(3, 19), &on(threads));
        assert!(exploration.holds());
        assert_eq!((exploration.states, exploration.transitions), (20 * 20 * 20, 3 * 19 * 20 * 20));
        assert_eq!((exploration.depth, exploration.fault_layers, exploration.ends), (3 * 19, None, 1));
        assert_eq!(exploration.kinds, [("prepare", 0), ("up", 3 * 19 * 20 * 20), ("fall", 0)]);
        assert!(exploration.memory.visited > 0 && exploration.memory.exits > 0);
        assert!(exploration.memory.total >= exploration.memory.visited);
    }
}

#[test]
fn faults_add_states() {
    let mut climbers = Climbers::new(2, 3);
    climbers.falls = 2;
    for threads in [1, 2, 4] {
        let exploration = explore(&climbers, &on(threads));
        assert_eq!((exploration.states, exploration.fault_layers), (3 * 16, None));
        assert_eq!(exploration.kinds[2].1, 2 * 2 * 12, "a fall that changes nothing does not count");
    }
}

fn violation_of(exploration: &Exploration) -> (String, Vec<&str>) {
    match &exploration.violation {
        Some(Violation::Always { property, trace }) => (property.clone(), actions(trace)),
        Some(Violation::Step { message, trace }) => (message.clone(), actions(trace)),
        other => panic!("no violation: {other:?}"),
    }
}

#[test]
fn the_trace_is_the_same_on_any_number_of_threads() {
    let climbers = Climbers::new(4, 9).always(|at| at.iter().sum::<u32>() < 20 || at[2] != 4);
    let traces: Vec<Option<Violation>> =
        [1, 2, 4].map(|threads| explore(&climbers, &on(threads)).violation).into();
    let Some(Violation::Always { trace, .. }) = &traces[0] else { panic!("{:?}", traces[0]) };
    assert_eq!(trace.steps.len(), 20);
    assert_eq!(actions(trace).iter().filter(|action| **action == "Up(2)").count(), 4);
    assert!(traces.iter().all(|other| *other == traces[0]));
}

#[test]
fn fewest_faults_come_before_fewest_steps() {
    // Three steps without a fault, or one with.
    let graph = Graph::new(&[(0, 9, Fault), (0, 1, Fair), (1, 2, Fair), (2, 9, Fair)]).always_not(9);
    assert_eq!(violation_of(&explore(&graph, &on(1))).1, ["0-1", "1-2", "2-9"]);
    // With one fault in either case, the shorter way; it starts later.
    let graph = Graph::new(&[(0, 1, Fault), (1, 2, Fair), (2, 9, Fair), (0, 3, Fair), (3, 9, Fault)]);
    assert_eq!(violation_of(&explore(&graph.always_not(9), &on(1))).1, ["0-3", "3-9"]);
    // The way by two faults is shorter, but one is enough.
    let graph = Graph::new(&[(0, 1, Fault), (1, 9, Fault), (1, 2, Fair), (2, 3, Fair), (3, 9, Fair)]);
    assert_eq!(violation_of(&explore(&graph.always_not(9), &on(1))).1, ["0-1", "1-2", "2-3", "3-9"]);
}

#[test]
fn of_ways_that_are_equally_short_the_one_with_the_later_fault_is_reported() {
    let graph = Graph::new(&[(0, 1, Fault), (1, 3, Fair), (3, 9, Fair), (0, 2, Fair), (2, 3, Fault)]);
    assert_eq!(violation_of(&explore(&graph.always_not(9), &on(1))).1, ["0-2", "2-3", "3-9"]);
    // They join further on.
    let graph = [(0, 1, Fault), (1, 3, Fair), (3, 9, Fair), (0, 2, Fair), (2, 4, Fault), (4, 9, Fair)];
    assert_eq!(violation_of(&explore(&Graph::new(&graph).always_not(9), &on(1))).1, ["0-2", "2-4", "4-9"]);
}

#[test]
fn a_state_that_a_fault_reached_first_may_need_none() {
    // 1 is reached by a fault and then without; what follows from it then needs none either.
    let graph = Graph::new(&[(0, 1, Fault), (0, 2, Fair), (2, 3, Fair), (3, 1, Fair), (1, 9, Fair)]);
    let exploration = explore(&graph.clone().always_not(9), &on(1));
    assert_eq!(violation_of(&exploration).1, ["0-2", "2-3", "3-1", "1-9"]);
    let exploration = explore(&graph, &on(1));
    assert_eq!((exploration.states, exploration.fault_layers), (5, None));
}

#[test]
fn actions_can_be_violations() {
    let graph = Graph::new(&[(0, 1, Fair), (1, 7, Forbidden)]);
    let exploration = explore(&graph, &on(2));
    assert_eq!(
        (exploration.stop_reason, violation_of(&exploration)),
        (StopReason::Violated, ("wrong 7".to_owned(), vec!["0-1", "1-7"]))
    );
    // A violating action has one more step than a violating state of the same depth.
    let graph = Graph::new(&[(0, 1, Fair), (0, 2, Fair), (1, 7, Forbidden)]).always_not(2);
    assert_eq!(violation_of(&explore(&graph, &on(1))).1, ["0-2"]);
}

#[test]
fn a_violating_fault_waits_for_its_layer() {
    let graph = Graph::new(&[(0, 5, ForbiddenFault), (0, 1, Fair), (1, 2, Fair), (2, 9, Fair)]);
    assert_eq!(violation_of(&explore(&graph, &on(1))), ("wrong 5".to_owned(), vec!["0-5"]));
    assert_eq!(violation_of(&explore(&graph.always_not(9), &on(1))).1, ["0-1", "1-2", "2-9"]);
    // In its layer, a state that is violated after fewer steps is found first.
    let graph = Graph::new(&[(0, 1, Fair), (1, 2, Fair), (2, 7, ForbiddenFault), (0, 9, Fault)]);
    assert_eq!(violation_of(&explore(&graph.clone().always_not(9), &on(1))).1, ["0-9"]);
    assert_eq!(violation_of(&explore(&graph, &on(1))).1, ["0-1", "1-2", "2-7"]);
}

#[test]
fn sometimes_must_be_seen() {
    let seen = explore(&Climbers::new(2, 3).sometimes(|at| at == [3, 2]), &on(2));
    assert_eq!((seen.holds(), seen.sometimes), (true, vec![("sometimes".to_owned(), true)]));
    let never = explore(&Climbers::new(2, 3).sometimes(|at| at == [4, 2]), &on(2));
    assert_eq!(never.violation, Some(Violation::Never { property: "sometimes".to_owned() }));
    assert_eq!((never.holds(), never.stop_reason), (false, StopReason::Complete));
}

#[test]
fn limits_are_kept_and_said() {
    let climbers = Climbers::new(4, 19).sometimes(|at| at[0] == 99);
    let exploration = explore(&climbers, &Options { max_states: 10_000, ..on(2) });
    assert_eq!((exploration.stop_reason, exploration.fault_layers), (StopReason::StateLimit, Some(0)));
    assert!((10_000..20_000).contains(&exploration.states), "{}", exploration.states);
    assert_eq!(exploration.violation, None, "what was not seen may yet come");
    let exploration = explore(&climbers, &Options { memory_bytes: 1_000_000, ..on(2) });
    assert_eq!(exploration.stop_reason, StopReason::MemoryLimit);
    assert!((900_000..1_500_000).contains(&exploration.memory.total), "{}", exploration.memory.total);
    let options = on(2);
    options.stop.store(true, Ordering::Relaxed);
    assert_eq!(explore(&climbers, &options).stop_reason, StopReason::Stopped);
}

#[test]
fn what_was_reached_before_a_limit_is_evaluated() {
    let graph = Graph::new(&[(0, 1, Fair), (0, 2, Fair), (0, 3, Fair), (3, 4, Fair)]).always_not(3);
    let exploration = explore(&graph, &Options { max_states: 1, ..on(1) });
    assert_eq!(violation_of(&exploration).1, ["0-3"]);
    // So is what would have been found with one more fault.
    let graph = Graph::new(&[(0, 1, Fair), (0, 7, ForbiddenFault), (1, 2, Fair), (2, 3, Fair)]);
    let exploration = explore(&graph, &Options { max_states: 2, ..on(1) });
    assert_eq!(violation_of(&exploration).1, ["0-7"]);
}

#[test]
fn layers_that_are_complete_are_decided_before_a_limit() {
    let mut climbers = Climbers::new(3, 9).eventually(|_| false);
    climbers.falls = 1;
    let exploration = explore(&climbers, &Options { max_states: 1_500, ..on(2) });
    assert_eq!((exploration.stop_reason, exploration.fault_layers), (StopReason::Violated, Some(0)));
    let exploration = explore(&climbers, &Options { max_states: 500, ..on(2) });
    assert_eq!((exploration.stop_reason, exploration.violation), (StopReason::StateLimit, None));
}

#[test]
fn a_panic_of_the_model_reaches_the_caller() {
    let mut climbers = Climbers::new(3, 19);
    climbers.panics_at = Some(12);
    for threads in [1, 4] {
        assert!(catch_unwind(AssertUnwindSafe(|| explore(&climbers, &on(threads)))).is_err());
    }
}

#[test]
fn several_properties_are_distinguished() {
    let graph = Graph::new(&[(0, 1, Fair)]).with(Property::always("first", |_, _| true)).always_not(1);
    assert_eq!(violation_of(&explore(&graph, &on(1))), ("always".to_owned(), vec!["0-1"]));
}
