//! Reductions visit fewer states and come to the same verdict.

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;
use windlass::{Cx, Declaration, Machine, Outcome, done};
use windlass_check::{Actor, Check, ClientEvent, Faults, Reductions, Report, View, Violation, check};

use crate::things::{Only, Thing, map, thing};

/// Makes an output per parent; one parent may be special.
struct Makes {
    special: &'static str,
}

impl Machine for Makes {
    type Parent = Thing;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.output::<ConfigMap>();
    }

    async fn run(&self, _: Only, cx: &Cx<Thing>) -> Outcome<Only> {
        let output = format!("{}-out", cx.name());
        if cx.name() != self.special {
            cx.ensure(map(&output));
        }
        done()
    }
}

fn making(special: &'static str) -> Check {
    check(Makes { special })
        .given([thing("one"), thing("two")])
        .faults(Faults::none().crashes(1).duplicates().reorders())
        .sometimes("the first is made first", |world| {
            world.has::<ConfigMap>("one-out") && !world.has::<ConfigMap>("two-out")
        })
}

fn every_combination(check: &Check) -> Vec<(Reductions, Report)> {
    let choices = (0..16).map(|bits| Reductions {
        versions: bits & 1 != 0,
        symmetry: bits & 2 != 0,
        partial_order: bits & 4 != 0,
        subsumption: bits & 8 != 0,
        replicas: false,
    });
    choices.map(|reductions| (reductions, check.clone().reductions(reductions).run())).collect()
}

#[test]
fn what_holds_holds_in_every_combination_and_each_reduction_reduces() {
    let reports = every_combination(&making("").eventually("both are made", |world| {
        world.has::<ConfigMap>("one-out") && world.has::<ConfigMap>("two-out")
    }));
    for (reductions, report) in &reports {
        assert!(report.holds(), "{reductions:?}: {report}");
        assert_eq!(report.ends.len(), 1, "{reductions:?}: {report}");
    }
    let states = |index: usize| reports[index].1.states();
    let [all, versions, symmetry, partial_order] = [states(0), states(1), states(2), states(4)];
    // Nothing here ever gets back to what it was before, so nothing is left of it but its version.
    assert!(versions <= all && partial_order < all, "{all} {versions} {partial_order}");
    // Each request may come again, and one crash may strike: without that, few states are left.
    let [subsumption, together] = [states(8), states(15)];
    assert!(subsumption < all / 2 && together < symmetry / 2, "{all} {subsumption} {symmetry} {together}");
    // There is one permutation of two objects; only what is the same either way has no partner.
    assert!(symmetry >= all / 2 && symmetry < all * 6 / 10, "{all} {symmetry}");
}

#[test]
fn what_is_as_it_was_but_for_its_version_is_the_same_state() {
    let [with, without] = [true, false].map(|versions| {
        let write = |value: &str| ClientEvent::patch::<Thing>("one", json!({ "spec": { "value": value } }));
        let check = check(Makes { special: "" }).given([thing("one")]).client([write("1"), write("")]);
        check.reductions(Reductions { versions, ..Reductions::none() }).assert().states()
    });
    assert!(with < without, "{with} {without}");
}

#[test]
fn violations_have_the_same_trace_in_every_combination() {
    // The property is not symmetric, but everything else is.
    let check = making("").always("the second is never made", |world| !world.has::<ConfigMap>("two-out"));
    let reports = every_combination(&check);
    let Some(Violation::Always { trace: first, .. }) = &reports[0].1.violation else {
        panic!("{}", reports[0].1)
    };
    for (reductions, report) in &reports {
        let Some(Violation::Always { trace, .. }) = &report.violation else {
            panic!("{reductions:?}: {report}")
        };
        assert_eq!(trace.steps.len(), first.steps.len(), "{reductions:?}: {report}");
    }
}

#[test]
fn names_that_the_code_treats_differently_are_not_permuted() {
    let [with, without] = [true, false].map(|symmetry| {
        let reductions = Reductions { symmetry, ..Reductions::default() };
        let check = making("two").eventually("the first is made, the second is not", |world| {
            world.has::<ConfigMap>("one-out") && !world.has::<ConfigMap>("two-out")
        });
        check.reductions(reductions).assert().states()
    });
    assert_eq!(with, without);
}

/// Two processes of one controller.
fn replicated(replicas: bool, faults: Faults) -> Check {
    check(Makes { special: "" })
        .given([thing("one")])
        .replicas(2)
        .faults(faults)
        .reductions(Reductions { replicas, ..Reductions::default() })
}

#[test]
fn processes_of_one_controller_are_permuted() {
    for faults in [Faults::none(), Faults::none().crashes(1).partitions(1), Faults::none().stale(1)] {
        let [with, without] = [true, false].map(|replicas| {
            let made = |world: &View<'_>| world.has::<ConfigMap>("one-out");
            let report = replicated(replicas, faults.clone()).eventually("it is made", made).assert();
            assert_eq!(report.ends.len(), 1, "{report}");
            report.states()
        });
        // There is one permutation of two processes; only what is the same either way has no partner.
        assert!(with >= without / 2 && with < without * 6 / 10, "{faults}: {with} of {without}");
    }
}

#[test]
fn a_rule_about_one_process_is_evaluated_for_each() {
    let traces = [true, false].map(|replicas| {
        let report = replicated(replicas, Faults::none().crashes(1))
            .never_between("the second process writes", |between| {
                matches!(between.actor(), Actor::Controller { process: 1, .. })
                    && between.after.has::<ConfigMap>("one-out")
            })
            .run();
        let Some(trace) = report.violation.as_ref().and_then(Violation::trace) else { panic!("{report}") };
        trace.steps.len()
    });
    assert_eq!(traces[0], traces[1]);
}
