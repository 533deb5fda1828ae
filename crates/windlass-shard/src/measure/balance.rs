//! Balance and movement with a million objects.

use crate::{Incarnation, InstanceId, Ring, Slot, SlotCount, moves};

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

/// What a fleet of 100 members showed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Balance {
    /// The largest load divided by the mean, at 100 members.
    pub imbalance: f64,
    /// The most objects that moved on a join, as a multiple of the ideal.
    pub join: f64,
    /// The most objects that moved on a leave, as a multiple of the ideal.
    pub leave: f64,
}

/// Grows a fleet to 100 members one by one, then lets some go. `weighted` weighs each slot by its objects.
pub fn grow_and_shrink(seed: u64, weighted: bool) -> Balance {
    let mut fleet = Fleet::new(seed, weighted);
    fleet.join();
    let mut join: f64 = 0.0;
    while fleet.members < 100 {
        join = join.max(fleet.join());
    }
    let imbalance = fleet.imbalance();
    let leave = (0..20).map(|step| fleet.leave((step * 37) % fleet.members)).fold(0.0, f64::max);
    Balance { imbalance, join, leave }
}

/// How many slots change their instance while each of 100 instances is started again under its name, one by one.
pub fn moved_by_rolling_restart() -> usize {
    let id = |number: usize| InstanceId::new(&format!("instance-{number}"));
    let mut ring = Ring::found(&id(0), Incarnation(1), SlotCount::DEFAULT, crate::Epoch(1), true);
    for number in 1..100 {
        ring = ring.join(&id(number), Incarnation(1)).rebalance(&[], None);
        let drained: Vec<Slot> = SlotCount::DEFAULT.slots().collect();
        ring = ring.hand_over(&drained);
    }
    let mut moved = 0;
    for member in 0..100 {
        let after = ring.take_over(member, Incarnation(2)).rebalance(&[], None);
        let is_elsewhere = |slot: &Slot| {
            after.owner(*slot).id != ring.owner(*slot).id || after.slot(*slot).draining_to.is_some()
        };
        moved += SlotCount::DEFAULT.slots().filter(is_elsewhere).count();
        ring = after;
    }
    moved
}
