//! The worlds that are explored exhaustively, from those that take a moment to those that take a while.

use super::{Faults, World};

/// A world with a name.
#[derive(Clone)]
pub struct NamedWorld {
    /// Its name, for the command line.
    pub name: &'static str,
    /// What can happen in it, in one line.
    pub about: &'static str,
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

fn named(name: &'static str, about: &'static str, world: World) -> NamedWorld {
    NamedWorld { name, about, small: true, world }
}

fn two_instances() -> Vec<NamedWorld> {
    let one_slot = |faults| World::new(2, 1).faults(faults);
    let two_slots = |faults| World::new(2, 2).faults(faults);
    vec![
        named(
            "2x1-pause-crash",
            "two instances start and share a slot; one pause, one crash",
            one_slot(Faults { pauses: 1, crashes: 1, ..NONE }),
        ),
        named(
            "2x1-network",
            "the same with a request that arrives late and a lost reply",
            one_slot(Faults { timeouts: 1, lost_replies: 1, ..NONE }),
        ),
        named("2x1-stalls", "the same with slow requests", one_slot(Faults { stalls: 3, ..NONE })),
        named(
            "2x1-leave-crash",
            "the same with an instance that leaves and a crash",
            one_slot(Faults { leaves: 1, crashes: 1, ..NONE }),
        ),
        named(
            "2x2-pause",
            "two instances start and share two slots; one pause",
            two_slots(Faults { pauses: 1, ..NONE }),
        ),
        named("2x2-crash", "the same with a crash", two_slots(Faults { crashes: 1, ..NONE })),
        named("2x2-leave", "the same with an instance that leaves", two_slots(Faults { leaves: 1, ..NONE })),
        named(
            "2x2-watch",
            "the same with a pause, and with watches that show the ring between two reads",
            two_slots(Faults { pauses: 1, ..NONE }).watches(),
        ),
        named(
            "2x2-death",
            "the same with an instance that does not come back",
            two_slots(Faults { deaths: 1, ..NONE }),
        ),
    ]
}

fn three_instances() -> Vec<NamedWorld> {
    let one_slot = |faults| World::new(3, 1).settled().faults(faults);
    let two_slots = |faults| World::new(3, 2).settled().faults(faults);
    vec![
        named("3x1-pause", "three members and a slot; one pause", one_slot(Faults { pauses: 1, ..NONE })),
        named("3x1-crash", "the same with a crash", one_slot(Faults { crashes: 1, ..NONE })),
        named(
            "3x1-death",
            "the same with an instance that does not come back",
            one_slot(Faults { deaths: 1, ..NONE }),
        ),
        named(
            "3x1-monitor",
            "the same with a crash as well, and only the oldest watches all leases",
            one_slot(Faults { deaths: 1, crashes: 1, ..NONE }).monitors(1).without_writes(),
        ),
        named(
            "3x1-deaths",
            "three instances start and share a slot, without writes; two die, perhaps while they hold the lock",
            World::new(3, 1).faults(Faults { deaths: 2, ..NONE }).without_writes(),
        ),
        named("3x2-start", "three instances start and share two slots", World::new(3, 2)),
        named(
            "3x2-pause",
            "three members and two slots, without writes; one pause",
            two_slots(Faults { pauses: 1, ..NONE }).without_writes(),
        ),
        named(
            "3x2-death",
            "the same with an instance that does not come back",
            two_slots(Faults { deaths: 1, ..NONE }).without_writes(),
        ),
    ]
}

/// For the command line: minutes, and gigabytes.
fn large() -> Vec<NamedWorld> {
    let large = |name, about, world| NamedWorld { name, about, small: false, world };
    let both = Faults { pauses: 1, crashes: 1, ..NONE };
    vec![
        large(
            "2x1-all",
            "two instances start and share a slot; a pause, a crash, a late request, a lost reply and a leave",
            World::new(2, 1).faults(Faults { timeouts: 1, lost_replies: 1, leaves: 1, ..both }),
        ),
        large(
            "2x2-pause-crash",
            "two instances start and share two slots; a pause and a crash",
            World::new(2, 2).faults(both),
        ),
        large(
            "3x1-pause-crash",
            "three members and a slot; a pause and a crash",
            World::new(3, 1).settled().faults(both),
        ),
        large(
            "3x2-crash",
            "three members and two slots; a crash",
            World::new(3, 2).settled().faults(Faults { crashes: 1, ..NONE }),
        ),
        large(
            "3x2-pause-writes",
            "three members and two slots; a pause",
            World::new(3, 2).settled().faults(Faults { pauses: 1, ..NONE }),
        ),
    ]
}
