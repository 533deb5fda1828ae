//! Simulated fleets: the protocol at its real size, for a few seeds.

use windlass_shard::Mutation;
use windlass_shard::fleet::{Disturbance, Report, Scenario, simulate};

/// Runs a scenario, and checks what must hold in all of them.
fn run(scenario: &Scenario) -> Report {
    let report = simulate(scenario);
    println!("{:?} of {}, seed {}: {report:?}", scenario.disturbance, scenario.instances, scenario.seed);
    assert_eq!(report.violations, Vec::<String>::new(), "{scenario:?}");
    assert_eq!(report.unserved, 0, "{scenario:?}");
    report
}

#[test]
fn hundred_undisturbed_instances_keep_their_slots() {
    let report = run(&Scenario { duration_ms: 90_000, ..Scenario::new(1, Disturbance::None) });
    assert_eq!(report.moved, 0);
    assert!(report.steady_throughput > 0.99, "{}", report.steady_throughput);
}

#[test]
fn rolling_restart_moves_nothing() {
    let scenario = Scenario { duration_ms: 240_000, quiet_from_ms: 210_000, ..Scenario::rolling_restart(2) };
    let report = run(&scenario);
    assert_eq!(report.moved, 0);
}

#[test]
fn flapping_instances_do_not_disturb_the_others() {
    let scenario =
        Scenario { duration_ms: 150_000, quiet_from_ms: 120_000, ..Scenario::new(3, Disturbance::Flapping) };
    let report = run(&scenario);
    assert!(report.steady_throughput > 0.9, "{}", report.steady_throughput);
}

#[test]
fn slots_of_a_dead_instance_are_served_within_nine_seconds() {
    for seed in 0..3 {
        let scenario = Scenario {
            duration_ms: 120_000,
            quiet_from_ms: 60_000,
            ..Scenario::new(seed, Disturbance::Death)
        };
        let report = run(&scenario);
        assert!(report.longest_gap_ms <= 9_000, "seed {seed}: {} ms", report.longest_gap_ms);
    }
}

#[test]
fn slots_of_a_third_of_the_fleet_are_served_again() {
    let scenario = Scenario {
        duration_ms: 240_000,
        quiet_from_ms: 180_000,
        ..Scenario::new(4, Disturbance::MassFailure)
    };
    let report = run(&scenario);
    // Those who notice have 33 leases to end, one by one.
    assert!(report.longest_gap_ms <= 10_000, "{} ms", report.longest_gap_ms);
}

#[test]
fn chaos_gives_no_slot_two_owners() {
    for seed in 0..3 {
        run(&Scenario {
            instances: 20,
            duration_ms: 300_000,
            quiet_from_ms: 240_000,
            ..Scenario::new(seed, Disturbance::Chaos)
        });
    }
}

#[test]
fn broken_rules_are_caught() {
    for rule in [Mutation::IgnoresDeadline, Mutation::NoWaitAfterRestart, Mutation::HandsOverUndrained] {
        let chaos = Scenario { instances: 20, duration_ms: 120_000, ..Scenario::new(0, Disturbance::Chaos) };
        let report = simulate(&Scenario { broken: Some(rule), ..chaos });
        assert!(!report.violations.is_empty(), "{rule:?} is not caught");
        println!("{rule:?}: {}", report.violations[0]);
    }
}
