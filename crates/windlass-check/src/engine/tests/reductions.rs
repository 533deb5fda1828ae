//! Reductions change how much is visited, never what is said.

use std::sync::Arc;

use super::super::retrace;
use super::super::search::{Order, Search};
use super::super::test_models::Climbers;
use super::super::{Exploration, Options, Violation, explore};
use super::actions;

/// Explores with every combination of reductions.
fn with_and_without(climbers: &Climbers) -> Vec<Exploration> {
    [(false, false), (true, false), (false, true), (true, true)]
        .map(|(symmetry, partial_order)| {
            explore(climbers, &Options { symmetry, partial_order, threads: 2, ..Options::default() })
        })
        .into()
}

fn same_verdicts(explorations: &[Exploration]) {
    let first = &explorations[0];
    assert!(explorations.iter().all(|other| other.violation == first.violation), "{explorations:?}");
    assert!(explorations.iter().all(|other| other.sometimes == first.sometimes));
    assert!(explorations.iter().all(|other| other.fault_layers == first.fault_layers));
}

fn pairs(height: u32) -> Climbers {
    let mut climbers = Climbers::new(3, height);
    climbers.prepares = true;
    climbers.falls = 1;
    climbers
}

#[test]
fn less_is_visited() {
    let explorations = with_and_without(&pairs(4));
    same_verdicts(&explorations);
    let states: Vec<usize> = explorations.iter().map(|exploration| exploration.states).collect();
    assert!(
        states[0] > 2 * states[1] && 2 * states[0] > 3 * states[2] && states[1] > states[3],
        "{states:?}"
    );
}

#[test]
fn permuted_actors_count_once() {
    // The orbits of rotations of 5 x 5 x 5: (125 + 2 * 5) / 3.
    let options = Options { threads: 1, ..Options::default() };
    assert_eq!(explore(&Climbers::new(3, 4), &options).states, 45);
}

#[test]
fn rules_that_distinguish_actors_stay_exact() {
    for broken_at in [[1, 2, 3], [2, 1, 3], [3, 2, 1], [0, 0, 4]] {
        let explorations = with_and_without(&pairs(4).always(move |at| at != broken_at));
        same_verdicts(&explorations);
        let Some(Violation::Always { trace, .. }) = &explorations[3].violation else { panic!() };
        assert_eq!(trace.steps.len() as u32, 2 * broken_at.iter().sum::<u32>());
    }
    same_verdicts(&with_and_without(&pairs(3).sometimes(|at| at == [0, 3, 2])));
    same_verdicts(&with_and_without(&pairs(3).sometimes(|at| at == [0, 9, 2])));
}

#[test]
fn ends_are_evaluated_the_same() {
    same_verdicts(&with_and_without(&pairs(3).eventually(|at| at == [3, 3, 3])));
    same_verdicts(&with_and_without(&pairs(3).eventually(|at| at == [3, 3, 2])));
    let mut climbers = pairs(2);
    climbers.again = true;
    let explorations = with_and_without(&climbers.eventually(|at| at != [0, 2, 1]));
    same_verdicts(&explorations);
    assert!(explorations[0].violation.is_some());
}

#[test]
fn the_model_objects_to_the_same_ends() {
    let mut climbers = pairs(2);
    climbers.again = true;
    climbers.bad_end = Some(Arc::new(|at| at == [0, 2, 1]));
    let explorations = with_and_without(&climbers);
    same_verdicts(&explorations);
    assert!(matches!(explorations[3].violation, Some(Violation::AtRest { .. })));
    climbers.bad_end = Some(Arc::new(|at| at == [0, 3, 1]));
    same_verdicts(&with_and_without(&climbers));
}

/// The violation as it is reported if a search without reductions would take too long.
fn reported_with_reductions(climbers: &Climbers) -> Violation {
    let options = Options { threads: 1, ..Options::default() };
    let found =
        Search::new(climbers.clone(), &options, Order::Faults).run().1.expect("something is violated");
    retrace::violation(climbers, &found, 0, &options)
}

/// Where climbers get to from the ground, checking that each step was possible.
fn heights(steps: &[&str], height: u32) -> Vec<u32> {
    let (mut at, mut prepared) = (vec![0; 3], vec![false; 3]);
    for step in steps {
        let (what, actor) = step.trim_end_matches(')').split_once('(').unwrap();
        let actor: usize = actor.parse().unwrap();
        match what {
            "Prepare" => assert!(!std::mem::replace(&mut prepared[actor], true)),
            "Up" => {
                assert!(std::mem::replace(&mut prepared[actor], false));
                at[actor] = (at[actor] + 1) % (height + 1);
            }
            other => panic!("{other}"),
        }
    }
    at
}

#[test]
fn representatives_are_reported_as_a_true_run() {
    for broken_at in [[1, 2, 0], [2, 0, 1], [0, 1, 2], [0, 2, 1]] {
        let violation = reported_with_reductions(&pairs(3).always(move |at| at != broken_at));
        let Violation::Always { trace, .. } = violation else { panic!("{violation:?}") };
        assert_eq!(heights(&actions(&trace), 3), broken_at);
    }
}

#[test]
fn representatives_of_an_end_are_reported_as_a_true_lasso() {
    let mut climbers = pairs(2);
    climbers.again = true;
    let of_property = reported_with_reductions(&climbers.clone().eventually(|at| at != [0, 2, 1]));
    climbers.bad_end = Some(Arc::new(|at| at == [0, 2, 1]));
    let of_model = reported_with_reductions(&climbers);
    for violation in [of_property, of_model] {
        let (Violation::Eventually { trace, repeats, .. } | Violation::AtRest { trace, repeats, .. }) =
            violation
        else {
            panic!("{violation:?}")
        };
        let whole = [actions(&trace), actions(&repeats)].concat();
        assert_eq!(heights(&actions(&trace), 2), [0, 2, 1]);
        assert_eq!(heights(&whole, 2), [0, 2, 1]);
        assert!(!repeats.steps.is_empty());
    }
}
