//! Single instances and pairs of them, step by step.

use super::*;
use crate::memory::MemoryRegistry;

const TIMING: Timing = Timing {
    lease_ms: 6_000,
    renew_ms: 4_000,
    request_ms: 3_000,
    retry_ms: 1_000,
    drift_ms: 100,
    settle_ms: 0,
};
const SLOT: Slot = Slot::FIRST;

fn instance(name: &str, slots: u64, now: u64) -> Instance {
    Instance::new(InstanceId::new(name), SlotCount::new(slots).unwrap(), TIMING, Millis(now))
}

/// Performs what an instance wants until it waits, loading and draining at once; returns the requests in short.
fn work(instance: &mut Instance, registry: &mut MemoryRegistry, now: u64) -> Vec<&'static str> {
    let mut requests = Vec::new();
    loop {
        for command in instance.take_commands() {
            match command {
                Command::Load(slot, epoch) => instance.loaded(slot, epoch),
                Command::Drain(slot, epoch) => instance.drained(slot, epoch),
                Command::Start(..) | Command::Drop(..) => {}
            }
        }
        let Next::Ask(request) = instance.next(Millis(now)) else { break };
        requests.push(match &request {
            Request::ReadRing => "read ring",
            Request::ReadLeases(_) => "read leases",
            Request::SwapLease { id, .. } if *id == instance.id => "renew",
            Request::SwapLease { .. } => "kill",
            Request::SwapRing { .. } => "swap ring",
        });
        instance.answered(registry.perform(&request), Millis(now));
    }
    requests
}

fn acts(instance: &Instance, slot: Slot, now: u64) -> bool {
    instance.permit(slot, Millis(now)).is_some()
}

#[test]
fn new_instance_reads_registers_and_founds_the_ring() {
    let (mut a, mut registry) = (instance("a", 2, 0), MemoryRegistry::default());
    assert_eq!(work(&mut a, &mut registry, 0), ["read ring", "read leases", "renew", "swap ring"]);
    assert!(acts(&a, SLOT, 3_999) && !acts(&a, SLOT, 4_000));
}

#[test]
fn second_instance_joins_locks_and_gets_its_share_drained() {
    let (mut a, mut b, mut registry) = (instance("a", 2, 0), instance("b", 2, 0), MemoryRegistry::default());
    work(&mut a, &mut registry, 0);
    // It registers and locks with one swap, and moves and unlocks with the next.
    assert_eq!(
        work(&mut b, &mut registry, 0),
        ["read ring", "read leases", "renew", "swap ring", "swap ring"]
    );
    assert!(!acts(&b, Slot::new(1), 0));
    assert_eq!(work(&mut a, &mut registry, 1_000), ["renew", "read ring", "read leases", "swap ring"]);
    assert!(acts(&a, SLOT, 1_000) && !acts(&a, Slot::new(1), 1_000));
    work(&mut b, &mut registry, 1_000);
    assert!(acts(&b, Slot::new(1), 1_000), "a drained slot is clean: no wait");
}

#[test]
fn late_renewal_of_its_own_is_no_loss() {
    let (mut a, mut registry) = (instance("a", 1, 0), MemoryRegistry::default());
    work(&mut a, &mut registry, 0);
    let Next::Ask(renewal) = a.next(Millis(1_000)) else { panic!("a renewal is due") };
    a.answered(Answer::Unknown, Millis(1_500));
    assert_eq!(registry.perform(&renewal), Answer::Swapped(Version(3)), "it arrives after all");
    assert_eq!(
        work(&mut a, &mut registry, 2_500),
        ["renew", "read leases", "renew", "read ring", "read leases"]
    );
    assert_eq!(a.incarnation(), Some(Incarnation(1)));
    assert!(acts(&a, SLOT, 6_499));
}

#[test]
fn registry_that_refuses_at_once_is_not_asked_without_pause() {
    let (mut a, mut b, mut registry) = (instance("a", 1, 0), instance("b", 1, 0), MemoryRegistry::default());
    work(&mut a, &mut registry, 0);
    work(&mut b, &mut registry, 0);
    let mut requests = 0;
    // For long enough that the lease of the other one seems to have expired.
    for now in (10..20_000).step_by(10) {
        while let Next::Ask(_) = a.next(Millis(now)) {
            requests += 1;
            a.answered(Answer::Unknown, Millis(now));
        }
    }
    assert!((20..=40).contains(&requests), "a renewal and a read each second, not {requests} requests");
}

