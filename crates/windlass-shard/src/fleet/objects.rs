//! The objects of a simulated fleet: keys as an API server makes them, hashed by the real code.

use std::sync::Arc;

use crate::slot::{Slot, SlotCount};

use super::random::Random;

/// When the first object was created, for keys that say so: some day in 2025.
const CREATED_MS: u64 = 1_750_000_000_000;
/// Milliseconds between two objects.
const CREATED_EVERY_MS: u64 = 100;

/// The version of the UUIDs that are the keys of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyVersion {
    /// Random, as Kubernetes makes them.
    V4,
    /// The time, and then random.
    V7,
    /// One after the other.
    Alternating,
}

/// How many objects each slot has, and what they cost.
pub(super) struct Objects {
    pub(super) counts: Vec<u64>,
    /// What a slot costs at first.
    initial: Vec<u64>,
    /// What it costs now.
    pub(super) costs: Arc<[u64]>,
}

impl Objects {
    /// Objects of a seed. They have random numbers of their own, so that their number changes nothing else.
    pub(super) fn new(seed: u64, objects: u64, keys: KeyVersion, count: SlotCount) -> Self {
        let mut random = Random::new(!seed);
        let (mut counts, mut costs) = (vec![0; count.get()], vec![0; count.get()]);
        for number in 0..objects {
            let slot = Slot::of(&key(number, keys, &mut random), count).index();
            counts[slot] += 1;
            costs[slot] += cost(&mut random);
        }
        Objects { counts, initial: costs.clone(), costs: costs.into() }
    }

    /// One slot in twenty costs half, or two or four times of what it cost at first, or the same again.
    pub(super) fn change_costs(&mut self, random: &mut Random) {
        let change = |(initial, cost): (&u64, &u64)| {
            if random.below(20) > 0 { *cost } else { (initial << random.below(4)) / 2 }
        };
        self.costs = self.initial.iter().zip(&*self.costs).map(change).collect();
    }
}

/// One object in a hundred costs a hundred times as much as most, and one in ten ten times as much.
fn cost(random: &mut Random) -> u64 {
    match random.below(100) {
        0 => 100,
        1..=10 => 10,
        _ => 1,
    }
}

fn key(number: u64, keys: KeyVersion, random: &mut Random) -> String {
    let bits = u128::from(random.next()) << 64 | u128::from(random.next());
    match keys {
        KeyVersion::V4 => v4(bits),
        KeyVersion::V7 => v7(number, bits),
        KeyVersion::Alternating if number.is_multiple_of(2) => v4(bits),
        KeyVersion::Alternating => v7(number, bits),
    }
}

fn v4(bits: u128) -> String {
    uuid(bits, 4)
}

fn v7(number: u64, bits: u128) -> String {
    let created = u128::from(CREATED_MS + number * CREATED_EVERY_MS);
    uuid(created << 80 | bits & ((1 << 80) - 1), 7)
}

/// The text of a UUID of RFC 9562, with its version and variant.
fn uuid(bits: u128, version: u128) -> String {
    let bits = bits & !(0xf << 76) | version << 76;
    let bits = bits & !(0b11 << 62) | 0b10 << 62;
    let mut text = format!("{bits:032x}");
    [20, 16, 12, 8].into_iter().for_each(|at| text.insert(at, '-'));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_uuids() {
        assert_eq!(v4(u128::MAX), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(v4(0), "00000000-0000-4000-8000-000000000000");
        // 1_750_000_000_000 ms since 1970 are 0x01977420dc00.
        assert_eq!(v7(0, u128::MAX), "01977420-dc00-7fff-bfff-ffffffffffff");
    }

    #[test]
    fn same_seed_gives_the_same_objects() {
        let objects = |seed, keys| Objects::new(seed, 10_000, keys, SlotCount::new(64).unwrap());
        let one = objects(1, KeyVersion::Alternating);
        assert_eq!(one.counts, objects(1, KeyVersion::Alternating).counts);
        assert_ne!(one.counts, objects(2, KeyVersion::Alternating).counts);
        assert_ne!(one.counts, objects(1, KeyVersion::V4).counts);
        assert_eq!(one.counts.iter().sum::<u64>(), 10_000);
        // 156 on average, with a standard deviation of 12.
        assert!(one.counts.iter().all(|count| (100..220).contains(count)), "{:?}", one.counts);
    }

    #[test]
    fn costs_change_around_what_they_were_at_first() {
        let mut objects = Objects::new(1, 10_000, KeyVersion::V4, SlotCount::new(64).unwrap());
        let initial = objects.costs.clone();
        let mut random = Random::new(1);
        (0..100).for_each(|_| objects.change_costs(&mut random));
        assert_ne!(objects.costs, initial);
        let mut both = initial.iter().zip(&*objects.costs);
        assert!(both.all(|(initial, cost)| (initial / 2..=initial * 4).contains(cost)));
    }
}
