//! The command, with checks small enough to be run here.

use std::path::PathBuf;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::CustomResourceExt;
use serde_json::Value;
use two_configmaps::{Pair, SecondFirst, TwoConfigMaps, pair};
use two_phase_commit::TwoPhaseCommit;
use windlass_check::{Check, check};

use super::*;
use crate::protocol::ProtocolWorld;

fn right() -> Check {
    let check = check(TwoConfigMaps).crd(&Pair::crd()).given([pair("a")]);
    check.eventually("both", |world| world.has::<ConfigMap>("a-cm1") && world.has::<ConfigMap>("a-cm2"))
}

fn wrong() -> Check {
    let check = check(SecondFirst).crd(&Pair::crd()).given([pair("a")]);
    check.always("in order", |world| !world.has::<ConfigMap>("a-cm2") || world.has::<ConfigMap>("a-cm1"))
}

fn right_check() -> AppCheck {
    AppCheck::new("right", "as it should be", right)
}

fn wrong_check() -> AppCheck {
    AppCheck::new("wrong", "as it should not", wrong).specimen()
}

fn arguments() -> CheckArguments {
    CheckArguments { threads: Some(1), ..CheckArguments::default() }
}

fn checked(chosen: &[&AppCheck], arguments: &CheckArguments, stopped: bool) -> (Verdict, String) {
    let mut out = Vec::new();
    let stop = Arc::new(AtomicBool::new(stopped));
    let worst = check_all(&mut out, chosen, arguments, &stop).unwrap();
    (worst, String::from_utf8(out).unwrap())
}

#[test]
fn what_holds_is_shown_in_a_block() {
    let (worst, text) = checked(&[&right_check()], &arguments(), false);
    assert_eq!(worst.exit_code(), 0);
    let labels: Vec<&str> = text.lines().map(|line| line.get(..13).unwrap_or(line).trim()).collect();
    assert_eq!(labels[..6], ["right", "bounds", "states", "transitions", "memory", "rules"], "{text}");
    assert!(text.contains("  bounds       1 object, no faults\n"), "{text}");
    assert!(text.contains("  rules        eventually \"both\"\n"), "{text}");
    assert!(text.ends_with("  verdict      holds\n\n"), "{text}");
}

/// The DNS of web apps remembers generations, and the check declares so: renumbering them would report a false violation.
#[test]
fn what_a_check_says_of_reductions_holds_on_the_command_line() {
    let web_app = AppCheck::new("web-app", "", web_app::worlds::deleted);
    let (worst, text) = checked(&[&web_app], &arguments(), false);
    assert_eq!(worst.exit_code(), 0, "{text}");
}

#[test]
fn what_is_violated_comes_with_its_trace_and_decides_the_exit_code() {
    let (worst, text) = checked(&[&wrong_check(), &right_check()], &arguments(), false);
    assert_eq!(worst.exit_code(), 1);
    assert!(
        text.contains(
            "  verdict      VIOLATED\n\nwrong: always \"in order\" does not hold\nbounds: 1 object, no faults\n"
        ),
        "{text}"
    );
    assert!(
        text.contains("+ configmaps default/a-cm2\n\nto keep it and step through it, add --trace-dir DIR\n"),
        "{text}"
    );
}

#[test]
fn traces_are_kept_on_request_and_can_be_replayed() {
    let folder = std::env::temp_dir().join(format!("windlass-check-{}", std::process::id()));
    let arguments = CheckArguments { trace_dir: Some(folder.clone()), ..arguments() };
    let (_, text) = checked(&[&right_check(), &wrong_check()], &arguments, false);
    let mut names: Vec<PathBuf> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    let saved = windlass_check::Counterexample::load(&folder.join("wrong.json")).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(names, ["wrong.html", "wrong.json", "wrong.mmd"].map(|name| folder.join(name)));
    assert!(
        text.contains(&format!("to step through it, open {}\n", folder.join("wrong.html").display())),
        "{text}"
    );
    assert!(wrong().replay(&saved).is_reproduced());
    // What every cluster has from the start plays no part here.
    let first: Vec<&str> = saved.initial.iter().map(|first| first.object.as_str()).collect();
    assert_eq!(first, ["pairs default/a"]);
}

#[test]
fn limits_and_interruptions_leave_it_undecided() {
    let limited = CheckArguments { max_states: Some(3), ..arguments() };
    let (worst, text) = checked(&[&right_check()], &limited, false);
    assert_eq!(worst.exit_code(), 3);
    let undecided = "  verdict      NOT DECIDED (the state limit was reached); random runs found nothing\n";
    assert!(text.contains(undecided), "{text}");
    // What is beyond the limit may still be found at random, and from its seed again.
    let (worst, text) = checked(
        &[&wrong_check()],
        &CheckArguments { max_states: Some(1), seed: Some(7), ..arguments() },
        false,
    );
    assert_eq!(worst.exit_code(), 1, "{text}");
    assert!(text.contains("VIOLATED (again with --simulate 1 --seed "), "{text}");
    let (worst, text) = checked(&[&right_check(), &wrong_check()], &arguments(), true);
    assert_eq!(worst.exit_code(), 3);
    assert_eq!(text.matches("NOT DECIDED (it was not started)\n").count(), 2, "{text}");
}