#[test]
fn expired_instance_is_killed_first_and_begins_a_new_incarnation() {
    let (mut a, mut b, mut registry) = (instance("a", 1, 0), instance("b", 1, 0), MemoryRegistry::default());
    work(&mut a, &mut registry, 0);
    for now in [0, 1_000, 2_000, 3_000, 4_000, 5_000] {
        work(&mut b, &mut registry, now);
    }
    let requests = work(&mut b, &mut registry, 6_000);
    assert_eq!(requests, ["renew", "read ring", "read leases", "kill", "swap ring", "swap ring"]);
    // R + T - L, and the drift.
    assert!(!acts(&b, SLOT, 7_099) && acts(&b, SLOT, 7_100));
    // The first one was only paused. It must not act on what it knows.
    assert!(!acts(&a, SLOT, 6_000));
    work(&mut a, &mut registry, 6_000);
    assert_eq!((a.incarnation(), acts(&a, SLOT, 6_000)), (Some(Incarnation(2)), false));
}

#[test]
fn restart_under_the_same_name_takes_over_and_waits() {
    let (mut a, mut registry) = (instance("a", 1, 0), MemoryRegistry::default());
    work(&mut a, &mut registry, 0);
    let mut again = instance("a", 1, 500);
    assert_eq!(work(&mut again, &mut registry, 700), ["read ring", "read leases", "renew", "swap ring"]);
    assert_eq!(again.incarnation(), Some(Incarnation(2)));
    // T after the start of the process.
    assert!(!acts(&again, SLOT, 3_499) && acts(&again, SLOT, 3_500));
}

#[test]
fn leaving_instance_hands_over_and_finishes() {
    let (mut a, mut b, mut registry) = (instance("a", 1, 0), instance("b", 1, 0), MemoryRegistry::default());
    work(&mut a, &mut registry, 0);
    work(&mut b, &mut registry, 0);
    a.leave();
    for now in [1_000, 2_000] {
        work(&mut a, &mut registry, now);
        work(&mut b, &mut registry, now);
    }
    assert_eq!(a.next(Millis(2_000)), Next::Finished);
    assert!(acts(&b, SLOT, 2_000));
    assert_eq!(registry.ring().unwrap().members().len(), 1);
}

#[test]
fn last_instance_leaves_its_slots_to_whoever_comes() {
    let (mut a, mut registry) = (instance("a", 1, 0), MemoryRegistry::default());
    work(&mut a, &mut registry, 0);
    a.leave();
    work(&mut a, &mut registry, 1_000);
    assert_eq!(a.next(Millis(1_000)), Next::Finished);
    let mut b = instance("b", 1, 2_000);
    work(&mut b, &mut registry, 2_000);
    assert!(!acts(&b, SLOT, 2_000));
    work(&mut b, &mut registry, 5_100);
    assert!(acts(&b, SLOT, 5_100));
}

#[test]
fn deleted_ring_is_made_again_with_higher_epochs() {
    let (mut a, mut registry) = (instance("a", 1, 0), MemoryRegistry::default());
    work(&mut a, &mut registry, 0);
    let before = registry.ring().unwrap().epoch();
    registry.delete_ring();
    work(&mut a, &mut registry, 1_000);
    let after = registry.ring().unwrap();
    assert!(after.epoch() > before);
    assert!(!after.slot(SLOT).clean);
    assert_eq!(a.incarnation(), Some(Incarnation(2)));
}

/// Whoever knew the ring that was deleted may not have noticed, and act until its permits end.
#[test]
fn ring_that_was_deleted_is_made_by_a_newcomer_above_all_epochs_and_after_a_wait() {
    let (mut a, mut registry) = (instance("a", 1, 0), MemoryRegistry::default());
    work(&mut a, &mut registry, 0);
    let before = registry.ring().unwrap().epoch();
    registry.delete_ring();
    let mut b = instance("b", 1, 1_000);
    work(&mut b, &mut registry, 1_000);
    assert!(registry.ring().unwrap().epoch() > before);
    let Timing { renew_ms, request_ms, .. } = a.timing;
    assert!(acts(&a, SLOT, renew_ms - 1), "it has not looked");
    let waits_until = 1_000 + renew_ms + request_ms;
    (1_000..=waits_until).step_by(500).for_each(|now| drop(work(&mut b, &mut registry, now)));
    assert!(!acts(&b, SLOT, waits_until - 1) && acts(&b, SLOT, waits_until));
}
