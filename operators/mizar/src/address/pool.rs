//! Which addresses of a network may be given out, and in which order an endpoint tries them.
//!
//! Nothing is counted and no list of free addresses is kept: an endpoint tries addresses in an order that its name
//! decides, until the API server admits a claim. In a network that is half full, the second try succeeds on average, whatever
//! the size of the network; and an endpoint that is created again under its name usually gets the address that it had.

use std::net::Ipv4Addr;

use super::range::Range;

/// The addresses of a network that may be given out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    range: Range,
    /// Sorted, and without overlaps.
    excluded: Vec<Range>,
}

/// Why an endpoint cannot have an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// Another network has it.
    #[error("it is not in {0}")]
    Outside(Range),
    /// It is the address of the network, its gateway or its broadcast address.
    #[error(
        "the first two addresses and the last of {0} are reserved for the network, its gateway and broadcasts"
    )]
    Reserved(Range),
    /// The network excludes it.
    #[error("the network excludes {0}")]
    Excluded(Range),
}

impl Pool {
    /// The pool of a range, but for what is excluded.
    pub fn new(range: Range, excluded: impl IntoIterator<Item = Range>) -> Self {
        let mut excluded: Vec<Range> = excluded.into_iter().filter(|other| other.overlaps(range)).collect();
        // A range that includes others sorts before them.
        excluded.sort();
        excluded.dedup_by(|later, earlier| earlier.includes(*later));
        Pool { range, excluded }
    }

    /// The broadcast address, which no endpoint can have.
    pub fn broadcast(&self) -> Ipv4Addr {
        self.range.broadcast()
    }

    /// How many addresses endpoints can have.
    pub fn capacity(&self) -> u64 {
        let reserved = [self.range.network(), self.range.gateway(), self.range.broadcast()];
        let free = reserved.iter().filter(|address| self.exclusion_of(**address).is_none()).count();
        let excluded: u64 = self.excluded.iter().map(|other| other.size().min(self.range.size())).sum();
        self.range.size().saturating_sub(excluded).saturating_sub(u64::try_from(free).unwrap_or(0))
    }

    /// Why an endpoint cannot have an address; `Ok` if it can.
    ///
    /// # Errors
    /// When it is outside the network, reserved or excluded.
    pub fn check(&self, address: Ipv4Addr) -> Result<(), Unusable> {
        if !self.range.contains(address) {
            return Err(Unusable::Outside(self.range));
        }
        if [self.range.network(), self.range.gateway(), self.range.broadcast()].contains(&address) {
            return Err(Unusable::Reserved(self.range));
        }
        match self.exclusion_of(address) {
            Some(excluded) => Err(Unusable::Excluded(excluded)),
            None => Ok(()),
        }
    }

    /// All addresses that an endpoint can have, each once, in the order in which the endpoint of this name tries them.
    pub fn candidates(&self, namespace: &str, name: &str) -> impl Iterator<Item = Ipv4Addr> + '_ {
        let order = indices(hash(&[namespace, name]), self.range.size());
        order.map(|index| self.range.address(index)).filter(|address| self.check(*address).is_ok())
    }

    fn exclusion_of(&self, address: Ipv4Addr) -> Option<Range> {
        self.excluded.iter().copied().find(|excluded| excluded.contains(address))
    }
}

/// All VNIs, each once, in the order in which the VPC of this name tries them.
pub fn vni_candidates(namespace: &str, name: &str) -> impl Iterator<Item = u32> {
    const VNIS: u64 = (1 << 24) - 1;
    indices(hash(&[namespace, name]), VNIS).map(|index| u32::try_from(index + 1).unwrap_or(1))
}

/// A number that spreads things over places, the same for the same names.
pub fn spread(names: &[&str]) -> u64 {
    hash(names)
}

/// The numbers below `size`, each once, from one that a hash picks on, in steps that the hash picks, too: names that begin
/// at the same number soon part.
fn indices(hash: u64, size: u64) -> impl Iterator<Item = u64> {
    let first = hash % size;
    // A step that has no factor in common with the size reaches every number.
    let wanted = (hash >> 32) % size;
    let step = (wanted..).chain([1]).find(|step| greatest_common_divisor(*step, size) == 1).unwrap_or(1);
    (0..size).map(move |count| {
        let position = u128::from(first) + u128::from(count) * u128::from(step);
        u64::try_from(position % u128::from(size)).unwrap_or(0)
    })
}

