//! What an instance learns from the registers that it reads, or that a watch shows it.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::lease::{InstanceId, Lease};
use crate::registry::{Version, Versioned};
use crate::ring::{Epoch, Ring};
use crate::rules;
use crate::slot::Slot;
use crate::timing::Millis;

use super::{Instance, Own, Peer};

impl Instance {
    /// A watch shows the ring. What is older than what is known is ignored.
    pub fn observed_ring(&mut self, ring: Versioned<Arc<Ring>>, now: Millis) {
        self.see_ring(Some(ring), now);
    }

    /// A watch shows the lease of an instance.
    pub fn observed_lease(&mut self, id: InstanceId, lease: Versioned<Lease>, now: Millis) {
        let known = match &self.own {
            Own::Seen(version, _) if id == self.id => Some(*version),
            _ => self.peers.get(&id).and_then(|peer| peer.lease.as_ref()).map(|lease| lease.version),
        };
        // While an own write is under way, its answer says more than the watch.
        let is_writing = id == self.id && self.asked.is_some();
        if !is_writing && known.is_none_or(|known| lease.version >= known) {
            self.see_lease(id, Some(lease), now);
        }
    }

    pub(super) fn see_lease(&mut self, id: InstanceId, lease: Option<Versioned<Lease>>, now: Millis) {
        if id == self.id {
            self.see_own_lease(lease, now);
            return;
        }
        let version = |lease: &Option<Versioned<Lease>>| lease.as_ref().map(|lease| lease.version);
        match self.peers.get_mut(&id) {
            Some(peer) if version(&peer.lease) == version(&lease) => {}
            Some(peer) => *peer = Peer { lease, since: now },
            None => _ = self.peers.insert(id, Peer { lease, since: now }),
        }
    }

    fn see_own_lease(&mut self, lease: Option<Versioned<Lease>>, now: Millis) {
        let value = lease.as_ref().map(|lease| lease.value);
        self.own = lease.map_or(Own::Missing, |lease| Own::Seen(lease.version, lease.value));
        if self.incarnation.is_some_and(|incarnation| rules::is_lost(incarnation, value, self.broken)) {
            self.wipe(now);
        }
    }

    pub(super) fn see_ring(&mut self, ring: Option<Versioned<Arc<Ring>>>, now: Millis) {
        let Some(ring) = ring else {
            if self.ring.is_some() {
                self.ring_is_gone(Epoch::default(), now);
            }
            return;
        };
        if self.ring.as_ref().is_some_and(|seen| seen.version > ring.version) {
            return;
        }
        let holder = ring.value.lock.clone();
        if holder.as_ref() != self.lock_seen.as_ref().map(|(seen, _)| seen) {
            self.lock_seen = holder.map(|holder| (holder, now));
        }
        let table = ring.value.clone();
        self.ring = Some(ring);
        // What is known of leases that are no longer watched would only become stale.
        let watched: BTreeSet<InstanceId> = table.watched_by(&self.id, self.monitors).into_iter().collect();
        self.peers.retain(|id, _| watched.contains(id));
        self.follow(&table, now);
    }

    /// Somebody has deleted the ring, which has seen this epoch. Without it, nothing is known of who owns what; and
    /// whoever has not noticed yet may act by it until its permits end.
    pub(super) fn ring_is_gone(&mut self, epoch: Epoch, now: Millis) {
        let known = self.ring.take().map(|ring| ring.value.epoch());
        if known.is_some() || self.last_epoch == Epoch::default() {
            self.wipe(now);
            self.began = now.plus(self.timing.renew_ms);
        }
        self.last_epoch = self.last_epoch.max(epoch.max(known.unwrap_or_default()).above_all());
    }

    /// Gains, drains and drops slots as the ring says.
    fn follow(&mut self, ring: &Ring, now: Millis) {
        let Some(incarnation) = self.incarnation else { return };
        let place = ring.member(&self.id);
        let named = place.map(|place| ring.members[place].incarnation);
        let is_mine = named.is_some_and(|named| rules::is_incarnation(named, incarnation, self.broken));
        let place = place.filter(|_| is_mine);
        let lost: Vec<Slot> =
            self.held.keys().copied().filter(|slot| Some(ring.slot(*slot).owner) != place).collect();
        lost.into_iter().for_each(|slot| self.lose(slot));
        for (slot, ownership) in ring.slots().filter(|(_, ownership)| Some(ownership.owner) == place) {
            let known = self.held.get(&slot).map(|held| held.epoch);
            if known != Some(ownership.epoch) {
                // It may have been another's between two looks at the ring.
                self.lose(slot);
                let wait = rules::wait_until(ownership.clean, now, self.began, self.timing, self.broken);
                self.gain(slot, ownership.epoch, wait);
            }
            if ownership.draining_to.is_some() || self.leaves_alone(ring) {
                self.drain(slot);
            } else {
                self.keep(slot);
            }
        }
    }

    /// Forgets this incarnation: all slots are dropped at once, and a new one begins.
    pub(super) fn wipe(&mut self, now: Millis) {
        let held: BTreeSet<Slot> = self.held.keys().copied().collect();
        held.into_iter().for_each(|slot| self.lose(slot));
        self.incarnation = None;
        self.renewed = None;
        self.began = now;
    }

    /// The version of the ring as last seen.
    pub fn ring_version(&self) -> Option<Version> {
        self.ring.as_ref().map(|ring| ring.version)
    }
}
