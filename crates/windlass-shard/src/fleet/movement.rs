//! What a fleet moves, compared with the least that it could have moved.

use crate::assign::{MAX_ABOVE, MAX_BELOW};
use crate::lease::InstanceId;
use crate::ring::{Member, Ownership, Ring};

use super::objects::Objects;

/// What was moved from one instance to another. A restart under the same name moves nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Movement {
    /// Slots that changed hands; a slot counts each time.
    pub slots: u64,
    /// Objects that changed hands with them.
    pub objects: u64,
    /// What plans gave to others: slots, or costs where the fleet knows them. A plan that is called off before it is
    /// carried out counts.
    pub planned: u64,
    /// The least that these plans had to move, to leave nothing with those who go, and the others as balanced as plans
    /// leave them.
    pub least: u64,
}

impl Movement {
    /// What was planned, as a multiple of the least; none if nothing had to move.
    pub fn ratio(&self) -> Option<f64> {
        (self.least > 0).then(|| self.planned as f64 / self.least as f64)
    }

    /// The ring was swapped. `knows_costs` says whether plans go by costs.
    pub(super) fn swapped(&mut self, before: &Ring, after: &Ring, objects: &Objects, knows_costs: bool) {
        let places = places(before, after);
        for ((slot, was), (_, is)) in before.slots().zip(after.slots()) {
            if places[was.owner] != Some(is.owner) {
                self.slots += 1;
                self.objects += objects.counts[slot.index()];
            }
        }
        let Some(plan) = Plan::between(before, after, &places) else { return };
        if knows_costs {
            self.planned += plan.moved(&objects.costs);
            self.least += plan.least_by_weight(&objects.costs);
        } else {
            self.planned += plan.moved(&vec![1; objects.counts.len()]);
            self.least += plan.least_by_count();
        }
    }
}

/// The place of each member of a ring in a later one; none if it is gone.
pub(super) fn places(before: &Ring, after: &Ring) -> Vec<Option<usize>> {
    let is_at =
        |id: &InstanceId, place: usize| after.members().get(place).is_some_and(|member| member.id == *id);
    // Few come and go, so that most are where they were.
    let place = |(place, member): (usize, &Member)| {
        if is_at(&member.id, place) { Some(place) } else { after.member(&member.id) }
    };
    before.members().iter().enumerate().map(place).collect()
}

/// A plan for a ring, by numbers of those who take slots.
struct Plan {
    /// Who has each slot, or is about to get it anyway; none if it stays with neither.
    from: Vec<Option<usize>>,
    /// Who is to have it.
    to: Vec<Option<usize>>,
    takers: usize,
}

impl Plan {
    /// What a swap has planned; none if it moves nothing. `places` are those of the members after it.
    fn between(before: &Ring, after: &Ring, places: &[Option<usize>]) -> Option<Self> {
        let target = |slot: &Ownership| slot.draining_to.unwrap_or(slot.owner);
        let both = || before.slots().zip(after.slots()).map(|((_, was), (_, is))| (was, is));
        if both().all(|(was, is)| places[target(&was)] == Some(target(&is))) {
            return None;
        }
        let mut takers = 0;
        let number = |member: &Member| {
            takers += usize::from(!member.leaving);
            (!member.leaving).then(|| takers - 1)
        };
        let numbers: Vec<Option<usize>> = after.members().iter().map(number).collect();
        let taker = |place: usize| places[place].and_then(|place| numbers[place]);
        // A slot on its way is that of its next owner, if that stays, as it is for those who plan.
        let from = both().map(|(was, _)| was.draining_to.and_then(taker).or(taker(was.owner)));
        let to = both().map(|(_, is)| numbers[target(&is)]);
        let (from, to) = (from.collect(), to.collect());
        Some(Plan { from, to, takers })
    }

    /// The load that moves.
    fn moved(&self, loads: &[u64]) -> u64 {
        let moves = self.from.iter().zip(&self.to).zip(loads);
        moves.filter(|((from, to), _)| from != to).map(|(_, load)| load).sum()
    }

    /// The loads of those who take slots, before, and the load that no one of them has.
    fn before(&self, loads: impl Fn(usize) -> u64) -> (Vec<u64>, u64) {
        let (mut of_takers, mut orphaned) = (vec![0; self.takers], 0);
        for (slot, from) in self.from.iter().enumerate() {
            *from.map_or(&mut orphaned, |taker| &mut of_takers[taker]) += loads(slot);
        }
        (of_takers, orphaned)
    }

