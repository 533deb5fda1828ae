//! What must hold of virtual networks, on every interleaving of the operators and of what goes wrong; in worlds that are too
//! large for that, on random ones.

use windlass_check::engine::SimulationOptions;
use windlass_check::{Check, Faults, Violation};
use windlass_mizar::{Mistake, worlds};

type World = fn(Option<Mistake>) -> Check;

#[track_caller]
fn check_holds(world: World, states: usize) {
    let report = world(None).assert();
    println!("{report}");
    assert_eq!(report.states(), states);
    assert!(report.never_struck.is_empty(), "{:?}", report.never_struck);
}

#[test]
fn two_vpcs_never_get_the_same_vni() {
    check_holds(worlds::taken_vni, 195_428);
}

#[test]
fn an_endpoint_becomes_provisioned() {
    check_holds(worlds::endpoint_is_created, 493_640);
}

#[test]
fn a_daemon_that_is_away_delays_and_breaks_nothing() {
    check_holds(worlds::daemon_is_away, 23_470);
}

#[test]
fn nothing_is_left_of_a_deleted_endpoint() {
    check_holds(worlds::endpoint_is_deleted, 62_251);
}

#[test]
fn an_endpoint_that_is_created_again_gets_the_only_address() {
    check_holds(worlds::endpoint_is_created_again, 155_822);
}

#[test]
fn pods_of_one_name_have_an_endpoint_each() {
    check_holds(worlds::pods_of_one_name, 800);
}

#[test]
fn the_ports_of_a_service_are_found_by_name() {
    check_holds(worlds::service_has_named_ports, 73);
}

#[test]
fn nothing_is_left_of_a_deleted_service() {
    check_holds(worlds::scaled_endpoint_is_deleted, 1_152);
}

#[test]
fn a_bouncer_is_deleted_step_by_step() {
    check_holds(worlds::bouncer_is_deleted, 21_068);
}

#[test]
fn nothing_comes_back_of_an_endpoint_that_is_deleted_early() {
    check_holds(worlds::endpoint_is_deleted_early, 949_853);
}

#[test]
fn an_address_is_given_out_again_only_when_its_endpoint_is_gone() {
    check_holds(worlds::address_is_reused, 468_653);
}

#[test]
fn a_bouncer_knows_the_first_divider_and_the_second() {
    check_holds(worlds::second_divider, 2_066);
}

#[test]
fn a_daemon_that_was_restarted_gets_its_tables_again() {
    check_holds(worlds::daemon_restarts, 17_584);
}

#[test]
fn stale_views_break_nothing() {
    let stale = Faults::none().crashes(1).stale(1);
    for (world, states) in [
        (worlds::pods_of_one_name as World, 1_485),
        (worlds::service_has_named_ports, 82),
        (worlds::scaled_endpoint_is_deleted, 1_253),
    ] {
        let report = world(None).faults(stale.clone()).assert();
        assert_eq!((report.states(), &report.never_struck), (states, &Vec::new()));
    }
}

/// Runs of a world, without a violation. Of each it must be clear where it ends.
#[track_caller]
fn check_runs(world: World, runs: u64, depth: usize) {
    let options = SimulationOptions { runs: Some(runs), depth, end_states: 200_000, ..Default::default() };
    let simulation = world(None).simulate(&options);
    println!(
        "{} runs, {} steps, {} undecided, {:?}",
        simulation.runs, simulation.steps, simulation.undecided, simulation.elapsed
    );
    if let Some((seed, violation)) = simulation.violation {
        panic!("the run of seed {seed}: {violation:?}");
    }
    assert_eq!((simulation.runs, simulation.undecided), (runs, 0));
    let unseen: Vec<&String> =
        simulation.sometimes.iter().filter(|(_, seen)| !seen).map(|(name, _)| name).collect();
    assert!(unseen.is_empty(), "never seen: {unseen:?}");
}

#[test]
fn runs_of_larger_worlds_find_nothing() {
    check_runs(worlds::vpc_lives, 20, 200);
    check_runs(worlds::dividers_scale, 20, 200);
    check_runs(worlds::network_lives, 20, 200);
    check_runs(worlds::backends_change, 40, 200);
    check_runs(worlds::bouncer_meets_endpoint, 30, 200);
    check_runs(worlds::divider_meets_bouncer, 30, 200);
    check_runs(worlds::droplet_is_lost, 30, 200);
    check_runs(worlds::droplets_come_and_go, 30, 200);
}

#[test]
fn runs_of_all_operators_find_nothing() {
    check_runs(worlds::whole, 2, 1_500);
}

