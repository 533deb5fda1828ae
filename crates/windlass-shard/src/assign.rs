//! Which slots change hands when members come and go: as few as possible, and the same answer everywhere.
//!
//! Members are numbers: their places in the ring. Nothing here depends on their names, nor on anything but the
//! arguments, so every instance that computes from the same ring gets the same moves.

use crate::slot::Slot;

/// With weights, the load of a member may exceed the mean by this before slots move for the sake of balance alone.
pub(crate) const MAX_ABOVE: f64 = 0.016;
/// A member with less than the mean by this gets slots: one that just joined, above all. At 100 members, one slot of
/// 4096 is 2.4 % of a member's load, so that anything finer would move slots to and fro.
pub(crate) const MAX_BELOW: f64 = 0.025;

/// A slot that changes hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Move {
    /// The slot.
    pub slot: Slot,
    /// Who has it; none if its owner is gone.
    pub from: Option<usize>,
    /// Who gets it.
    pub to: usize,
}

/// The moves that give every slot an owner and balance `members` members, in the order of the slots.
///
/// `owners` has the owner of each slot, or none if it is no member any more. Without `weights` members get the same
/// number of slots, but for one, with the fewest moves possible. With them (the observed cost of each slot, in any unit),
/// members get about the same sum of costs, and nothing moves as long as they are balanced well enough.
///
/// # Panics
/// If there are no members, if an owner is none of them, or if a weight is missing.
pub fn moves(owners: &[Option<usize>], members: usize, weights: Option<&[u64]>) -> Vec<Move> {
    assert!(members > 0, "slots need a member that takes them");
    assert!(owners.iter().flatten().all(|owner| *owner < members), "an owner is not a member");
    let wanted = match weights {
        None => by_count(owners, members),
        Some(weights) => by_weight(owners, members, weights),
    };
    let changes =
        owners.iter().zip(wanted).enumerate().filter(|(_, (before, after))| **before != Some(*after));
    changes.map(|(slot, (from, to))| Move { slot: Slot::new(slot), from: *from, to }).collect()
}

/// The owner of each slot such that the numbers of slots differ by one at the most.
fn by_count(owners: &[Option<usize>], members: usize) -> Vec<usize> {
    let shares = shares(owners, members);
    let mut kept = vec![0; members];
    // A slot stays where it is unless its owner has its share of slots already.
    let stays: Vec<Option<usize>> = owners
        .iter()
        .map(|owner| {
            owner.filter(|owner| {
                kept[*owner] += 1;
                kept[*owner] <= shares[*owner]
            })
        })
        .collect();
    let mut takers = (0..members).flat_map(|member| {
        let free = shares[member] - kept[member].min(shares[member]);
        std::iter::repeat_n(member, free)
    });
    let mut taker = || takers.next().expect("the shares add up to the number of slots");
    stays.into_iter().map(|owner| owner.unwrap_or_else(&mut taker)).collect()
}

/// How many slots each member is to have. Those with the most have one more if they do not divide evenly.
fn shares(owners: &[Option<usize>], members: usize) -> Vec<usize> {
    let mut counts = vec![0usize; members];
    owners.iter().flatten().for_each(|owner| counts[*owner] += 1);
    let mut order: Vec<usize> = (0..members).collect();
    order.sort_by_key(|member| std::cmp::Reverse(counts[*member]));
    let mut shares = vec![owners.len() / members; members];
    order[..owners.len() % members].iter().for_each(|member| shares[*member] += 1);
    shares
}

/// The owner of each slot such that the sums of weights are about the same.
fn by_weight(owners: &[Option<usize>], members: usize, weights: &[u64]) -> Vec<usize> {
    assert_eq!(weights.len(), owners.len(), "there must be a weight for each slot");
    let mut loads = Loads::new(owners, members, weights);
    loads.place_orphans(owners);
    loads.balance();
    loads.owners
}

/// Who has what, and how much that is.
struct Loads<'a> {
    weights: &'a [u64],
    /// Without those that have none yet, which have [`Loads::NONE`].
    owners: Vec<usize>,
    /// The sum of weights of each member.
    loads: Vec<u64>,
    mean: f64,
}

impl<'a> Loads<'a> {
    const NONE: usize = usize::MAX;