    /// The fewest slots that must move so that their numbers differ by one at the most.
    fn least_by_count(&self) -> u64 {
        let (mut counts, orphans) = self.before(|_| 1);
        counts.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
        let (share, rest) = (self.from.len() / self.takers.max(1), self.from.len() % self.takers.max(1));
        // Those who have the most may keep one more.
        let kept = |rank: usize| (share + usize::from(rank < rest)) as u64;
        let surplus = counts.iter().enumerate().map(|(rank, count)| count.saturating_sub(kept(rank)));
        orphans + surplus.sum::<u64>()
    }

    /// The least cost that must move so that all are as balanced as they have to be.
    fn least_by_weight(&self, costs: &[u64]) -> u64 {
        let (loads, orphaned) = self.before(|slot| costs[slot]);
        let mean = costs.iter().sum::<u64>() as f64 / self.takers.max(1) as f64;
        let sum =
            |part: &dyn Fn(f64) -> f64| loads.iter().map(|load| part(*load as f64).max(0.0)).sum::<f64>();
        let surplus = sum(&|load| load - mean * (1.0 + MAX_ABOVE));
        let lack = sum(&|load| mean * (1.0 - MAX_BELOW) - load);
        (orphaned as f64 + surplus).max(lack).ceil() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::KeyVersion;
    use crate::lease::Incarnation;
    use crate::ring::Epoch;
    use crate::slot::{Slot, SlotCount};

    fn id(name: &str) -> InstanceId {
        InstanceId::new(name)
    }

    /// A ring of eight slots that two members share, and its objects: one in each slot.
    fn shared() -> (Ring, Objects) {
        let count = SlotCount::new(8).unwrap();
        let ring = Ring::found(&id("a"), Incarnation(1), count, Epoch(1), true);
        let mut objects = Objects::new(1, 0, KeyVersion::V4, count);
        objects.counts = vec![1; 8];
        (
            ring.join(&id("b"), Incarnation(1)).rebalance(&[], None).hand_over(&[4, 5, 6, 7].map(Slot::new)),
            objects,
        )
    }

    fn moved(rings: &[&Ring], objects: &Objects) -> (u64, u64, u64) {
        let mut movement = Movement::default();
        for pair in rings.windows(2) {
            movement.swapped(pair[0], pair[1], objects, false);
        }
        (movement.objects, movement.planned, movement.least)
    }

    #[test]
    fn a_join_moves_the_share_of_the_newcomer() {
        let (ring, objects) = shared();
        let joined = ring.join(&id("c"), Incarnation(1));
        let planned = joined.rebalance(&[], None);
        let done = planned.hand_over(&[3, 7].map(Slot::new));
        assert_eq!(moved(&[&ring, &joined, &planned, &done], &objects), (2, 2, 2));
        // Called off: planned, and never moved.
        assert_eq!(moved(&[&joined, &planned, &planned.rebalance(&[id("c")], None)], &objects), (0, 2, 2));
    }

    #[test]
    fn a_loss_moves_what_is_lost_and_a_leave_what_is_left() {
        let (ring, objects) = shared();
        assert_eq!(moved(&[&ring, &ring.rebalance(&[id("a")], None)], &objects), (4, 4, 4));
        let leaving = ring.begin_leave(0);
        let planned = leaving.rebalance(&[], None);
        let done = planned.hand_over(&[0, 1, 2, 3].map(Slot::new));
        let gone = done.remove(0).unwrap();
        assert_eq!(moved(&[&ring, &leaving, &planned, &done, &gone], &objects), (4, 4, 4));
    }

    #[test]
    fn a_restart_moves_nothing() {
        let (ring, objects) = shared();
        assert_eq!(moved(&[&ring, &ring.take_over(0, Incarnation(2))], &objects), (0, 0, 0));
    }

    #[test]
    fn costs_move_no_more_than_balance_needs() {
        let (ring, mut objects) = shared();
        objects.costs = vec![40, 20, 20, 20, 10, 10, 20, 20].into();
        let mut movement = Movement::default();
        movement.swapped(&ring, &ring.rebalance(&[], Some(&objects.costs)), &objects, true);
        // One has 100, the other 60, and 80 is the mean: 20 have to move, less what balance need not be.
        assert_eq!((movement.planned, movement.least), (20, 19));
        assert!(movement.ratio().unwrap() > 1.0);
    }
}
