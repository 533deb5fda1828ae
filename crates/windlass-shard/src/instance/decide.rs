//! What an instance wants next: of all that it could do, what comes first.

use std::sync::Arc;

use crate::lease::{Incarnation, InstanceId, Lease};
use crate::mutation::Mutation;
use crate::registry::Request;
use crate::ring::{Epoch, Ring};
use crate::rules;
use crate::slot::Slot;
use crate::timing::Millis;

use super::{Instance, Own, Reading, Stage};

impl Instance {
    /// The next request, if there is anything to ask now.
    pub(super) fn wanted(&mut self, now: Millis) -> Option<Request> {
        if matches!(self.reading, Reading::Done | Reading::Failed) && now >= self.read_at {
            self.reading = Reading::Ring;
        }
        if let Some(renewal) = self.renewal(now) {
            return Some(renewal);
        }
        if self.reading == Reading::Failed {
            return None;
        }
        self.read().or_else(|| self.registration()).or_else(|| self.change(now))
    }

    fn renewal(&self, now: Millis) -> Option<Request> {
        let incarnation = self.incarnation.filter(|_| now >= self.renew_at)?;
        self.swap_own(Lease { incarnation, alive: true })
    }

    fn read(&self) -> Option<Request> {
        match self.reading {
            Reading::Ring => Some(Request::ReadRing),
            Reading::Leases => {
                let watched =
                    self.ring().map(|ring| ring.watched_by(&self.id, self.monitors)).unwrap_or_default();
                Some(Request::ReadLeases([vec![self.id.clone()], watched].concat()))
            }
            Reading::Done | Reading::Failed => None,
        }
    }

    /// A lease for a new incarnation, above all that the registry knows.
    fn registration(&self) -> Option<Request> {
        if self.incarnation.is_some() {
            return None;
        }
        let of_lease =
            if let Own::Seen(_, lease) = self.own { lease.incarnation } else { Incarnation::default() };
        let of_ring = self.ring().and_then(|ring| Some(ring.members[ring.member(&self.id)?].incarnation));
        let last = of_lease.max(of_ring.unwrap_or_default());
        self.swap_own(Lease { incarnation: last.next(), alive: true })
    }

    /// Writes the own lease, if it is known what is to be replaced.
    fn swap_own(&self, lease: Lease) -> Option<Request> {
        let expected = match self.own {
            Own::Unknown => return None,
            Own::Missing => None,
            Own::Seen(version, _) => Some(version),
        };
        Some(Request::SwapLease { id: self.id.clone(), expected, lease })
    }

    /// A change of the ring, or the end of another's lease.
    fn change(&self, now: Millis) -> Option<Request> {
        let incarnation = self.incarnation?;
        let Some(ring) = self.ring() else {
            // If there was a ring that somebody deleted, its owners may still act, and no epoch may come twice.
            let is_first = self.last_epoch == Epoch::default();
            let ring = Ring::found(&self.id, incarnation, self.count, self.last_epoch.next(), is_first);
            return Some(Request::SwapRing { expected: None, ring: Arc::new(ring) });
        };
        let Some(place) = ring.member(&self.id) else {
            return if self.leaving {
                self.release(incarnation)
            } else {
                self.swap(ring.join(&self.id, incarnation))
            };
        };
        if !rules::is_incarnation(ring.members[place].incarnation, incarnation, self.broken) {
            return self.swap(rules::take_over(ring, place, incarnation, self.broken));
        }
        self.hand_over(ring, now)
            .or_else(|| self.go(ring, place, now))
            .or_else(|| self.kill(ring, now))
            .or_else(|| self.rebalance(ring, now))
    }

    fn hand_over(&self, ring: &Ring, now: Millis) -> Option<Request> {
        let is_due = |slot: &Slot| ring.slot(*slot).draining_to.is_some();
        let drained = self.held.iter().filter(|(_, held)| rules::may_hand_over(held, now, self.broken));
        let drained: Vec<Slot> = drained.map(|(slot, _)| *slot).filter(is_due).collect();
        if drained.is_empty() { None } else { self.swap(ring.hand_over(&drained)) }
    }

