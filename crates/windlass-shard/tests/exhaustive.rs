//! Every interleaving of small worlds: the invariants hold, and once faults stop every slot is served.
//!
//! The numbers of states are pinned: fewer would mean that something can no longer happen.

use windlass_check::engine::{Options, explore};
use windlass_shard::model::worlds;

/// Explores a small world; returns how many states it has, all of them good. `windlass check sharding --large` explores the
/// others.
fn states(name: &str) -> usize {
    let found = worlds().into_iter().find(|world| world.name == name);
    let found = found.unwrap_or_else(|| panic!("there is no world {name}"));
    assert!(found.small, "{name} is too large for a test");
    let exploration = explore(&found.world, &Options::default());
    if let Some(violation) = &exploration.violation {
        panic!("{name}: {violation}");
    }
    assert!(exploration.holds(), "{name}: {:?}", exploration.stop_reason);
    println!("{name}: {} states in {:?}", exploration.states, exploration.elapsed);
    exploration.states
}

#[test]
fn two_instances_with_a_pause_and_a_crash() {
    assert_eq!(states("2x1-pause-crash"), 380_289);
}

#[test]
fn two_instances_with_a_late_request_and_a_lost_reply() {
    assert_eq!(states("2x1-network"), 43_582);
}

#[test]
fn two_instances_with_slow_requests() {
    assert_eq!(states("2x1-stalls"), 215_082);
}

#[test]
fn two_instances_of_which_one_leaves_and_one_crashes() {
    assert_eq!(states("2x1-leave-crash"), 235_442);
}

#[test]
fn two_instances_share_two_slots() {
    let worlds = ["2x2-pause", "2x2-crash", "2x2-leave", "2x2-death"];
    assert_eq!(worlds.map(states), [99_353, 89_298, 74_134, 6_505]);
}

#[test]
fn two_instances_with_watches() {
    assert_eq!(states("2x2-watch"), 194_210);
}

#[test]
fn three_instances_with_a_pause() {
    assert_eq!(states("3x1-pause"), 912_222);
}

#[test]
fn three_instances_with_a_crash() {
    assert_eq!(states("3x1-crash"), 502_160);
}

#[test]
fn three_instances_of_which_one_dies() {
    assert_eq!(["3x1-death", "3x2-death"].map(states), [36_518, 36_868]);
}

#[test]
fn three_instances_of_which_one_watches_all_leases() {
    assert_eq!(states("3x1-monitor"), 207_998);
}

#[test]
fn three_instances_of_which_two_die() {
    assert_eq!(states("3x1-deaths"), 36_972);
}

#[test]
fn three_instances_start_and_share_two_slots() {
    assert_eq!(states("3x2-start"), 137_039);
}

#[test]
fn three_instances_share_two_slots_with_a_pause() {
    assert_eq!(states("3x2-pause"), 904_840);
}
