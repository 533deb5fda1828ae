//! The names of what may be given out once. A name is taken by creating an [`Allocation`](crate::api::Allocation).

use std::net::Ipv4Addr;

/// The claim of an address in the VPC with a VNI.
pub fn address_claim(vni: u32, address: Ipv4Addr) -> String {
    format!("ip-{vni}-{address}")
}

/// The claim of a VNI.
pub fn vni_claim(vni: u32) -> String {
    format!("vni-{vni}")
}
