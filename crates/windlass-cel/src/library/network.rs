//! IP addresses and networks.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Arguments, Opaque, Outcome, Table};
use crate::error::EvalError;
use crate::value::Value;

pub(super) const FUNCTIONS: Table = &[
    ("ip", ip),
    ("isIP", is_ip),
    ("ip.isCanonical", is_canonical),
    ("family", family),
    ("isUnspecified", is_unspecified),
    ("isLoopback", is_loopback),
    ("isLinkLocalMulticast", is_link_local_multicast),
    ("isLinkLocalUnicast", is_link_local_unicast),
    ("isGlobalUnicast", is_global_unicast),
    ("cidr", cidr),
    ("isCIDR", is_cidr),
    ("containsIP", contains_ip),
    ("containsCIDR", contains_cidr),
    ("masked", masked),
    ("prefixLength", prefix_length),
];

/// An address and the number of leading bits that name the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    address: IpAddr,
    pub(super) bits: u8,
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

impl Cidr {
    fn parse(text: &str) -> Result<Self, String> {
        let parse_error = |reason: &str| {
            let message = "network address parse error during conversion from string";
            format!("{message}: netip.ParsePrefix({text:?}): {reason}")
        };
        let (address_text, bits_text) = text.rsplit_once('/').ok_or_else(|| parse_error("no '/'"))?;
        if address_text.contains('%') {
            return Err(parse_error("IPv6 zones cannot be present in a prefix"));
        }
        let address = parse_address(address_text).map_err(|reason| parse_error(&reason))?;
        let plain = !bits_text.is_empty()
            && bits_text.bytes().all(|byte| byte.is_ascii_digit())
            && (bits_text.len() == 1 || !bits_text.starts_with('0'));
        if !plain {
            return Err(parse_error(&format!("bad bits after slash: {bits_text:?}")));
        }
        let widest = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits_text.parse::<u8>().ok().filter(|bits| *bits <= widest);
        let bits = bits.ok_or_else(|| parse_error("prefix length out of range"))?;
        if is_mapped(address) {
            return Err(format!("IPv4-mapped IPv6 address {text:?} is not allowed"));
        }
        Ok(Cidr { address, bits })
    }

    fn masked(self) -> Self {
        let address = match self.address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask))
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.bits)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
            }
        };
        Cidr { address, bits: self.bits }
    }

    fn contains(self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4()
            && Cidr { address, bits: self.bits }.masked() == self.masked()
    }
}

fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some())
}

/// An address without a zone; the error is worded as Go words it, where that is simple.
fn parse_address(text: &str) -> Result<IpAddr, String> {
    text.parse().map_err(|_| {
        let reason = match text.find(['.', ':', '%']).and_then(|index| text.get(index..=index)) {
            Some(".") => invalid_v4(text),
            _ => "unable to parse IP",
        };
        format!("ParseAddr({text:?}): {reason}")
    })
}

fn invalid_v4(text: &str) -> &'static str {
    let fields: Vec<&str> = text.split('.').collect();
    for field in &fields {
        if field.is_empty() {
            return "IPv4 field must have at least one digit";
        }
        if !field.bytes().all(|byte| byte.is_ascii_digit()) {
            return "unexpected character";
        }
        if field.len() > 1 && field.starts_with('0') {
            return "IPv4 field has octet with leading zero";
        }
        if field.parse::<u8>().is_err() {
            return "IPv4 field has value >255";
        }
    }
    if fields.len() > 4 { "IPv4 address too long" } else { "IPv4 address too short" }
}

/// An address as Kubernetes takes it: no zone, not IPv4 in the clothes of IPv6.
fn parse_ip(text: &str) -> Result<IpAddr, String> {
    let (plain, zone) = text.split_once('%').unwrap_or((text, ""));
    let address = parse_address(if zone.is_empty() { text } else { plain }).map_err(|reason| {
        format!("IP Address {text:?} parse error during conversion from string: {reason}")
    })?;
    if !zone.is_empty() {
        return Err(format!("IP address {text:?} with zone value is not allowed"));
    }
    if is_mapped(address) {
        return Err(format!("IPv4-mapped IPv6 address {text:?} is not allowed"));
    }
    Ok(address)
}

fn address_of(call: &Arguments<'_, '_>, index: usize) -> Result<IpAddr, EvalError> {
    match &*call.opaque(index)? {
        Opaque::Ip(address) => Ok(*address),
        _ => Err(EvalError::no_overload()),
    }
}