#[test]
fn tools_get_one_document() {
    let arguments = CheckArguments { output: OutputArguments::JSON, ..arguments() };
    let (_, text) = checked(&[&right_check(), &wrong_check()], &arguments, false);
    let all: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(all["verdict"], "violated");
    assert_eq!(all["checks"][0]["verdict"], "holds");
    assert_eq!(all["checks"][0].get("counterexample"), None);
    assert_eq!(all["checks"][1]["counterexample"]["violation"]["property"], "in order");
    assert!(all["checks"][1]["states"].as_u64().unwrap() > 0);
}

#[test]
fn specimens_are_checked_on_request_only() {
    assert!(is_chosen(&right_check(), &[]));
    assert!(!is_chosen(&wrong_check(), &[]));
    assert!(is_chosen(&wrong_check(), &["wrong".to_owned()]));
    assert!(!is_chosen(&right_check(), &["wrong".to_owned()]));
    let mut out = Vec::new();
    list(&mut out, &[right_check(), wrong_check()], false).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "right  as it should be\nwrong  as it should not (broken on purpose: only on request)\n"
    );
}

#[test]
fn random_runs_find_what_is_wrong_and_prove_nothing() {
    let (check, stop) = (wrong(), Arc::new(AtomicBool::new(false)));
    // The time is only a limit: the first run finds it.
    let simulation = simulate::run(|options| check.simulate(options), 600, Some(7), &stop);
    let text = Finding::simulated("random", &check, &simulation).to_string();
    assert!(text.contains("  verdict      VIOLATED (again with --simulate 1 --seed 7)\n"), "{text}");
    assert!(text.contains("  runs         1, seeds from 7\n"), "{text}");
    let stop = Arc::new(AtomicBool::new(true));
    let simulation = simulate::run(|options| right().simulate(options), 600, None, &stop);
    let nothing = Finding::simulated("random", &right(), &simulation);
    assert_eq!(nothing.verdict.exit_code(), 3);
}

fn commits() -> AppCheck {
    let three = ProtocolWorld::new("three", "three managers", TwoPhaseCommit::new(3));
    let five = ProtocolWorld::new("five", "five managers", TwoPhaseCommit::new(5)).large();
    AppCheck::protocol("commit", "two-phase commit", [three, five])
}

#[test]
fn a_protocol_is_explored_in_the_worlds_that_are_asked_for() {
    let names = |names: &[&str], large: bool| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let (worst, text) = checked(&[&commits()], &CheckArguments { names, large, ..arguments() }, false);
        assert_eq!(worst.exit_code(), 0, "{text}");
        text.lines().filter(|line| !line.starts_with(' ') && !line.is_empty()).collect::<Vec<_>>().join(",")
    };
    assert_eq!(names(&[], false), "three");
    assert_eq!(names(&[], true), "three,five");
    assert_eq!(names(&["commit"], false), "three");
    assert_eq!(names(&["commit/five"], false), "five");
}

#[test]
fn the_worlds_of_a_protocol_are_shown_like_other_checks() {
    let unreduced = CheckArguments { no_symmetry: true, ..arguments() };
    let (_, text) = checked(&[&commits()], &unreduced, false);
    assert!(text.starts_with("three\n  bounds       three managers\n  states       288,"), "{text}");
    assert!(text.ends_with("  verdict      holds\n\n"), "{text}");
    let mut out = Vec::new();
    list(&mut out, &[commits()], false).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "commit  two-phase commit\n        - commit/three: three managers\n        - commit/five: five managers \
         (takes minutes: only with --large, or by its name)\n"
    );
    assert!(protocol::is_known(&[commits()], "commit/five"));
    assert!(!protocol::is_known(&[commits()], "commit/six"));
}

#[test]
fn a_world_with_another_number_of_states_fails() {
    let run = |states: usize, arguments: &CheckArguments| {
        let three = ProtocolWorld::new("three", "three managers", TwoPhaseCommit::new(3)).states(states);
        let (worst, text) =
            checked(&[&AppCheck::protocol("commit", "two-phase commit", [three])], arguments, false);
        (worst.exit_code(), text)
    };
    let (code, text) = run(1_234, &arguments());
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("HOLDS IN OTHER STATES (1,234 were expected"), "{text}");
    let states =
        text.lines().find_map(|line| line.trim().strip_prefix("states ")).expect("how many there are");
    let states = states.split(',').next().and_then(|states| states.trim().parse().ok()).expect("a number");
    assert_eq!(run(states, &arguments()).0, 0);
    let unreduced = CheckArguments { no_symmetry: true, ..arguments() };
    assert_eq!(run(states, &unreduced).0, 0, "without a reduction there are more");
}

#[test]
fn a_world_that_is_too_large_is_undecided() {
    let limited = CheckArguments { max_states: Some(10), seed: Some(1), ..arguments() };
    let (worst, text) = checked(&[&commits()], &limited, false);
    assert_eq!(worst.exit_code(), 3, "{text}");
    assert!(text.contains("NOT DECIDED (the state limit was reached); random runs found nothing"), "{text}");
}