    /// The steps of leaving: say so, hand over, be removed, end the lease.
    fn go(&self, ring: &Ring, place: usize, now: Millis) -> Option<Request> {
        if !self.leaving {
            return None;
        }
        if self.leaves_alone(ring) {
            // There is no one to hand over to. The slots stay, for whoever comes next, and only the lease ends.
            let at_rest = |held: &super::Held| held.stage == Stage::Drained && now >= held.wait_until;
            return if self.held.values().all(at_rest) { self.release(self.incarnation?) } else { None };
        }
        if !ring.members[place].leaving {
            return self.swap(ring.begin_leave(place));
        }
        ring.remove(place).and_then(|ring| self.swap(ring))
    }

    /// Whether it wants to go and no other member stays.
    pub(super) fn leaves_alone(&self, ring: &Ring) -> bool {
        self.leaving && ring.members.iter().all(|member| member.leaving || member.id == self.id)
    }

    /// Ends the own lease.
    fn release(&self, incarnation: Incarnation) -> Option<Request> {
        self.swap_own(Lease { incarnation, alive: false })
    }

    fn kill(&self, ring: &Ring, now: Millis) -> Option<Request> {
        if self.broken.is(Mutation::MovesWithoutKill) {
            return None;
        }
        let (id, version, lease) = rules::expired(self, ring, now)?;
        Some(Request::SwapLease { id, expected: Some(version), lease })
    }

    /// Takes the lock if something has to move, and moves it once the lock is held for a while.
    fn rebalance(&self, ring: &Ring, now: Millis) -> Option<Request> {
        let lost: Vec<InstanceId> = ring
            .members
            .iter()
            .filter(|member| rules::is_dead(self, member, now))
            .map(|member| member.id.clone())
            .collect();
        let is_mine = ring.lock.as_ref() == Some(&self.id);
        // The others need not compute what these will: that would be n computations, and n refused swaps.
        let is_in_charge = ring.is_monitor(&self.id, self.monitors) || !lost.is_empty();
        let may_compute = is_mine || (is_in_charge && rules::may_lock(self, ring, now));
        if !may_compute {
            return None;
        }
        let wanted = ring.rebalance(&lost, self.weights.as_deref());
        let is_needed = wanted.members != ring.members || wanted.slots != ring.slots;
        if is_mine {
            let since = self.lock_seen.as_ref().map_or(now, |(_, since)| *since);
            // More may come, which is worth waiting for; but the slots of those who went are not served.
            let is_settled = !is_needed || !lost.is_empty() || now >= since.plus(self.timing.settle_ms);
            return if is_settled { self.swap(wanted) } else { None };
        }
        // A lock without need is taken away only from a holder that is gone.
        let is_stale = ring.lock.is_some();
        if is_needed || is_stale { self.swap(ring.lock(Some(&self.id))) } else { None }
    }

    fn swap(&self, ring: Ring) -> Option<Request> {
        let expected = self.ring.as_ref().map(|ring| ring.version);
        Some(Request::SwapRing { expected, ring: Arc::new(ring) })
    }

    /// When there may be something to do again.
    pub(super) fn wake_at(&self, now: Millis) -> Millis {
        let Instance { timing, .. } = self;
        let renewal = self.incarnation.map(|_| self.renew_at);
        let leases = self.peers.values().map(|peer| peer.since.plus(timing.lease_ms));
        let waits = self.held.values().map(|held| held.wait_until);
        let locks = self
            .lock_seen
            .iter()
            .flat_map(|(_, since)| [since.plus(timing.settle_ms), since.plus(timing.lease_ms)]);
        let times = renewal.into_iter().chain(leases).chain(waits).chain(locks);
        times.filter(|time| *time > now).fold(self.read_at, Millis::min)
    }
}