/// What a mistake breaks; found without faults.
#[track_caller]
fn check_found(world: World, mistake: Mistake, expected: &str) {
    check_found_with(Faults::none(), world, mistake, expected);
}

/// What a mistake breaks when some things go wrong.
#[track_caller]
fn check_found_with(faults: Faults, world: World, mistake: Mistake, expected: &str) {
    let check = world(Some(mistake)).faults(faults).only_first_violation().max_states(300_000);
    let report = check.run();
    let violation = report.violation.clone();
    let violation = violation.or_else(|| {
        let runs = SimulationOptions { runs: Some(300), depth: 300, ..Default::default() };
        world(Some(mistake)).simulate(&runs).violation.map(|(_, violation)| violation)
    });
    let broken = match &violation {
        Some(Violation::Always { property, .. } | Violation::Eventually { property, .. }) => property.clone(),
        Some(Violation::Step { message, .. } | Violation::AtRest { message, .. }) => message.clone(),
        other => panic!("{mistake:?} was not found: {other:?}\n{report}"),
    };
    assert!(broken.contains(expected), "{mistake:?} breaks {broken:?}: {report}");
}

const TABLES: &str = "tables are what the objects say";
const DELETION: &str = "a step of a deletion is done before the one before it";

#[test]
fn mistakes_with_addresses_are_found() {
    let shared = "no two endpoints of a VPC share an address";
    check_found(worlds::address_is_reused, Mistake::ClaimsNoAddress, shared);
    check_found(worlds::address_is_reused, Mistake::KeepsAddresses, "every claim has its holder");
    let usable = "addresses are in their network, and MAC addresses are unicast";
    check_found(worlds::endpoint_is_created, Mistake::GivesOutBroadcast, usable);
    check_found(worlds::endpoint_is_created, Mistake::MulticastMac, usable);
}

#[test]
fn mistakes_with_vnis_and_dividers_are_found() {
    check_found(worlds::taken_vni, Mistake::ClaimsNoVni, "no two VPCs share a VNI");
    check_found(
        worlds::vpc_lives,
        Mistake::DoesNotWaitForDividers,
        "a VPC is Provisioned before its dividers",
    );
    check_found(worlds::dividers_scale, Mistake::IgnoresScaleIn, "there is one divider");
    check_found(worlds::second_divider, Mistake::SendsOnlyTheNewDivider, TABLES);
}

#[test]
fn mistakes_with_daemons_are_found() {
    check_found(worlds::daemon_is_away, Mistake::GivesUpOnErrors, TABLES);
    check_found(worlds::daemon_restarts, Mistake::IgnoresRestarts, TABLES);
    check_found(worlds::droplet_is_lost, Mistake::StaysOnLostDroplets, "the bouncer is elsewhere");
    check_found(worlds::divider_meets_bouncer, Mistake::ReadsObjectsFirst, TABLES);
    let crash = Faults::none().crashes(1);
    check_found_with(crash, worlds::endpoint_is_deleted_early, Mistake::DeletesOnlyWhatIsThere, DELETION);
    check_found(worlds::daemon_restarts, Mistake::BootstrapsWithoutBouncers, TABLES);
}

#[test]
fn mistakes_with_deletions_are_found() {
    check_found(worlds::endpoint_is_deleted, Mistake::DropsSharedSubstrates, "nothing is left of it");
    check_found(worlds::endpoint_is_deleted, Mistake::LeavesInterfaces, DELETION);
    check_found(worlds::endpoint_is_deleted, Mistake::ForgetsInAnotherOrder, DELETION);
    check_found(worlds::bouncer_is_deleted, Mistake::FailsToDelete, TABLES);
    check_found(worlds::vpc_lives, Mistake::FailsToDelete, TABLES);
    check_found(worlds::endpoint_is_created_again, Mistake::FindsHoldersByName, "every claim has its holder");
}

#[test]
fn mistakes_with_names_are_found() {
    check_found(worlds::pods_of_one_name, Mistake::IndexesPodsByName, "each has an endpoint");
    check_found(worlds::service_has_named_ports, Mistake::IgnoresPortNames, "the ports of the pod");
}

#[test]
fn mistakes_with_networks_and_services_are_found() {
    check_found(worlds::network_lives, Mistake::NeverDeletesNetworks, "nothing is left");
    let stranger = "a phase is moved by another than its operator";
    check_found(worlds::network_lives, Mistake::MovesWhatIsNotItsOwn, stranger);
    check_found(worlds::backends_change, Mistake::KeepsLastBackends, TABLES);
}
