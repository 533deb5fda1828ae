//! The eight rules of the protocol, each in one place.
//!
//! L is the duration of a lease, R how long after sending its last good renewal an instance may act, and T the longest
//! that a request may be in flight. Together the rules make sure that at most one instance acts on a slot, and that none
//! acts on it while a request of another is in flight. The model in `windlass_shard::model` breaks each of them and shows
//! what happens then.

use crate::instance::{Held, Instance, Permit, Stage};
use crate::lease::{Incarnation, InstanceId, Lease};
use crate::mutation::{Broken, Mutation};
use crate::registry::Version;
use crate::ring::{Member, Ring};
use crate::slot::Slot;
use crate::timing::{Millis, Timing};

/// Rule 1: act on a slot only if the last seen ring names *my incarnation* as its owner, it is not draining, it is loaded,
/// its wait is over, and the last good renewal was sent less than R ago. It holds for the moment of one send.
pub(crate) fn permit(instance: &Instance, slot: Slot, now: Millis) -> Option<Permit> {
    let broken = instance.broken;
    // Only slots that the ring names as those of this incarnation are held.
    let held = instance.held.get(&slot)?;
    let may_act = match held.stage {
        Stage::Loading => broken.is(Mutation::ActsBeforeLoaded),
        Stage::Draining | Stage::Drained => broken.is(Mutation::ActsWhileDraining),
        Stage::Loaded | Stage::Active => true,
    };
    let deadline = instance.renewed?.plus(instance.timing.renew_ms);
    let in_time = now < deadline || broken.is(Mutation::IgnoresDeadline);
    (may_act && now >= held.wait_until && in_time).then_some(Permit { epoch: held.epoch, deadline })
}

/// Rule 2: renewals are compared-and-swapped, and a real loss wipes everything. A refusal alone is no loss: the lease may
/// have been written by an own renewal that came late.
pub(crate) fn is_lost(incarnation: Incarnation, own: Option<Lease>, broken: Broken) -> bool {
    own != Some(Lease { incarnation, alive: true }) && !broken.is(Mutation::SurvivesLoss)
}

/// Rule 3, first half: after seeing a lease unchanged for L by the local clock, end it.
pub(crate) fn expired(instance: &Instance, ring: &Ring, now: Millis) -> Option<(InstanceId, Version, Lease)> {
    ring.members.iter().filter(|member| member.id != instance.id).find_map(|member| {
        let peer = instance.peers.get(&member.id)?;
        let lease = peer.lease.as_ref().filter(|lease| lease.value.alive)?;
        let is_over = now >= peer.since.plus(instance.timing.lease_ms);
        is_over.then(|| (member.id.clone(), lease.version, Lease { alive: false, ..lease.value }))
    })
}

/// Rule 3, second half: only the slots of a member whose lease **has ended** may be given to others.
pub(crate) fn is_dead(instance: &Instance, member: &Member, now: Millis) -> bool {
    let Some(peer) = instance.peers.get(&member.id).filter(|_| member.id != instance.id) else {
        return false;
    };
    let is_over = now >= peer.since.plus(instance.timing.lease_ms);
    match &peer.lease {
        // Knowledge of an earlier incarnation says nothing about this one.
        Some(lease) if lease.value.incarnation < member.incarnation => false,
        Some(lease) => !lease.value.alive || (is_over && instance.broken.is(Mutation::MovesWithoutKill)),
        // Somebody has deleted it. No renewal can bring it back, but the last one may have been sent just now.
        None => is_over,
    }
}

/// Rule 4: the ring names an incarnation, and only that one owns the slots.
pub(crate) fn is_incarnation(named: Incarnation, own: Incarnation, broken: Broken) -> bool {
    named == own || broken.is(Mutation::IgnoresIncarnation)
}

/// Rule 4, for a restart under a stable name: the later incarnation takes its slots over, and they are not clean.
pub(crate) fn take_over(ring: &Ring, member: usize, incarnation: Incarnation, broken: Broken) -> Ring {
    let mut taken = ring.take_over(member, incarnation);
    if broken.is(Mutation::TakesOverClean) {
        taken.slots.iter_mut().filter(|slot| slot.owner == member).for_each(|slot| slot.clean = true);
    }
    taken
}

/// Rule 5: a slot is handed over as clean only if it is drained: nothing of it is in flight any more. The new owner then
/// starts at once.
pub(crate) fn is_drained(held: &Held, broken: Broken) -> bool {
    held.stage == Stage::Drained || (held.stage == Stage::Draining && broken.is(Mutation::HandsOverUndrained))
}

/// Rule 6: the owner of a slot that is not clean waits. After an expiry, L has passed since the last good renewal of the
/// one before, which acts until R and whose requests arrive within T. After an own restart, those requests are its own, and
/// the last of them may have been sent just before `began`.
pub(crate) fn wait_until(clean: bool, seen: Millis, began: Millis, timing: Timing, broken: Broken) -> Millis {
    if clean {
        return Millis(0);
    }
    let Timing { lease_ms, renew_ms, request_ms, drift_ms, .. } = timing;
    let expiry = (renew_ms + request_ms).saturating_sub(lease_ms) + drift_ms;
    let expiry = if broken.is(Mutation::NoWaitAfterExpiry) { 0 } else { expiry };
    let restart = if broken.is(Mutation::NoWaitAfterRestart) { 0 } else { request_ms };
    // Which of the two it is does not matter: after an expiry, the own restart is usually long ago.
    seen.plus(expiry).max(began.plus(restart))
}

/// Rule 7: no handover while the own wait runs, since it would make the next owner start at once.
pub(crate) fn may_hand_over(held: &Held, now: Millis, broken: Broken) -> bool {
    is_drained(held, broken) && (now >= held.wait_until || broken.is(Mutation::HandsOverDuringWait))
}

/// Rule 8: the lock only saves work. Whoever holds it still compares when it swaps the ring, so two holders are harmless;
/// and a lock that is held for L is taken by another.
pub(crate) fn may_lock(instance: &Instance, ring: &Ring, now: Millis) -> bool {
    let Some(holder) = &ring.lock else { return true };
    let since = instance.lock_seen.as_ref().filter(|(seen, _)| seen == holder).map(|(_, since)| *since);
    let is_over = since.is_some_and(|since| now >= since.plus(instance.timing.lease_ms));
    let is_member = ring.members.iter().any(|member| member.id == *holder && !is_dead(instance, member, now));
    (is_over || !is_member) && !instance.broken.is(Mutation::KeepsStaleLock)
}