    fn new(owners: &[Option<usize>], members: usize, weights: &'a [u64]) -> Self {
        let mut loads = vec![0; members];
        owners.iter().zip(weights).for_each(|(owner, weight)| {
            owner.iter().for_each(|owner| loads[*owner] += weight);
        });
        let mean = weights.iter().sum::<u64>() as f64 / members as f64;
        Loads {
            weights,
            owners: owners.iter().map(|owner| owner.unwrap_or(Self::NONE)).collect(),
            loads,
            mean,
        }
    }

    /// Gives slots without an owner to those who have the least, the heaviest first.
    fn place_orphans(&mut self, owners: &[Option<usize>]) {
        let mut orphans: Vec<usize> = (0..owners.len()).filter(|slot| owners[*slot].is_none()).collect();
        orphans.sort_by_key(|slot| std::cmp::Reverse(self.weights[*slot]));
        for slot in orphans {
            self.give(slot, self.lightest());
        }
    }

    /// Moves slots from those who have the most to those who have the least, while that is needed and helps.
    fn balance(&mut self) {
        loop {
            let (most, least) = (self.heaviest(), self.lightest());
            let above = self.loads[most] as f64 > self.mean * (1.0 + MAX_ABOVE);
            let below = (self.loads[least] as f64) < self.mean * (1.0 - MAX_BELOW);
            let Some(slot) = self.best_move(most, least).filter(|_| above || below) else { return };
            self.give(slot, least);
        }
    }

    /// The slot that brings both closest to each other. Each such move makes the sum of squares smaller, so they end.
    fn best_move(&self, most: usize, least: usize) -> Option<usize> {
        let gap = self.loads[most] - self.loads[least];
        // What one has too much and what the other lacks; more than the lesser of them would only have to move again.
        let surplus =
            (self.loads[most] as f64 - self.mean).min(self.mean - self.loads[least] as f64).max(0.0) as u64;
        let of_most = (0..self.owners.len()).filter(|slot| self.owners[*slot] == most);
        let helpful = of_most.filter(|slot| (1..gap).contains(&self.weights[*slot]));
        helpful.min_by_key(|slot| self.weights[*slot].abs_diff(surplus))
    }

    fn give(&mut self, slot: usize, to: usize) {
        let from = std::mem::replace(&mut self.owners[slot], to);
        if from != Self::NONE {
            self.loads[from] -= self.weights[slot];
        }
        self.loads[to] += self.weights[slot];
    }

    fn heaviest(&self) -> usize {
        (0..self.loads.len()).max_by_key(|member| self.loads[*member]).unwrap_or_default()
    }

    fn lightest(&self) -> usize {
        (0..self.loads.len()).min_by_key(|member| self.loads[*member]).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(owners: &[Option<usize>], members: usize) -> Vec<(usize, usize)> {
        moves(owners, members, None).iter().map(|planned| (planned.slot.index(), planned.to)).collect()
    }

    #[test]
    fn first_member_gets_all() {
        assert_eq!(list(&[None; 3], 1), [(0, 0), (1, 0), (2, 0)]);
    }

    #[test]
    fn slots_of_a_lost_member_go_to_those_with_less() {
        assert_eq!(list(&[Some(0), Some(0), None, None, Some(1)], 2), [(2, 0), (3, 1)]);
    }

    #[test]
    fn one_more_stays_with_the_one_who_has_it() {
        assert_eq!(list(&[Some(1), Some(1), Some(0)], 2), []);
        assert_eq!(list(&[Some(1)], 2), []);
    }

    #[test]
    fn last_slots_of_the_largest_move() {
        assert_eq!(list(&[Some(0); 4], 2), [(2, 1), (3, 1)]);
    }

    #[test]
    #[should_panic(expected = "slots need a member")]
    fn slots_need_a_member() {
        moves(&[None], 0, None);
    }

    #[test]
    fn weights_decide_how_many_slots_a_member_has() {
        let weights = [9, 1, 1, 1, 3, 3];
        let planned = moves(&[None; 6], 2, Some(&weights));
        let load = |member| {
            planned
                .iter()
                .filter(|planned| planned.to == member)
                .map(|planned| weights[planned.slot.index()])
                .sum::<u64>()
        };
        assert_eq!((load(0), load(1)), (9, 9));
    }

    #[test]
    fn weights_of_zero_move_nothing() {
        assert_eq!(moves(&[Some(0), Some(0)], 2, Some(&[0, 0])), []);
    }
}
