//! The five pictures of the design that the distribution of work began with, step by step.

use windlass_shard::{
    Answer, Command, Directory, Epoch, Instance, InstanceId, MemoryRegistry, Millis, Next, Observed,
    Preprocessed, Processed, Request, Slot, SlotCount, Status, Timing, Uid,
};

const TIMING: Timing = Timing {
    lease_ms: 6_000,
    renew_ms: 4_000,
    request_ms: 2_000,
    retry_ms: 1_000,
    drift_ms: 0,
    settle_ms: 0,
};

fn ring(registry: &MemoryRegistry) -> std::sync::Arc<windlass_shard::Ring> {
    registry.ring().expect("there is a ring")
}

fn count() -> SlotCount {
    SlotCount::new(2).expect("a power of two")
}

fn observed(slot: usize, status: Status) -> Observed<&'static str> {
    Observed { uid: Uid::new("uid"), slot: Slot::new(slot), key: "default/web", created: 1, status }
}

fn instance(name: &str) -> Instance {
    Instance::new(InstanceId::new(name), count(), TIMING, Millis(0))
}

/// Performs requests until the instance waits, or until it wants something that `until` says.
fn work(
    instance: &mut Instance,
    registry: &mut MemoryRegistry,
    now: u64,
    until: impl Fn(&Request) -> bool,
) -> bool {
    while let Next::Ask(request) = instance.next(Millis(now)) {
        if until(&request) {
            instance.answered(Answer::Unknown, Millis(now));
            return true;
        }
        instance.answered(registry.perform(&request), Millis(now));
    }
    false
}

fn load(instance: &mut Instance) {
    for command in instance.take_commands() {
        if let Command::Load(slot, epoch) = command {
            instance.loaded(slot, epoch);
        }
    }
}

fn epoch(instance: &Instance, slot: usize, now: u64) -> Option<Epoch> {
    instance.permit(Slot::new(slot), Millis(now)).map(|permit| permit.epoch)
}

#[test]
fn preprocess() {
    let mut directory = Directory::new(count());
    let (open, completed) = (observed(0, Status::Open), observed(0, Status::Completed));
    // A new one is placed; it is queued only if it is mine.
    assert_eq!(directory.preprocess(&open, None), Preprocessed::NotMine);
    assert_eq!(directory.len(), 1);
    // A known one is checked for a change of owner.
    let enqueue = |is_new, is_reassigned| Preprocessed::Enqueue { is_new, is_reassigned };
    assert_eq!(directory.preprocess(&open, Some(Epoch(3))), enqueue(false, true));
    directory.read(&open, Epoch(3));
    assert_eq!(directory.preprocess(&open, Some(Epoch(3))), enqueue(false, false));
    // An event for a completed one removes it.
    assert_eq!(directory.preprocess(&completed, Some(Epoch(3))), Preprocessed::Removed);
    assert!(directory.is_empty());
    assert_eq!(directory.preprocess(&open, Some(Epoch(3))), enqueue(true, false));
    assert_eq!(directory.process(open.slot, open.uid, Some(Epoch(3))), Processed::Reconcile);
}

#[test]
fn process() {
    let mut directory = Directory::new(count());
    let (slot, uid) = (Slot::new(0), Uid::new("uid"));
    let mine = Some(Epoch(3));
    assert_eq!(directory.process(slot, uid, mine), Processed::NotMine, "it is not known");
    directory.preprocess(&observed(0, Status::Open), None);
    // It was reassigned meanwhile: read it again.
    assert_eq!(directory.process(slot, uid, mine), Processed::ReadAgain);
    directory.read(&observed(0, Status::Open), Epoch(3));
    assert_eq!(directory.process(slot, uid, mine), Processed::Reconcile);
    // Another's, and mine again.
    assert_eq!(directory.process(slot, uid, None), Processed::NotMine);
    assert_eq!(directory.process(slot, uid, Some(Epoch(5))), Processed::ReadAgain);
    // Completed: drop it.
    directory.read(&observed(0, Status::Completed), Epoch(5));
    assert_eq!(directory.process(slot, uid, Some(Epoch(5))), Processed::Completed);
    assert!(directory.is_empty());
}

