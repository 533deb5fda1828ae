//! Ends: what fair runs get to and stay in.

use super::super::test_models::{Climbers, Fair, Fault, Graph, How};
use super::super::{Fairness, Options, StopReason, Violation, explore};
use super::actions;

/// The way to an end that is a violation, and what repeats there.
fn end(graph: &Graph) -> Option<(Vec<String>, Vec<String>)> {
    let violations: Vec<Option<Violation>> =
        [1, 2, 4].map(|threads| explore(graph, &Options { threads, ..Options::default() }).violation).into();
    assert!(violations.iter().all(|violation| *violation == violations[0]));
    let owned = |trace| actions(trace).into_iter().map(str::to_owned).collect();
    match violations[0].as_ref()? {
        Violation::Eventually { trace, repeats, .. } | Violation::AtRest { trace, repeats, .. } => {
            Some((owned(trace), owned(repeats)))
        }
        other => panic!("{other:?}"),
    }
}

fn check(edges: &[(u32, u32, How)], holds_in: &'static [u32], expected: Option<(&[&str], &[&str])>) {
    let owned = |steps: &[&str]| steps.iter().map(|step| (*step).to_owned()).collect::<Vec<_>>();
    let expected = expected.map(|(trace, repeats)| (owned(trace), owned(repeats)));
    assert_eq!(end(&Graph::new(edges).eventually_in(holds_in)), expected);
}

#[test]
fn a_fair_cycle_that_violates() {
    let edges = [(0, 1, Fair), (1, 2, Fair), (2, 3, Fair), (3, 1, Fair)];
    check(&edges, &[1, 3], Some((&["0-1", "1-2"], &["2-3", "3-1", "1-2"])));
    check(&edges, &[1, 2, 3], None);
}

#[test]
fn a_cycle_that_a_fair_step_leaves_for_ever_does_not() {
    check(&[(0, 1, Fair), (1, 0, Fair), (1, 2, Fair)], &[2], None);
    // If only a fault leaves it, it does.
    let edges = [(0, 1, Fair), (1, 0, Fair), (1, 2, Fault)];
    check(&edges, &[2], Some((&[], &["0-1", "1-0"])));
}

#[test]
fn what_holds_after_a_join_holds_on_both_ways() {
    check(&[(0, 1, Fair), (0, 2, Fair), (1, 3, Fair), (2, 3, Fair)], &[3], None);
    // One of two ways ends elsewhere.
    let edges = [(0, 1, Fair), (0, 2, Fair), (1, 3, Fair), (2, 3, Fair), (2, 4, Fair)];
    check(&edges, &[3], Some((&["0-2", "2-4"], &[])));
}

#[test]
fn a_step_to_itself_is_no_way_on() {
    check(&[(0, 1, Fair), (1, 1, Fair)], &[1], None);
    check(&[(0, 1, Fair), (1, 1, Fair)], &[0], Some((&["0-1"], &["1-1"])));
    check(&[(0, 0, Fair), (0, 1, Fair)], &[1], None);
    check(&[(0, 1, Fair)], &[0], Some((&["0-1"], &[])));
}

#[test]
fn ends_that_need_fewer_faults_come_first() {
    // One fault leads to an end in one step; without any it takes three.
    let edges = [(0, 8, Fault), (0, 1, Fair), (1, 2, Fair), (2, 3, Fair)];
    check(&edges, &[0], Some((&["0-1", "1-2", "2-3"], &[])));
    check(&edges, &[3], Some((&["0-8"], &[])));
    // After a fault, fair steps lead back to what was decided before.
    check(&[(0, 1, Fair), (1, 2, Fault), (2, 0, Fair)], &[1], None);
    check(
        &[(0, 1, Fair), (1, 2, Fault), (2, 2, Fair), (2, 3, Fair), (3, 2, Fair)],
        &[1, 2],
        Some((&["0-1", "1-2", "2-3"], &["3-2", "2-3"])),
    );
}

#[test]
fn the_nearest_of_several_bad_ends_is_reported() {
    let edges = [(0, 1, Fair), (1, 2, Fair), (2, 3, Fair), (0, 4, Fair), (4, 5, Fair), (1, 1, Fair)];
    check(&edges, &[0], Some((&["0-4", "4-5"], &[])));
}

#[test]
fn the_model_may_object_to_an_end() {
    let mut graph = Graph::new(&[(0, 1, Fair), (1, 2, Fair), (2, 1, Fair), (0, 3, Fair)]);
    assert_eq!(explore(&graph, &Options::default()).ends, 2);
    graph.bad_end = Some(2);
    let (trace, repeats) = end(&graph).unwrap();
    assert_eq!(
        (trace, repeats),
        (vec!["0-1".to_owned(), "1-2".to_owned()], vec!["2-1".to_owned(), "1-2".to_owned()])
    );
    // 0 is not in an end.
    graph.bad_end = Some(0);
    assert_eq!(end(&graph), None);
    graph.bad_end = Some(2);
    assert!(explore(&graph, &Options { liveness: false, ..Options::default() }).holds());
}

