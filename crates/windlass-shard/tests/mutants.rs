//! Every rule of the protocol is needed: without it, the checker finds two actors on a slot, or an actor on a slot to which
//! another's write is in flight.

use windlass_check::engine::{Options, explore};
use windlass_shard::Mutation;
use windlass_shard::model::{Faults, World};

/// Explores a world with a broken rule until it is caught; returns the violated rule and the number of steps.
fn caught(world: World, mutation: Mutation) -> (String, usize) {
    let options = Options { max_states: 3_000_000, ..Options::default() };
    let found = explore(&world.broken(mutation), &options);
    let violation =
        found.violation.unwrap_or_else(|| panic!("{mutation:?} is not caught in {} states", found.states));
    println!("{mutation:?}: {violation}");
    (anonymous(&violation.rule()), violation.trace().map_or(0, |trace| trace.steps.len()))
}

/// Of several violations that are equally near, which one is found depends on the threads.
fn anonymous(rule: &str) -> String {
    let rule = rule.replace("slot 0", "a slot").replace("slot 1", "a slot");
    ["a acts", "b acts", "c acts"].iter().fold(rule, |rule, actor| rule.replace(actor, "one acts"))
}

fn world(instances: usize, slots: usize, faults: Faults) -> World {
    World::new(instances, slots).faults(faults)
}

const NONE: Faults =
    Faults { pauses: 0, crashes: 0, deaths: 0, timeouts: 0, lost_replies: 0, stalls: 0, leaves: 0 };
const TWO_ACTORS: &str = "always \"at most one may act on a slot\"";

const LATE_WRITE: &str = "one acts on a slot while another's write is in flight";

#[test]
fn rule_1_acting_on_a_draining_slot_is_caught() {
    assert_eq!(caught(world(2, 2, NONE), Mutation::ActsWhileDraining), (LATE_WRITE.into(), 22));
}

#[test]
fn rule_1_acting_before_a_slot_is_loaded_is_caught() {
    let rule = "one acts on a slot before it is loaded".to_owned();
    assert_eq!(caught(world(2, 1, NONE), Mutation::ActsBeforeLoaded), (rule, 5));
}

#[test]
fn rule_1_acting_after_the_deadline_is_caught() {
    let faults = Faults { pauses: 1, ..NONE };
    assert_eq!(caught(world(2, 1, faults), Mutation::IgnoresDeadline), (TWO_ACTORS.into(), 28));
}

#[test]
fn rule_1_a_permit_that_is_checked_once_is_caught() {
    assert_eq!(caught(world(2, 2, NONE), Mutation::ChecksOnce), (LATE_WRITE.into(), 23));
}

#[test]
fn rule_2_renewing_without_comparing_is_caught() {
    let faults = Faults { pauses: 1, ..NONE };
    assert_eq!(caught(world(2, 1, faults), Mutation::RenewsBlindly), (TWO_ACTORS.into(), 30));
}

#[test]
fn rule_2_going_on_after_a_loss_is_caught() {
    let faults = Faults { pauses: 1, ..NONE };
    assert_eq!(caught(world(2, 1, faults), Mutation::SurvivesLoss), (TWO_ACTORS.into(), 32));
}

#[test]
fn rule_3_moving_slots_without_ending_the_lease_is_caught() {
    let faults = Faults { pauses: 1, ..NONE };
    assert_eq!(caught(world(2, 1, faults), Mutation::MovesWithoutKill), (TWO_ACTORS.into(), 29));
}

#[test]
fn rule_4_slots_of_an_earlier_incarnation_are_caught() {
    let faults = Faults { crashes: 1, ..NONE };
    assert_eq!(caught(world(2, 1, faults), Mutation::IgnoresIncarnation), (LATE_WRITE.into(), 21));
}

#[test]
fn rule_4_taking_over_slots_as_clean_is_caught() {
    let faults = Faults { crashes: 1, ..NONE };
    assert_eq!(caught(world(2, 1, faults), Mutation::TakesOverClean), (LATE_WRITE.into(), 14));
}

#[test]
fn rule_5_handing_over_before_it_is_drained_is_caught() {
    assert_eq!(caught(world(2, 2, NONE), Mutation::HandsOverUndrained), (LATE_WRITE.into(), 21));
}

#[test]
fn rule_6_no_wait_after_an_expiry_is_caught() {
    let faults = Faults { pauses: 1, ..NONE };
    assert_eq!(caught(world(2, 1, faults), Mutation::NoWaitAfterExpiry), (LATE_WRITE.into(), 25));
}

#[test]
fn rule_6_no_wait_after_a_restart_is_caught() {
    let faults = Faults { crashes: 1, ..NONE };
    // With a lease that lasts longer, the wait after an expiry is too short for a restart.
    assert_eq!(caught(world(2, 1, faults).lease(3), Mutation::NoWaitAfterRestart), (LATE_WRITE.into(), 20));
}

#[test]
fn rule_7_handing_over_during_the_own_wait_is_caught() {
    let faults = Faults { crashes: 1, leaves: 1, ..NONE };
    assert_eq!(caught(world(2, 1, faults).settled(), Mutation::HandsOverDuringWait), (LATE_WRITE.into(), 18));
}

#[test]
fn rule_8_trusting_the_lock_is_caught() {
    let faults = Faults { pauses: 1, ..NONE };
    let rule = "the epoch of a slot does not grow although it changes hands".to_owned();
    assert_eq!(caught(world(2, 2, faults), Mutation::TrustsLock), (rule, 28));
}

#[test]
fn rule_8_a_lock_that_is_never_taken_away_is_caught() {
    let faults = Faults { deaths: 2, ..NONE };
    let world = world(3, 1, faults).without_writes();
    let rule = "eventually \"every slot is owned, loaded and reconciled\"".to_owned();
    assert_eq!(caught(world, Mutation::KeepsStaleLock).0, rule);
}