#[test]
fn new_instance() {
    let mut registry = MemoryRegistry::default();
    let mut first = instance("uuid1");
    work(&mut first, &mut registry, 0, |_| false);
    // Listen, and fill the map, although nothing is mine yet.
    let mut directory = Directory::new(count());
    let mut second = instance("uuid2");
    assert_eq!(directory.preprocess(&observed(1, Status::Open), epoch(&second, 1, 0)), Preprocessed::NotMine);
    // Register and lock the ring.
    let unlocks =
        |request: &Request| matches!(request, Request::SwapRing { ring, .. } if ring.lock_holder().is_none());
    assert!(work(&mut second, &mut registry, 0, unlocks));
    let locked = ring(&registry);
    assert_eq!(locked.lock_holder(), Some(&InstanceId::new("uuid2")));
    assert_eq!(locked.members().len(), 2);
    // Unlock it, with what is to move on its way.
    work(&mut second, &mut registry, 1_000, |_| false);
    assert_eq!(ring(&registry).lock_holder(), None);
    assert_eq!(ring(&registry).slot(Slot::new(1)).draining_to, Some(1));
    assert_eq!(epoch(&second, 1, 1_000), None);
}

#[test]
fn instance_change() {
    let mut registry = MemoryRegistry::default();
    let (mut first, mut second) = (instance("uuid1"), instance("uuid2"));
    work(&mut first, &mut registry, 0, |_| false);
    load(&mut first);
    work(&mut second, &mut registry, 0, |_| false);
    assert!(epoch(&first, 0, 0).is_some() && epoch(&first, 1, 0).is_some());
    // Read the membership: what moves is not taken any more, and the rest goes on.
    work(&mut first, &mut registry, 1_000, |_| false);
    assert!(epoch(&first, 0, 1_000).is_some() && epoch(&first, 1, 1_000).is_none());
    assert_eq!(ring(&registry).owner(Slot::new(1)).id, InstanceId::new("uuid1"), "it is not drained yet");
    // Finish what is in flight, and acknowledge.
    let drains = first.take_commands();
    let [.., Command::Drain(slot, drained)] = drains[..] else { panic!("it drains: {drains:?}") };
    first.drained(slot, drained);
    work(&mut first, &mut registry, 1_000, |_| false);
    // Become active.
    work(&mut second, &mut registry, 1_000, |_| false);
    load(&mut second);
    let gained = epoch(&second, 1, 1_000);
    assert!(gained > Some(drained), "an epoch of its own");
}

#[test]
fn lock() {
    let mut registry = MemoryRegistry::default();
    let names = ["uuid1", "uuid2", "uuid3"];
    let [mut first, mut second, mut third] = names.map(instance);
    work(&mut first, &mut registry, 0, |_| false);
    load(&mut first);
    let swaps_ring = |request: &Request| matches!(request, Request::SwapRing { ring, .. } if ring.members().len() == 2 && ring.lock_holder().is_none());
    assert!(work(&mut second, &mut registry, 0, swaps_ring), "it holds the lock");
    // It covers membership only: what does not move is processed, and others register.
    assert!(epoch(&first, 0, 0).is_some() && epoch(&first, 1, 0).is_some());
    work(&mut third, &mut registry, 0, |_| false);
    assert_eq!(ring(&registry).members().len(), 3);
    assert_eq!(ring(&registry).lock_holder(), Some(&InstanceId::new("uuid2")), "one holder for both changes");
    // Its holder computes once for both.
    work(&mut second, &mut registry, 1_000, |_| false);
    assert_eq!(ring(&registry).lock_holder(), None);
}
