//! Random bits from the operating system.

use ring::rand::{SecureRandom, SystemRandom};
use windlass::RandomBytes;

/// 256 unpredictable bits.
///
/// # Panics
/// If the operating system has none to give: no value may be made up instead.
pub(crate) fn random_bytes() -> RandomBytes {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).expect("the operating system gives random bits");
    RandomBytes(bytes)
}

/// 64 unpredictable bits.
///
/// # Panics
/// As [`random_bytes`].
pub(crate) fn random_u64() -> u64 {
    let RandomBytes([a, b, c, d, e, f, g, h, ..]) = random_bytes();
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}