#[test]
fn a_lasso_is_a_run_that_ends_where_it_began() {
    let mut climbers = Climbers::new(3, 2).eventually(|at| at != [2, 1, 1]);
    climbers.again = true;
    climbers.falls = 1;
    for (symmetry, partial_order) in [(false, false), (true, true)] {
        let options = Options { symmetry, partial_order, threads: 2, ..Options::default() };
        let exploration = explore(&climbers, &options);
        assert_eq!(exploration.stop_reason, StopReason::Violated);
        let Some(Violation::Eventually { trace, repeats, .. }) = exploration.violation else { panic!() };
        assert_eq!(heights(&actions(&trace), [0, 0, 0]), [2, 1, 1]);
        assert_eq!(trace.steps.len(), 4);
        assert_eq!(heights(&actions(&repeats), [2, 1, 1]), [2, 1, 1]);
        assert_eq!(repeats.steps.len(), 3, "three steps up lead one actor back to where it was");
    }
}

/// Where climbers of height 2 get to.
fn heights(actions: &[&str], mut at: [u32; 3]) -> [u32; 3] {
    for action in actions {
        let actor: usize = action.strip_prefix("Up(").unwrap().strip_suffix(')').unwrap().parse().unwrap();
        at[actor] = (at[actor] + 1) % 3;
    }
    at
}

/// The way to a loop that a weakly fair run need not leave, and the loop.
fn weak_end(edges: &[(u32, u32, How)], holds_in: &'static [u32]) -> Option<(Vec<String>, Vec<String>)> {
    let options = Options { fairness: Fairness::Weak, ..Options::default() };
    let exploration = explore(&Graph::new(edges).eventually_in(holds_in), &options);
    let owned = |trace| actions(trace).into_iter().map(str::to_owned).collect();
    match exploration.violation? {
        Violation::Eventually { trace, repeats, .. } => Some((owned(&trace), owned(&repeats))),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_way_out_that_is_open_now_and_then_need_not_be_taken_under_weak_fairness() {
    // The loop 0 <-> 1 with an exit from 1 only: strong fairness leaves it, weak fairness need not.
    let edges = [(0, 1, Fair), (1, 0, Fair), (1, 2, Fair)];
    check(&edges, &[2], None);
    let owned = |steps: &[&str]| steps.iter().map(|step| (*step).to_owned()).collect::<Vec<_>>();
    assert_eq!(weak_end(&edges, &[2]), Some((owned(&[]), owned(&["0-1", "1-0"]))));
    // A loop that one step makes is left if the other stays possible all the time.
    assert_eq!(weak_end(&[(0, 0, Fair), (0, 1, Fair)], &[1]), None);
    // What strong fairness does not leave, weak fairness does not either.
    assert_eq!(weak_end(&[(0, 1, Fair), (1, 2, Fair)], &[2]), None);
    assert!(weak_end(&[(0, 1, Fair)], &[0]).is_some());
    // Behind a fault too.
    let edges = [(0, 3, Fair), (0, 1, Fault), (1, 2, Fair), (2, 1, Fair), (2, 3, Fair)];
    assert_eq!(weak_end(&edges, &[3]), Some((owned(&["0-1"]), owned(&["1-2", "2-1"]))));
}

#[test]
fn the_loop_of_a_weakly_fair_run_is_as_short_as_it_can_be() {
    let mut edges = vec![(9, 10, Fair)];
    (0..9).for_each(|state| edges.extend([(state, state + 1, Fair), (state + 1, state, Fair)]));
    let owned = |steps: &[&str]| steps.iter().map(|step| (*step).to_owned()).collect::<Vec<_>>();
    assert_eq!(weak_end(&edges, &[10]), Some((owned(&[]), owned(&["0-1", "1-0"]))));
}

#[test]
fn weak_fairness_within_a_limit_is_not_decided_beyond_it() {
    let edges: Vec<(u32, u32, How)> = (0..100).map(|state| (state, state + 1, Fair)).collect();
    let graph = Graph::new(&edges).eventually_in(&[100]);
    let options = |max_states| Options { fairness: Fairness::Weak, max_states, ..Options::default() };
    assert!(explore(&graph, &options(1_000)).holds());
    assert_eq!(explore(&graph, &options(100)).stop_reason, StopReason::StateLimit);
}
