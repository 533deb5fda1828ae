//! Simulated fleets: the protocol at its real size, for a few seeds.

use windlass_shard::fleet::{Disturbance, Report, Scenario, simulate};
use windlass_shard::{Mutation, SlotCount, Timing};

/// Runs a scenario, and checks what must hold in all of them.
fn run(scenario: &Scenario) -> Report {
    let report = simulate(scenario);
    let Scenario { disturbance, instances, seed, .. } = scenario;
    let Report { movement, steady_throughput, ring_swaps, .. } = &report;
    let gap = report.longest_gap_ms();
    println!(
        "{disturbance:?} of {instances}, seed {seed}: {movement:?}, {ring_swaps} swaps, {gap} ms, {steady_throughput}"
    );
    assert_eq!(report.violations, Vec::<String>::new(), "{scenario:?}");
    assert_eq!(report.unserved, 0, "{scenario:?}");
    report
}

#[test]
fn hundred_undisturbed_instances_keep_their_slots() {
    let report = run(&Scenario { duration_ms: 90_000, ..Scenario::new(1, Disturbance::None) });
    assert_eq!(report.movement.slots, 0);
    assert!(report.steady_throughput > 0.99, "{}", report.steady_throughput);
}

#[test]
fn rolling_restart_moves_nothing() {
    let scenario = Scenario { duration_ms: 240_000, quiet_from_ms: 210_000, ..Scenario::rolling_restart(2) };
    let report = run(&scenario);
    assert_eq!(report.movement.slots, 0);
}

#[test]
fn flapping_instances_do_not_disturb_the_others() {
    let scenario =
        Scenario { duration_ms: 150_000, quiet_from_ms: 120_000, ..Scenario::new(3, Disturbance::Flapping) };
    let report = run(&scenario);
    assert!(report.steady_throughput > 0.9, "{}", report.steady_throughput);
}

#[test]
fn answers_to_drains_that_were_called_off_are_ignored() {
    // Requests that take long make long drains: one is called off, and begins again before the first one would have ended.
    for seed in [1, 3, 11] {
        let usual = Scenario::new(seed, Disturbance::Flapping);
        run(&Scenario {
            instances: 5,
            slots: SlotCount::new(256).unwrap(),
            timing: Timing { request_ms: 10_000, ..usual.timing },
            duration_ms: 180_000,
            quiet_from_ms: 150_000,
            ..usual
        });
    }
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
        assert!(report.longest_gap_ms() <= 9_000, "seed {seed}: {} ms", report.longest_gap_ms());
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
    assert!(report.longest_gap_ms() <= 10_000, "{} ms", report.longest_gap_ms());
}

#[test]
fn a_growing_and_shrinking_fleet_moves_what_must() {
    let scenario = Scenario {
        instances: 20,
        objects: 100_000,
        duration_ms: 240_000,
        quiet_from_ms: 200_000,
        ..Scenario::new(5, Disturbance::Scale)
    };
    let report = run(&scenario);
    assert!(report.movement.objects > 100_000, "{:?}", report.movement);
    assert!(report.movement.ratio().unwrap() < 1.02, "{:?}", report.movement);
    assert!(report.balance.end.unwrap() < 1.03, "{:?}", report.balance);
    let running = |index: usize| report.timeline.samples[index].running();
    let most = report.timeline.samples.iter().map(|sample| sample.running()).max();
    assert_eq!((running(0), most, running(report.timeline.samples.len() - 1)), (10, Some(20), 10));
}

#[test]
fn weights_balance_costs_that_change() {
    let scenario = Scenario { objects: 1_000_000, ..Scenario::new(6, Disturbance::Weights) };
    let report = run(&scenario.lasting(240_000).unwrap());
    let [before, end, worst] =
        [report.unknown_cost_balance.end, report.cost_balance.end, report.cost_balance.worst];
    assert!(before.unwrap() > 1.05, "costs differ: {before:?}");
    assert!(end.unwrap() <= 1.02 && worst.unwrap() <= 1.03, "{end:?}, {worst:?}");
    assert!(report.movement.ratio().unwrap() < 1.5, "{:?}", report.movement);
    assert!(report.steady_throughput > 0.99, "{}", report.steady_throughput);
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
