//! Slots: the fixed number of parts into which all objects are divided.

use std::fmt;

/// The offset basis and the prime of FNV-1a with 64 bits.
const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// One of the parts into which all objects are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(u16);

impl Slot {
    /// The slot with the number 0, which every ring has.
    pub const FIRST: Slot = Slot(0);

    /// The slot of an object: the top bits of the FNV-1a hash of its key.
    ///
    /// The key is the uid, or the namespace if the ring says so. Names must not be keys: they are so alike (`web-1`,
    /// `web-2`) that the top bits of this hash distribute them badly.
    pub fn of(key: &str, count: SlotCount) -> Self {
        Slot::of_hash(fnv_1a(key.as_bytes()), count)
    }

    /// The slot of a key with this hash.
    pub fn of_hash(hash: u64, count: SlotCount) -> Self {
        // A shift by all 64 bits is not possible, hence the two steps.
        Slot(((hash >> 1) >> (63 - count.bits())) as u16)
    }

    /// The slot with this number.
    ///
    /// # Panics
    /// If the number is not that of a slot in any ring.
    pub fn new(index: usize) -> Self {
        assert!(index < usize::from(SlotCount::MAX), "there is no slot {index}");
        Slot(index as u16)
    }

    /// Its number, from 0.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// FNV-1a with 64 bits. Kubernetes hashes uids with it for sharded watches, so a range of slots is a range of these.
fn fnv_1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(FNV_BASIS, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME))
}

/// Number of slots of a ring: a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotCount(u16);

/// The number is not a power of two, or too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the number of slots must be a power of two between 1 and {max}, not {0}", max = SlotCount::MAX)]
pub struct InvalidSlotCount(pub u64);

impl SlotCount {
    /// 4096: about 40 slots for each of 100 instances, which balances them to 3 %.
    pub const DEFAULT: SlotCount = SlotCount(4096);
    /// The most slots that a ring can have.
    pub const MAX: u16 = 1 << 15;

    /// A number of slots.
    ///
    /// # Errors
    /// If it is not a power of two, or too large.
    pub fn new(count: u64) -> Result<Self, InvalidSlotCount> {
        if count.is_power_of_two() && count <= u64::from(Self::MAX) {
            Ok(SlotCount(count as u16))
        } else {
            Err(InvalidSlotCount(count))
        }
    }

    /// The number.
    pub fn get(self) -> usize {
        usize::from(self.0)
    }

    /// All slots, in order.
    pub fn slots(self) -> impl Iterator<Item = Slot> {
        (0..self.0).map(Slot)
    }

    /// How many bits of a hash choose the slot.
    fn bits(self) -> u32 {
        self.0.trailing_zeros()
    }
}

/// Consecutive slots, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotRange {
    /// The first slot.
    pub from: Slot,
    /// The last slot.
    pub to: Slot,
}

impl SlotRange {
    /// Number of slots in the range.
    pub fn len(self) -> usize {
        self.to.index() + 1 - self.from.index()
    }

    /// Always false: a range has at least one slot.
    pub fn is_empty(self) -> bool {
        false
    }

    /// The range of hashes whose keys belong to these slots: from the first to before the second. The second is one more
    /// than any hash for a range that ends with the last slot.
    pub fn hashes(self, count: SlotCount) -> (u128, u128) {
        let width = (1u128 << 64) / count.get() as u128;
        (self.from.index() as u128 * width, (self.to.index() as u128 + 1) * width)
    }
}

/// The fewest ranges that cover slots given in ascending order.
pub fn runs(slots: impl IntoIterator<Item = Slot>) -> Vec<SlotRange> {
    let mut runs: Vec<SlotRange> = Vec::new();
    for slot in slots {
        match runs.last_mut() {
            Some(last) if last.to.index() + 1 == slot.index() => last.to = slot,
            _ => runs.push(SlotRange { from: slot, to: slot }),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(count: u64) -> SlotCount {
        SlotCount::new(count).unwrap()
    }

    #[test]
    fn hash_is_fnv_1a() {
        // The test vectors of its authors.
        assert_eq!(fnv_1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv_1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv_1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn slot_is_the_top_bits_of_the_hash() {
        assert_eq!(Slot::of("a", SlotCount::DEFAULT).index(), 0xaf6);
        assert_eq!(Slot::of("a", count(16)).index(), 0xa);
        assert_eq!(Slot::of("a", count(1)).index(), 0);
        assert_eq!(Slot::of("a", count(1 << 15)).index(), 0xaf63 >> 1);
    }

    #[test]
    fn count_must_be_a_power_of_two() {
        for invalid in [0, 3, 4095, 1 << 16] {
            assert_eq!(SlotCount::new(invalid), Err(InvalidSlotCount(invalid)));
        }
        assert_eq!(
            InvalidSlotCount(3).to_string(),
            "the number of slots must be a power of two between 1 and 32768, not 3"
        );
    }

    #[test]
    fn range_of_hashes_has_the_hashes_of_its_slots() {
        let range = SlotRange { from: Slot::new(1), to: Slot::new(4095) };
        let (from, to) = range.hashes(SlotCount::DEFAULT);
        assert_eq!(Slot::of_hash(from as u64, SlotCount::DEFAULT), range.from);
        assert_eq!(Slot::of_hash(from as u64 - 1, SlotCount::DEFAULT).index(), 0);
        assert_eq!(to, 1 << 64);
        assert_eq!(range.len(), 4095);
    }

    #[test]
    fn runs_join_neighbours() {
        let slots = [0, 1, 2, 5, 7, 8].map(Slot::new);
        let ranges =
            [(0, 2), (5, 5), (7, 8)].map(|(from, to)| SlotRange { from: Slot::new(from), to: Slot::new(to) });
        assert_eq!(runs(slots), ranges);
        assert_eq!(runs([]), []);
    }
}
