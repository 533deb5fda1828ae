//! Every interleaving of small worlds: the invariants hold, and once faults stop every slot is served.
//!
//! The numbers of states are pinned, in `worlds.rs`. `windlass check sharding --large` explores the other worlds, and
//! compares their numbers as well.

use windlass_check::engine::{Options, explore};
use windlass_shard::model::worlds;

/// Explores small worlds: all states are good, and there are as many as ever.
fn hold(names: &[&str]) {
    for name in names {
        let found = worlds().into_iter().find(|world| world.name == *name);
        let found = found.unwrap_or_else(|| panic!("there is no world {name}"));
        assert!(found.small, "{name} is too large for a test");
        let exploration = explore(&found.world, &Options::default());
        if let Some(violation) = &exploration.violation {
            panic!("{name}: {violation}");
        }
        assert!(exploration.holds(), "{name}: {:?}", exploration.stop_reason);
        println!("{name}: {} states in {:?}", exploration.states, exploration.elapsed);
        assert_eq!(exploration.states, found.states, "{name} has another number of states");
    }
}

#[test]
fn two_instances_share_a_slot() {
    hold(&["2x1-pause-crash", "2x1-network", "2x1-stalls", "2x1-leave-crash"]);
}

#[test]
fn two_instances_share_two_slots() {
    hold(&["2x2-pause", "2x2-crash", "2x2-leave", "2x2-death", "2x2-watch"]);
}

#[test]
fn three_instances_share_a_slot() {
    hold(&["3x1-pause", "3x1-crash", "3x1-death", "3x1-monitor", "3x1-deaths"]);
}

#[test]
fn three_instances_share_two_slots() {
    hold(&["3x2-start", "3x2-pause", "3x2-death"]);
}

#[test]
fn every_small_world_is_in_a_test() {
    let source = include_str!("exhaustive.rs");
    for world in worlds().iter().filter(|world| world.small) {
        assert!(source.contains(&format!("\"{}\"", world.name)), "{} is explored by no test", world.name);
    }
}
