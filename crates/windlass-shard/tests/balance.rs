//! Balance and movement with a million keys, against the bars that the protocol was designed for.

use proptest::prelude::*;
use windlass_shard::{Slot, SlotCount, moves};

/// A reproducible sequence of random numbers: splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A random uid, version 4.
    fn uid(&mut self) -> String {
        let (high, low) = (self.next(), self.next());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            0x8000 | (low >> 50),
            low & 0xffff_ffff_ffff
        )
    }
}

/// How many of a million objects each slot has.
fn keys_per_slot(seed: u64) -> Vec<u64> {
    let mut random = Random(seed);
    let mut keys = vec![0; SlotCount::DEFAULT.get()];
    (0..1_000_000).for_each(|_| keys[Slot::of(&random.uid(), SlotCount::DEFAULT).index()] += 1);
    keys
}

/// A fleet, and what its slots weigh.
struct Fleet {
    owners: Vec<Option<usize>>,
    members: usize,
    keys: Vec<u64>,
    weighted: bool,
}

impl Fleet {
    fn new(seed: u64, weighted: bool) -> Self {
        let keys = keys_per_slot(seed);
        Fleet { owners: vec![None; keys.len()], members: 0, keys, weighted }
    }

    /// Applies the moves; returns how many objects moved from one member to another, or from a lost one.
    fn rebalance(&mut self) -> u64 {
        let planned = moves(&self.owners, self.members, self.weighted.then_some(&*self.keys));
        planned.iter().for_each(|planned| self.owners[planned.slot.index()] = Some(planned.to));
        assert!(moves(&self.owners, self.members, self.weighted.then_some(&*self.keys)).is_empty());
        planned.iter().map(|planned| self.keys[planned.slot.index()]).sum()
    }

    fn join(&mut self) -> f64 {
        self.members += 1;
        self.rebalance() as f64 / (1_000_000.0 / self.members as f64)
    }

    /// The member goes, and the last one gets its number.
    fn leave(&mut self, member: usize) -> f64 {
        let lost = self.load(member) as f64;
        let last = self.members - 1;
        for owner in &mut self.owners {
            *owner = owner
                .filter(|owner| *owner != member)
                .map(|owner| if owner == last { member } else { owner });
        }
        self.members -= 1;
        self.rebalance() as f64 / lost
    }

    fn load(&self, member: usize) -> u64 {
        let of_member = self.owners.iter().zip(&self.keys).filter(|(owner, _)| **owner == Some(member));
        of_member.map(|(_, keys)| keys).sum()
    }

    /// The largest load divided by the mean.
    fn imbalance(&self) -> f64 {
        let most = (0..self.members).map(|member| self.load(member)).max().unwrap_or_default();
        most as f64 / (1_000_000.0 / self.members as f64)
    }
}

/// Grows a fleet to 100 members one by one, then lets some go; returns the worst imbalance at 100 members and the most
/// movement on a join and on a leave, each as a multiple of the ideal.
fn grow_and_shrink(seed: u64, weighted: bool) -> (f64, f64, f64) {
    let mut fleet = Fleet::new(seed, weighted);
    fleet.join();
    let mut joins: f64 = 0.0;
    while fleet.members < 100 {
        joins = joins.max(fleet.join());
    }
    let imbalance = fleet.imbalance();
    let leaves = (0..20).map(|step| fleet.leave((step * 37) % fleet.members)).fold(0.0, f64::max);
    (imbalance, joins, leaves)
}

#[test]
fn hundred_members_are_balanced_within_three_percent() {
    for seed in [1, 2, 3] {
        let (imbalance, joins, leaves) = grow_and_shrink(seed, false);
        println!("unweighted, seed {seed}: max/mean {imbalance:.4}, join {joins:.4}, leave {leaves:.4}");
        assert!(imbalance <= 1.03, "seed {seed}: {imbalance}");
        assert!(joins <= 1.02 && leaves <= 1.02, "seed {seed}: {joins} on a join, {leaves} on a leave");
    }
}

#[test]
fn hundred_weighted_members_are_balanced_within_two_percent() {
    for seed in [1, 2, 3] {
        let (imbalance, joins, leaves) = grow_and_shrink(seed, true);
        println!("weighted, seed {seed}: max/mean {imbalance:.4}, join {joins:.4}, leave {leaves:.4}");
        assert!(imbalance <= 1.02, "seed {seed}: {imbalance}");
        assert!(joins <= 1.02 && leaves <= 1.02, "seed {seed}: {joins} on a join, {leaves} on a leave");
    }
}

proptest! {
    /// Slots, not objects: a slot is what moves.
    #[test]
    fn unweighted_moves_are_the_fewest_possible(
        owners in proptest::collection::vec(proptest::option::of(0usize..9), 1..200),
        more in 0usize..4,
    ) {
        let members = 9 + more;
        let planned = moves(&owners, members, None);
        let mut counts = vec![0usize; members];
        owners.iter().flatten().for_each(|owner| counts[*owner] += 1);
        let orphans = owners.iter().filter(|owner| owner.is_none()).count();
        // Whoever has more than its share must give: the largest `remainder` members may keep one more.
        let (share, remainder) = (owners.len() / members, owners.len() % members);
        counts.sort_unstable_by(|one, other| other.cmp(one));
        let surplus: usize = counts
            .iter()
            .enumerate()
            .map(|(rank, count)| count.saturating_sub(share + usize::from(rank < remainder)))
            .sum();
        prop_assert_eq!(planned.len(), orphans + surplus);
        let mut after = owners.clone();
        planned.iter().for_each(|planned| after[planned.slot.index()] = Some(planned.to));
        let count = |member| after.iter().filter(|owner| **owner == Some(member)).count();
        prop_assert!((0..members).all(|member| (share..=share + 1).contains(&count(member))));
        prop_assert!(moves(&after, members, None).is_empty());
    }

    #[test]
    fn weighted_moves_settle(
        owners in proptest::collection::vec(proptest::option::of(0usize..5), 64),
        weights in proptest::collection::vec(0u64..1_000, 64),
    ) {
        let mut after = owners.clone();
        let planned = moves(&owners, 5, Some(&weights));
        planned.iter().for_each(|planned| after[planned.slot.index()] = Some(planned.to));
        prop_assert!(after.iter().all(Option::is_some));
        prop_assert!(moves(&after, 5, Some(&weights)).is_empty());
    }
}
