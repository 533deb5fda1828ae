//! An instance as a model needs it: times relative to a fixed now, and versions relative to the current ones.
//!
//! States that behave alike become equal: what is over is over, however long ago, and a stale version is stale, however
//! many renewals there were since.

use std::sync::Arc;

use crate::lease::InstanceId;
use crate::registry::{Answer, Request, Version};
use crate::ring::{Epoch, Ring};
use crate::slot::Slot;
use crate::timing::Millis;

use super::{Instance, Own};

impl Instance {
    /// One unit of time later, seen from then: everything is longer ago.
    pub(crate) fn shift(&mut self) {
        let peers = self.peers.values_mut().map(|peer| &mut peer.since);
        let held = self.held.values_mut().map(|held| &mut held.wait_until);
        let asked = self.asked.iter_mut().map(|(_, sent)| sent);
        let locks = self.lock_seen.iter_mut().map(|(_, since)| since);
        let own = [&mut self.began, &mut self.renew_at, &mut self.read_at];
        let times =
            own.into_iter().chain(&mut self.renewed).chain(peers).chain(held).chain(asked).chain(locks);
        times.for_each(|time| time.0 = time.0.saturating_sub(1));
    }

    /// Makes equal what makes no difference any more.
    pub(crate) fn forget_what_is_over(&mut self, now: Millis) {
        let ago = |ms: u64| Millis(now.0 - ms);
        let timing = self.timing;
        self.began = self.began.max(ago(timing.request_ms));
        self.renew_at = self.renew_at.max(now);
        self.read_at = self.read_at.max(now);
        self.renewed = self.renewed.map(|renewed| renewed.max(ago(timing.renew_ms)));
        for peer in self.peers.values_mut() {
            let is_alive = peer.lease.as_ref().is_none_or(|lease| lease.value.alive);
            peer.since = if is_alive { peer.since.max(ago(timing.lease_ms)) } else { ago(timing.lease_ms) };
        }
        for held in self.held.values_mut().filter(|held| held.wait_until <= now) {
            held.wait_until = Millis(0);
        }
        if let Some((_, since)) = &mut self.lock_seen {
            *since = (*since).max(ago(timing.lease_ms));
        }
        if let Some((request, sent)) = &mut self.asked {
            let is_own = matches!(request, Request::SwapLease { id, .. } if *id == self.id);
            *sent = if is_own { (*sent).max(ago(timing.renew_ms)) } else { ago(timing.renew_ms) };
        }
    }

    /// All versions of the ring that it knows of.
    pub(crate) fn ring_versions(&mut self, change: &mut dyn FnMut(&mut Version)) {
        self.ring.iter_mut().for_each(|ring| change(&mut ring.version));
        if let Some((request, _)) = &mut self.asked {
            ring_versions(request, change);
        }
    }

    /// All versions of somebody's lease that it knows of.
    pub(crate) fn lease_versions(&mut self, whose: &InstanceId, change: &mut dyn FnMut(&mut Version)) {
        if let Own::Seen(version, _) = &mut self.own
            && *whose == self.id
        {
            change(version);
        }
        self.peers.get_mut(whose).into_iter().flat_map(|peer| &mut peer.lease).for_each(|lease| {
            change(&mut lease.version);
        });
        if let Some((request, _)) = &mut self.asked {
            lease_versions(request, whose, change);
        }
    }

    /// All epochs of a slot that it knows of.
    pub(crate) fn epochs(&mut self, slot: Slot, change: &mut dyn FnMut(&mut Epoch)) {
        self.held.get_mut(&slot).into_iter().for_each(|held| change(&mut held.epoch));
        let asked = self.asked.iter_mut().filter_map(|(request, _)| match request {
            Request::SwapRing { ring, .. } => Some(ring),
            _ => None,
        });
        let seen = self.ring.iter_mut().map(|ring| &mut ring.value);
        seen.chain(asked).for_each(|ring| change(&mut Arc::make_mut(ring).slots[slot.index()].epoch));
    }

    /// Gives everybody another name.
    pub(crate) fn rename(&mut self, name: &dyn Fn(&InstanceId) -> InstanceId) {
        self.id = name(&self.id);
        self.peers =
            std::mem::take(&mut self.peers).into_iter().map(|(id, peer)| (name(&id), peer)).collect();
        self.lock_seen.iter_mut().for_each(|(id, _)| *id = name(id));
        self.ring.iter_mut().for_each(|ring| rename_ring(&mut ring.value, name));
        self.asked.iter_mut().for_each(|(request, _)| rename_request(request, name));
    }
}

/// All versions of the ring in a request.
pub(crate) fn ring_versions(request: &mut Request, change: &mut dyn FnMut(&mut Version)) {
    if let Request::SwapRing { expected: Some(version), .. } = request {
        change(version);
    }
}

/// All versions of somebody's lease in a request.
pub(crate) fn lease_versions(
    request: &mut Request,
    whose: &InstanceId,
    change: &mut dyn FnMut(&mut Version),
) {
    if let Request::SwapLease { id, expected: Some(version), .. } = request
        && id == whose
    {
        change(version);
    }
}

pub(crate) fn rename_ring(ring: &mut Arc<Ring>, name: &dyn Fn(&InstanceId) -> InstanceId) {
    let ring = Arc::make_mut(ring);
    ring.members.iter_mut().for_each(|member| member.id = name(&member.id));
    ring.lock.iter_mut().for_each(|holder| *holder = name(holder));
}

pub(crate) fn rename_request(request: &mut Request, name: &dyn Fn(&InstanceId) -> InstanceId) {
    match request {
        Request::ReadRing => {}
        Request::ReadLeases(ids) => ids.iter_mut().for_each(|id| *id = name(id)),
        Request::SwapLease { id, .. } => *id = name(id),
        Request::SwapRing { ring, .. } => rename_ring(ring, name),
    }
}

pub(crate) fn rename_answer(answer: &mut Answer, name: &dyn Fn(&InstanceId) -> InstanceId) {
    match answer {
        Answer::Ring(ring) => ring.iter_mut().for_each(|ring| rename_ring(&mut ring.value, name)),
        Answer::Leases(leases) => leases.iter_mut().for_each(|(id, _)| *id = name(id)),
        Answer::RingGone(_) | Answer::Swapped(_) | Answer::Conflict | Answer::Unknown => {}
    }
}
