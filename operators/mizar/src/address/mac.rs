//! MAC addresses of endpoints.

use std::net::Ipv4Addr;

/// The MAC address of an endpoint: unicast, locally administered, and unique in its VPC, since its address is.
///
/// ```
/// use windlass_mizar::address::mac_address;
/// assert_eq!(mac_address(7, [10, 20, 0, 5].into()), "02:07:0a:14:00:05");
/// ```
pub fn mac_address(vni: u32, address: Ipv4Addr) -> String {
    // The second lowest bit of the first byte says that it is locally administered; the lowest, that it is multicast.
    const LOCALLY_ADMINISTERED: u8 = 0b10;
    let [a, b, c, d] = address.octets();
    let [_, _, _, vpc] = vni.to_be_bytes();
    format!("{LOCALLY_ADMINISTERED:02x}:{vpc:02x}:{a:02x}:{b:02x}:{c:02x}:{d:02x}")
}
