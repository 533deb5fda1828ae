//! Arguments that are refused, what is printed, and a mutant of the protocol that is reported.

use clap::{Parser, ValueEnum};
use serde_json::Value;
use windlass_shard::Mutation;
use windlass_shard::fleet::Scenario;

use super::arguments::{FleetArguments, ScenarioName};
use super::simulate;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    fleet: FleetArguments,
}

/// Arguments of a small fleet, and more.
fn parse(more: &str) -> Result<FleetArguments, clap::Error> {
    let small = "program --instances 5 --slots 64 --objects 1000 --minutes 3";
    let given: Vec<&str> = small.split(' ').chain(more.split_whitespace()).collect();
    // The last of two values counts here, so that a test can say what is different.
    let command = <Line as clap::CommandFactory>::command().args_override_self(true);
    let matches = command.try_get_matches_from(given)?;
    <FleetArguments as clap::FromArgMatches>::from_arg_matches(&matches)
}

fn arguments(more: &str) -> FleetArguments {
    parse(more).unwrap()
}

fn refused(more: &str) -> String {
    match parse(more) {
        Ok(arguments) => format!("{:#}", arguments.scenarios().unwrap_err()),
        Err(error) => error.to_string().lines().next().unwrap_or_default().to_owned(),
    }
}

fn simulated(arguments: &FleetArguments, change: impl Fn(&mut Scenario)) -> (u8, String) {
    let mut scenarios = arguments.scenarios().unwrap();
    scenarios.iter_mut().for_each(|(_, scenario)| change(scenario));
    let mut out = Vec::new();
    let code = simulate(&mut out, arguments, "pairs", &scenarios).unwrap();
    (code, String::from_utf8(out).unwrap())
}

#[test]
fn bad_values_are_refused_with_advice() {
    for (more, error) in [
        ("--instances 0", "a fleet needs at least one instance: give --instances 1 or more"),
        (
            "--instances 65",
            "65 instances cannot share 64 slots: each needs at least one: give fewer --instances, or more --slots",
        ),
        (
            "--slots 100",
            "--slots cannot be used: the number of slots must be a power of two between 1 and 32768, not 100",
        ),
        ("--objects 0", "a fleet without objects has no load: give --objects 1 or more"),
        (
            "--lease 4 --renew 5",
            "the lease (4000 ms) must last longer than an instance acts without renewing it (5000 ms): \
             give a longer --lease, or another --renew",
        ),
        (
            "--lease 60",
            "3 min of virtual time are too short: with this lease and fleet, a run takes at least 30 min: \
             give --minutes 30 or more",
        ),
        ("--lease 0.1", "error: invalid value '0.1' for '--lease <SECONDS>': give 1 to 3600 seconds"),
        ("--seed seven", "error: invalid value 'seven' for '--seed <N>': give a whole number, or random"),
        ("--minutes 0", "error: invalid value '0' for '--minutes <MINUTES>': 0 is not in 1..=100000"),
        ("--scenario rolling", "error: invalid value 'rolling' for '--scenario <NAME>'"),
    ] {
        assert_eq!(refused(more), error, "{more}");
    }
}

#[test]
fn all_scenarios_are_those_that_can_be_named() {
    let names = |more| {
        let scenarios = arguments(more).scenarios().unwrap();
        scenarios.iter().map(|(name, _)| name.text()).collect::<Vec<_>>()
    };
    let each = ScenarioName::value_variants().iter().map(|name| name.text());
    assert_eq!(names(""), each.filter(|name| name != "all").collect::<Vec<_>>());
    assert_eq!(names("--scenario scale,flapping,scale"), ["scale", "flapping"]);
}

#[test]
fn times_follow_the_lease_in_proportion() {
    let timing = |more| arguments(more).scenarios().unwrap()[0].1.timing;
    let usual = timing("");
    assert_eq!(
        (usual.lease_ms, usual.renew_ms, usual.request_ms, usual.retry_ms),
        (6_000, 4_000, 2_000, 1_000)
    );
    let long = timing("--lease 15 --minutes 8");
    assert_eq!(
        (long.lease_ms, long.renew_ms, long.request_ms, long.retry_ms),
        (15_000, 10_000, 5_000, 2_500)
    );
    let own = timing("--renew 3.5 --request 1");
    assert_eq!((own.lease_ms, own.renew_ms, own.request_ms), (6_000, 3_500, 1_000));
}

#[test]
fn a_broken_rule_is_a_violation_that_can_be_repeated() {
    let arguments = arguments("--scenario rolling-restart --seed 7 --request 3");
    assert_eq!(simulated(&arguments, |_| ()).0, 0);
    let (code, text) = simulated(&arguments, |scenario| scenario.broken = Some(Mutation::NoWaitAfterRestart));
    assert_eq!(code, 3, "{text}");
    assert!(text.contains(" with a late write\n"), "{text}");
    assert!(text.contains(" has a write to it in flight\n"), "{text}");
    let again = "  again with       pairs simulate fleet --scenario rolling-restart --seed 7 --instances 5 --objects 1000 \
                 --slots 64 --keys mixed --minutes 3 --lease 6 --request 3\n";
    assert!(text.contains(again), "{text}");
}

#[test]
fn a_broken_rule_is_in_the_document_for_tools() {
    let arguments = arguments("--scenario chaos --instances 20 --minutes 5 --json");
    let (code, text) = simulated(&arguments, |scenario| scenario.broken = Some(Mutation::IgnoresDeadline));
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &document["verdict"]), (3, &Value::from("violated")));
    let violations = &document["scenarios"][0]["violations"];
    assert!(violations["twoActors"].as_u64().unwrap() > 0, "{violations:#}");
    assert!(violations["first"][0].as_str().unwrap().ends_with("acts on it too"), "{violations:#}");
}