fn greatest_common_divisor(one: u64, other: u64) -> u64 {
    let (mut larger, mut smaller) = (one, other);
    while smaller != 0 {
        (larger, smaller) = (smaller, larger % smaller);
    }
    larger
}

/// FNV-1a with a final mix: the low bits of names that differ in their last character must differ in many places.
fn hash(parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mixed = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed ^ (mixed >> 33)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn pool(range: &str, excluded: &[&str]) -> Pool {
        let parse = |text: &&str| text.parse().expect("a range");
        Pool::new(parse(&range), excluded.iter().map(parse))
    }

    #[test]
    fn every_usable_address_is_a_candidate_once() {
        for (range, excluded, capacity) in [
            ("10.0.0.0/30", &[][..], 1),
            ("10.0.0.0/24", &[], 253),
            ("10.0.0.0/24", &["10.0.0.0/28", "10.0.0.4", "10.0.0.255", "10.1.0.0/16"], 239),
            ("10.0.0.0/24", &["10.0.0.0/16"], 0),
        ] {
            let pool = pool(range, excluded);
            let candidates: Vec<Ipv4Addr> = pool.candidates("default", "p-web").collect();
            let distinct: BTreeSet<Ipv4Addr> = candidates.iter().copied().collect();
            assert_eq!(
                (candidates.len(), distinct.len()),
                (capacity, capacity),
                "{range} without {excluded:?}"
            );
            assert_eq!(pool.capacity(), capacity as u64, "{range} without {excluded:?}");
            assert!(distinct.iter().all(|address| pool.check(*address).is_ok()));
        }
    }

    #[test]
    fn says_why_an_address_cannot_be_had() {
        let pool = pool("10.0.0.0/24", &["10.0.0.16/28"]);
        let why =
            |address: &str| pool.check(address.parse().expect("an address")).map_err(|why| why.to_string());
        assert_eq!(why("10.0.0.2"), Ok(()));
        assert_eq!(why("10.0.1.2"), Err("it is not in 10.0.0.0/24".to_owned()));
        assert_eq!(why("10.0.0.20"), Err("the network excludes 10.0.0.16/28".to_owned()));
        for reserved in ["10.0.0.0", "10.0.0.1", "10.0.0.255"] {
            assert!(why(reserved).is_err_and(|why| why.contains("reserved")), "{reserved}");
        }
    }

    #[test]
    fn names_spread_and_few_tries_suffice() {
        // Half of a /22 is given out: each endpoint takes the first candidate that is free.
        let pool = pool("10.0.0.0/22", &[]);
        let (mut taken, mut tries) = (BTreeSet::new(), 0);
        for endpoint in 0..510 {
            let name = format!("p-web-{endpoint}");
            for candidate in pool.candidates("default", &name) {
                tries += 1;
                if taken.insert(candidate) {
                    break;
                }
            }
        }
        assert_eq!(taken.len(), 510);
        assert!(tries < 2 * 510, "{tries} tries for 510 endpoints");
    }

    #[test]
    fn a_large_network_costs_no_more() {
        let pool = pool("10.0.0.0/8", &["10.0.0.0/16"]);
        assert_eq!(pool.capacity(), (1 << 24) - (1 << 16) - 1);
        assert!(pool.candidates("default", "p-web").next().is_some());
    }

    #[test]
    fn a_vni_is_24_bits_and_never_0() {
        let vnis: Vec<u32> = vni_candidates("default", "vpc0").take(10_000).collect();
        let distinct: BTreeSet<&u32> = vnis.iter().collect();
        assert_eq!(distinct.len(), vnis.len());
        assert!(vnis.iter().all(|vni| (1..1 << 24).contains(vni)));
        assert_ne!(vni_candidates("default", "vpc1").next(), vni_candidates("default", "vpc0").next());
    }
}
