//! Ranges of IPv4 addresses.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

/// A range of addresses that share a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Range {
    first: u32,
    prefix: u8,
}

/// Why a text is no range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    /// The part before the slash is no address.
    #[error("{0:?} is no IPv4 address")]
    Address(String),
    /// The part behind it is no length of a prefix.
    #[error("{0:?} is no length of a prefix: use 0 to 32")]
    Prefix(String),
}

impl Range {
    /// The range that an address is in, by the length of its prefix. What is behind the prefix is ignored.
    ///
    /// # Errors
    /// When the address is none, or the prefix is longer than 32.
    pub fn new(address: &str, prefix: u32) -> Result<Self, RangeError> {
        let length = u8::try_from(prefix).ok().filter(|length| *length <= 32);
        let prefix = length.ok_or_else(|| RangeError::Prefix(prefix.to_string()))?;
        let address: Ipv4Addr = address.parse().map_err(|_| RangeError::Address(address.to_owned()))?;
        Ok(Range { first: u32::from(address) & mask(prefix), prefix })
    }

    /// The first address, which is that of the network itself.
    pub fn network(self) -> Ipv4Addr {
        self.first.into()
    }

    /// The length of the prefix.
    pub fn prefix(self) -> u32 {
        self.prefix.into()
    }

    /// The address of the gateway: the first that a host could have.
    pub fn gateway(self) -> Ipv4Addr {
        (self.first | 1).into()
    }

    /// The last address, which reaches all others.
    pub fn broadcast(self) -> Ipv4Addr {
        (self.first | !mask(self.prefix)).into()
    }

    /// How many addresses there are.
    pub fn size(self) -> u64 {
        1 << (32 - self.prefix)
    }

    /// The address with this number, from 0 on.
    ///
    /// # Panics
    /// If there are not that many.
    pub fn address(self, index: u64) -> Ipv4Addr {
        assert!(index < self.size(), "{self} has {} addresses, so none is number {index}", self.size());
        let offset = u32::try_from(index).unwrap_or(u32::MAX);
        (self.first + offset).into()
    }

    /// Whether an address is in it.
    pub fn contains(self, address: Ipv4Addr) -> bool {
        u32::from(address) & mask(self.prefix) == self.first
    }

    /// Whether all of another range is in it.
    pub fn includes(self, other: Range) -> bool {
        self.prefix <= other.prefix && self.contains(other.network())
    }

    /// Whether some address is in both.
    pub fn overlaps(self, other: Range) -> bool {
        self.includes(other) || other.includes(self)
    }
}

fn mask(prefix: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0)
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network(), self.prefix)
    }
}

/// `10.0.0.0/8`, or one address.
impl FromStr for Range {
    type Err = RangeError;

    fn from_str(text: &str) -> Result<Self, RangeError> {
        let (address, prefix) = text.split_once('/').unwrap_or((text, "32"));
        let length = prefix.parse().map_err(|_| RangeError::Prefix(prefix.to_owned()))?;
        Range::new(address, length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> Range {
        text.parse().expect("a range")
    }

    #[test]
    fn knows_its_special_addresses() {
        let net = range("10.20.7.9/16");
        assert_eq!(net.to_string(), "10.20.0.0/16");
        assert_eq!(net.gateway().to_string(), "10.20.0.1");
        assert_eq!(net.broadcast().to_string(), "10.20.255.255");
        assert_eq!((net.size(), net.address(258).to_string()), (65_536, "10.20.1.2".to_owned()));
        assert_eq!(range("0.0.0.0/0").size(), 1 << 32);
        assert_eq!(range("1.2.3.4").broadcast().to_string(), "1.2.3.4");
    }

    #[test]
    fn compares_with_other_ranges() {
        let net = range("10.20.0.0/16");
        for (other, included, overlapping) in [
            ("10.20.3.0/24", true, true),
            ("10.20.0.0/16", true, true),
            ("10.0.0.0/8", false, true),
            ("10.21.0.0/16", false, false),
        ] {
            assert_eq!(net.includes(range(other)), included, "{other}");
            assert_eq!(net.overlaps(range(other)), overlapping, "{other}");
        }
    }

    #[test]
    fn rejects_what_is_no_range() {
        let error = |text: &str| text.parse::<Range>().expect_err("no range").to_string();
        assert_eq!(error("10.0.0/8"), "\"10.0.0\" is no IPv4 address");
        assert_eq!(error("10.0.0.0/33"), "\"33\" is no length of a prefix: use 0 to 32");
        assert_eq!(error("10.0.0.0/x"), "\"x\" is no length of a prefix: use 0 to 32");
    }
}