fn cidr_of(call: &Arguments<'_, '_>, index: usize) -> Result<Cidr, EvalError> {
    match &*call.opaque(index)? {
        Opaque::Cidr(cidr) => Ok(*cidr),
        _ => Err(EvalError::no_overload()),
    }
}

/// `ip("::1")`, or the address of a network.
fn ip<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    if let Value::Opaque(_) = call.get(0)? {
        call.budget.charge(1)?;
        return Ok(Value::opaque(Opaque::Ip(cidr_of(call, 0)?.address)));
    }
    let text = call.text(0)?;
    call.charge_walk(0)?;
    parse_ip(&text).map(|address| Value::opaque(Opaque::Ip(address))).map_err(EvalError::failed)
}

fn is_ip<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let text = call.text(0)?;
    call.charge_walk(0)?;
    Ok(Value::Bool(parse_ip(&text).is_ok()))
}

fn is_canonical<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let text = call.text(0)?;
    let size = call.get(0)?.size();
    call.budget.charge_traversal(size.saturating_mul(2))?;
    let address = parse_ip(&text).map_err(EvalError::failed)?;
    Ok(Value::Bool(address.to_string() == *text))
}

fn family<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    call.budget.charge(1)?;
    Ok(Value::Int(if address_of(call, 0)?.is_ipv4() { 4 } else { 6 }))
}

fn test<'a>(call: &mut Arguments<'_, 'a>, holds: fn(IpAddr) -> bool) -> Outcome<'a> {
    call.budget.charge(1)?;
    Ok(Value::Bool(holds(address_of(call, 0)?)))
}

fn is_unspecified<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    test(call, |address| address.is_unspecified())
}

fn is_loopback<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    test(call, |address| address.is_loopback())
}

fn is_link_local_multicast<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    test(call, |address| match address {
        IpAddr::V4(address) => address.octets().starts_with(&[224, 0, 0]),
        IpAddr::V6(address) => address.segments()[0] & 0xff0f == 0xff02,
    })
}

fn link_local_unicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

fn is_link_local_unicast<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    test(call, link_local_unicast)
}

fn is_global_unicast<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    test(call, |address| {
        let broadcast = address == IpAddr::V4(Ipv4Addr::BROADCAST);
        let special = address.is_unspecified() || address.is_loopback() || address.is_multicast();
        !broadcast && !special && !link_local_unicast(address)
    })
}

fn cidr<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let text = call.text(0)?;
    call.charge_walk(0)?;
    parse_cidr(&text).map(|cidr| Value::opaque(Opaque::Cidr(cidr)))
}

/// Kubernetes wraps the error twice.
fn parse_cidr(text: &str) -> Result<Cidr, EvalError> {
    Cidr::parse(text).map_err(|reason| {
        EvalError::failed(format!("network address parse error during conversion from string: {reason}"))
    })
}

fn is_cidr<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let text = call.text(0)?;
    call.charge_walk(0)?;
    Ok(Value::Bool(Cidr::parse(&text).is_ok()))
}

/// Charges for comparing as many bytes as the network has, and for parsing text.
fn charge_comparison(call: &mut Arguments<'_, '_>) -> Result<(), EvalError> {
    let bytes = call.get(0)?.size();
    call.budget.charge_traversal(bytes * 2)?;
    if let Value::String(_) = call.get(1)? {
        call.charge_walk(1)?;
    }
    Ok(())
}

fn contains_ip<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    charge_comparison(call)?;
    let network = cidr_of(call, 0)?;
    let address = match call.get(1)? {
        // Kubernetes loses the reason here.
        Value::String(text) => parse_ip(text).map_err(|_| EvalError::no_overload())?,
        _ => address_of(call, 1)?,
    };
    Ok(Value::Bool(network.contains(address)))
}

fn contains_cidr<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    charge_comparison(call)?;
    let bytes = call.get(0)?.size();
    call.budget.charge(bytes.div_ceil(10) + 1)?;
    let network = cidr_of(call, 0)?;
    let other = match call.get(1)? {
        Value::String(text) => parse_cidr(text)?,
        _ => cidr_of(call, 1)?,
    };
    Ok(Value::Bool(network.bits <= other.bits && network.contains(other.address)))
}

fn masked<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    call.budget.charge(1)?;
    Ok(Value::opaque(Opaque::Cidr(cidr_of(call, 0)?.masked())))
}

fn prefix_length<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    call.budget.charge(1)?;
    Ok(Value::Int(i64::from(cidr_of(call, 0)?.bits)))
}
