//! The worlds that are explored exhaustively, from those that take a moment to those that take a while.

use super::{Faults, World};

/// A world with a name.
#[derive(Clone)]
pub struct NamedWorld {
    /// Its name, for the command line.
    pub name: &'static str,
    /// What can happen in it, in one line.
    pub about: &'static str,
    /// How many states it has, with all reductions. Fewer would mean that something can no longer happen.
    pub states: usize,
    /// Whether a run of all tests explores it; others have millions of states.
    pub small: bool,
    /// The world.
    pub world: World,
}

const NONE: Faults =
    Faults { pauses: 0, crashes: 0, deaths: 0, timeouts: 0, lost_replies: 0, stalls: 0, leaves: 0 };

/// All of them.
pub fn worlds() -> Vec<NamedWorld> {
    [two_instances(), three_instances(), large()].concat()
}

fn named(name: &'static str, states: usize, about: &'static str, world: World) -> NamedWorld {
    NamedWorld { name, about, states, small: true, world }
}

fn two_instances() -> Vec<NamedWorld> {
    let one_slot = |faults| World::new(2, 1).faults(faults);
    let two_slots = |faults| World::new(2, 2).faults(faults);
    vec![
        named(
            "2x1-pause-crash",
            380_289,
            "two instances start and share a slot; one pause, one crash",
            one_slot(Faults { pauses: 1, crashes: 1, ..NONE }),
        ),
        named(
            "2x1-network",
            35_089,
            "the same with a request that arrives late and a lost reply",
            one_slot(Faults { timeouts: 1, lost_replies: 1, ..NONE }),
        ),
        named("2x1-stalls", 215_082, "the same with slow requests", one_slot(Faults { stalls: 3, ..NONE })),
        named(
            "2x1-leave-crash",
            235_442,
            "the same with an instance that leaves and a crash",
            one_slot(Faults { leaves: 1, crashes: 1, ..NONE }),
        ),
        named(
            "2x2-pause",
            99_353,
            "two instances start and share two slots; one pause",
            two_slots(Faults { pauses: 1, ..NONE }),
        ),
        named("2x2-crash", 89_298, "the same with a crash", two_slots(Faults { crashes: 1, ..NONE })),
        named(
            "2x2-leave",
            74_134,
            "the same with an instance that leaves",
            two_slots(Faults { leaves: 1, ..NONE }),
        ),
        named(
            "2x2-watch",
            194_210,
            "the same with a pause, and with watches that show the ring between two reads",
            two_slots(Faults { pauses: 1, ..NONE }).watches(),
        ),
        named(
            "2x2-death",
            6_505,
            "the same with an instance that does not come back",
            two_slots(Faults { deaths: 1, ..NONE }),
        ),
    ]
}

fn three_instances() -> Vec<NamedWorld> {
    let one_slot = |faults| World::new(3, 1).settled().faults(faults);
    let two_slots = |faults| World::new(3, 2).settled().faults(faults);
    vec![
        named(
            "3x1-pause",
            912_222,
            "three members and a slot; one pause",
            one_slot(Faults { pauses: 1, ..NONE }),
        ),
        named("3x1-crash", 502_160, "the same with a crash", one_slot(Faults { crashes: 1, ..NONE })),
        named(
            "3x1-death",
            36_518,
            "the same with an instance that does not come back",
            one_slot(Faults { deaths: 1, ..NONE }),
        ),
        named(
            "3x1-monitor",
            207_998,
            "the same with a crash as well, and only the oldest watches all leases",
            one_slot(Faults { deaths: 1, crashes: 1, ..NONE }).monitors(1).without_writes(),
        ),
        named(
            "3x1-deaths",
            36_972,
            "three instances start and share a slot, without writes; two die, perhaps while they hold the lock",
            World::new(3, 1).faults(Faults { deaths: 2, ..NONE }).without_writes(),
        ),
        named("3x2-start", 137_039, "three instances start and share two slots", World::new(3, 2)),
        named(
            "3x2-pause",
            904_840,
            "three members and two slots, without writes; one pause",
            two_slots(Faults { pauses: 1, ..NONE }).without_writes(),
        ),
        named(
            "3x2-death",
            36_868,
            "the same with an instance that does not come back",
            two_slots(Faults { deaths: 1, ..NONE }).without_writes(),
        ),
    ]
}

/// For the command line: minutes, and gigabytes.
fn large() -> Vec<NamedWorld> {
    let large = |name, states, about, world| NamedWorld { small: false, ..named(name, states, about, world) };
    let both = Faults { pauses: 1, crashes: 1, ..NONE };
    vec![
        large(
            "2x1-pause-crash-late",
            6_055_751,
            "two instances start and share a slot; a pause, a crash and a request that arrives late",
            World::new(2, 1).faults(Faults { timeouts: 1, ..both }),
        ),
        large(
            "2x1-pause-crash-lost",
            2_412_937,
            "the same with a lost reply instead",
            World::new(2, 1).faults(Faults { lost_replies: 1, ..both }),
        ),
        large(
            "2x1-pause-crash-leave",
            6_604_280,
            "the same with an instance that leaves instead",
            World::new(2, 1).faults(Faults { leaves: 1, ..both }),
        ),
        large(
            "2x2-pause-crash",
            2_696_417,
            "two instances start and share two slots; a pause and a crash",
            World::new(2, 2).faults(both),
        ),
        large(
            "3x1-pause-crash",
            37_018_796,
            "three members and a slot; a pause and a crash",
            World::new(3, 1).settled().faults(both),
        ),
        large(
            "3x2-crash",
            2_020_052,
            "three members and two slots; a crash",
            World::new(3, 2).settled().faults(Faults { crashes: 1, ..NONE }),
        ),
        large(
            "3x2-pause-writes",
            3_058_455,
            "three members and two slots; a pause",
            World::new(3, 2).settled().faults(Faults { pauses: 1, ..NONE }),
        ),
    ]
}
