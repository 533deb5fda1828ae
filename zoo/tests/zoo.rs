//! Every broken controller is caught, by the property that it names and with the trace in `snapshots/`; every
//! repaired twin passes; and neither depends on how the search is done. `WINDLASS_BLESS=1` writes the snapshots and
//! the table of the README anew.

use std::fs;
use std::path::{Path, PathBuf};

use windlass_check::engine::{Options, StopReason};
use windlass_check::{Check, Fairness, Faults, Reductions, Report, Trace, Violation};
use windlass_zoo::Specimen;

/// No check of the zoo may take more states than this: it is to be run often.
const MAX_STATES: usize = 10_000;

/// Where versions grow for ever and are not numbered anew, no end is ever reached.
const ENDLESS_WITHOUT_REDUCTIONS: [&str; 2] = ["two_parents_one_child", "two_controllers_one_field"];

/// What takes a fair run to be less than it is by default.
const WEAKLY_FAIR: [&str; 1] = ["fight_with_a_lucky_way_out"];

#[test]
fn every_broken_one_is_caught_and_its_trace_is_known() {
    let mut rows = String::new();
    for specimen in windlass_zoo::all() {
        let report = small((specimen.broken)()).run();
        let violation = report.violation.as_ref().unwrap_or_else(|| panic!("{}: {report}", specimen.name));
        let property = revealed(violation);
        assert_eq!(property, specimen.reveals, "{}: {report}", specimen.name);
        // What never comes true has no trace.
        let trace = violation.trace().cloned().unwrap_or_default();
        assert_needs_its_faults(&specimen, &trace);
        compare(&here(&format!("snapshots/{}.txt", specimen.name)), &violation.to_string());
        rows += &row(&specimen, &trace);
    }
    compare_table(&rows);
}

#[test]
fn every_repaired_one_passes() {
    for specimen in windlass_zoo::all() {
        let report = small((specimen.repaired)()).run();
        assert!(report.holds(), "{}: {report}", specimen.name);
        assert!(report.never_struck.is_empty(), "{}: {report}", specimen.name);
    }
}

#[test]
fn verdicts_are_the_same_without_reductions() {
    for specimen in windlass_zoo::all() {
        for check in [specimen.broken, specimen.repaired] {
            let reduced = small(check()).run();
            let full = small(check()).reductions(Reductions::none()).run();
            if reduced.violation.is_some() && ENDLESS_WITHOUT_REDUCTIONS.contains(&specimen.name) {
                assert_eq!(full.exploration.stop_reason, StopReason::StateLimit, "{}: {full}", specimen.name);
            } else {
                assert_eq!(reduced.holds(), full.holds(), "{}: {reduced}{full}", specimen.name);
                assert_eq!(violation_text(&reduced), violation_text(&full), "{}", specimen.name);
            }
        }
    }
}

#[test]
fn traces_are_the_same_on_any_number_of_threads() {
    for specimen in windlass_zoo::all() {
        let fairness = fairness(&specimen);
        let on = |check: Check, threads| {
            small(check.options(Options { threads, fairness, ..Options::default() })).run()
        };
        let reports = [1, 2].map(|threads| on((specimen.broken)(), threads));
        assert!(reports[0].violation.is_some(), "{}: {}", specimen.name, reports[0]);
        assert_eq!(reports[0].violation, reports[1].violation, "{}", specimen.name);
        let reports = [1, 2].map(|threads| on((specimen.repaired)(), threads));
        assert_eq!(reports[0].states(), reports[1].states(), "{}", specimen.name);
    }
}

#[test]
fn what_takes_weak_fairness_holds_under_strong_fairness() {
    for specimen in windlass_zoo::all().iter().filter(|specimen| fairness(specimen) == Fairness::Weak) {
        let report = small((specimen.broken)()).fairness(Fairness::Strong).run();
        assert!(report.holds(), "{}: {report}", specimen.name);
    }
}

fn fairness(specimen: &Specimen) -> Fairness {
    if WEAKLY_FAIR.contains(&specimen.name) { Fairness::Weak } else { Fairness::Strong }
}

/// The violation in words. They have no versions, which are numbered in another way by each search.
fn violation_text(report: &Report) -> Option<String> {
    report.violation.as_ref().map(Violation::to_string)
}

fn small(check: Check) -> Check {
    check.max_states(MAX_STATES)
}

/// Where the trace has a fault, nothing is violated without faults.
fn assert_needs_its_faults(specimen: &Specimen, trace: &Trace) {
    if faults(trace) == 0 {
        return;
    }
    let report = small((specimen.broken)()).faults(Faults::none()).run();
    // Something that should be seen sometimes may take a fault to be seen.
    assert!(matches!(report.violation, None | Some(Violation::Never { .. })), "{}: {report}", specimen.name);
}

fn faults(trace: &Trace) -> usize {
    trace.steps.iter().filter(|step| step.fault.is_some()).count()
}

/// What was found.
fn revealed(violation: &Violation) -> &str {
    match violation {
        Violation::Always { property, .. }
        | Violation::Eventually { property, .. }
        | Violation::Never { property } => property,
        Violation::Step { message, .. } | Violation::AtRest { message, .. } => rule_in(message),
        Violation::Code { bug, .. } => bug.reason(),
    }
}

/// The rule that a message is about: the first thing that it quotes.
fn rule_in(message: &str) -> &str {
    message.split('"').nth(1).unwrap_or_else(|| panic!("no rule is named in: {message}"))
}

fn row(specimen: &Specimen, trace: &Trace) -> String {
    let (name, faults, steps) = (specimen.name, faults(trace), trace.steps.len());
    let Specimen { story, origin, reveals, .. } = specimen;
    format!("| [{name}](src/{name}.rs) | {story} ({origin}) | {reveals} | {faults} | {steps} |\n")
}

/// Compares the rows of the README's table, which are its last lines.
fn compare_table(rows: &str) {
    let path = here("README.md");
    let text = fs::read_to_string(&path).expect("the README is there");
    let rule = text.lines().find(|line| line.starts_with("| ---")).expect("the README has a table");
    let start = text.find(rule).expect("it was just found") + rule.len() + 1;
    compare(&path, &format!("{}{rows}", &text[..start]));
}

fn compare(path: &Path, actual: &str) {
    if std::env::var_os("WINDLASS_BLESS").is_some() {
        fs::write(path, actual).expect("the snapshot can be written");
    }
    let expected = fs::read_to_string(path).unwrap_or_default();
    assert!(
        expected == actual,
        "{} differs; if that is as it should be, run with WINDLASS_BLESS=1\n--- expected\n{expected}\n+++ actual\n{actual}",
        path.display()
    );
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}
