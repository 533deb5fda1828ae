//! Balance and movement with a million keys, against the bars that the protocol was designed for.

use proptest::prelude::*;
use windlass_shard::measure::{Balance, grow_and_shrink, moved_by_rolling_restart};
use windlass_shard::moves;

#[test]
fn hundred_members_are_balanced_within_three_percent() {
    for seed in [1, 2, 3] {
        let Balance { imbalance, join, leave } = grow_and_shrink(seed, false);
        println!("unweighted, seed {seed}: max/mean {imbalance:.4}, join {join:.4}, leave {leave:.4}");
        assert!(imbalance <= 1.03, "seed {seed}: {imbalance}");
        assert!(join <= 1.02 && leave <= 1.02, "seed {seed}: {join} on a join, {leave} on a leave");
    }
}

#[test]
fn hundred_weighted_members_are_balanced_within_two_percent() {
    for seed in [1, 2, 3] {
        let Balance { imbalance, join, leave } = grow_and_shrink(seed, true);
        println!("weighted, seed {seed}: max/mean {imbalance:.4}, join {join:.4}, leave {leave:.4}");
        assert!(imbalance <= 1.02, "seed {seed}: {imbalance}");
        assert!(join <= 1.02 && leave <= 1.02, "seed {seed}: {join} on a join, {leave} on a leave");
    }
}

#[test]
fn rolling_restart_moves_nothing() {
    assert_eq!(moved_by_rolling_restart(), 0);
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
