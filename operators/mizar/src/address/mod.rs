//! Addresses and other things that may be given out once, as pure functions: ranges, pools, MAC addresses, names of claims.

mod claim;
mod mac;
mod pool;
mod range;

pub use claim::{address_claim, vni_claim};
pub use mac::mac_address;
pub use pool::{Pool, Unusable, spread, vni_candidates};
pub use range::{Range, RangeError};
