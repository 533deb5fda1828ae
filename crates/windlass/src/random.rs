//! Random values: drawn by the driver, so that a reconcile stays a pure function of its answers.

use std::fmt::Write;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::cx::Cx;
use crate::kind::Kind;

/// 256 random bits, as a driver draws them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RandomBytes(pub [u8; 32]);

/// What a password is made of: no character needs quoting anywhere.
const PASSWORD_CHARACTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// Number of characters made from one draw; each takes 6 of its 256 bits, and is nearly evenly distributed.
const CHARACTERS_PER_DRAW: usize = 40;

impl RandomBytes {
    /// Deterministic bytes derived from a number, for drivers that choose their draws: the checker and `Local`.
    pub fn numbered(number: u64) -> Self {
        let mut bytes = [0; 32];
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = number.rotate_right(8 * (index % 8) as u32) as u8 ^ index as u8;
        }
        RandomBytes(bytes)
    }

    /// The first 64 bits.
    fn number(&self) -> u64 {
        self.0[..8].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    /// Characters of a password, dividing all 256 bits by the number of characters again and again.
    fn characters(&self, count: usize) -> impl Iterator<Item = char> {
        let mut digits = self.0;
        let radix = PASSWORD_CHARACTERS.len() as u32;
        (0..count).map(move |_| {
            let mut rest = 0;
            for digit in &mut digits {
                let value = rest << 8 | u32::from(*digit);
                *digit = (value / radix) as u8;
                rest = value % radix;
            }
            char::from(PASSWORD_CHARACTERS[rest as usize])
        })
    }
}

impl<P: Kind> Cx<P> {
    /// A random number. It is recorded and replayed like any answer; what must stay secret comes from
    /// [`Cx::random_password`] or [`Cx::random_key`].
    ///
    /// The next reconcile draws another one, also after a crash: keep what must not change in an output that is
    /// created [only if absent](crate::Output::only_if_absent). The checker tries two values for each draw.
    pub async fn random(&self) -> u64 {
        self.io().random(false).await.number()
    }

    /// A random password of letters and digits, each worth nearly 6 bits. Recordings leave it out.
    ///
    /// The next reconcile draws another one, also after a crash: keep it in a Secret that is created
    /// [only if absent](crate::Output::only_if_absent).
    pub async fn random_password(&self, length: usize) -> String {
        let mut password = String::with_capacity(length);
        while password.len() < length {
            let drawn = self.io().random(true).await;
            password.extend(drawn.characters((length - password.len()).min(CHARACTERS_PER_DRAW)));
        }
        password
    }

    /// 256 random bits, for a key. Recordings leave them out. As with [`Cx::random_password`], the next reconcile draws
    /// other ones.
    pub async fn random_key(&self) -> [u8; 32] {
        self.io().random(true).await.0
    }
}

/// As hexadecimal digits.
impl Serialize for RandomBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let digits = self.0.iter().fold(String::new(), |mut digits, byte| {
            let _ = write!(digits, "{byte:02x}");
            digits
        });
        serializer.serialize_str(&digits)
    }
}

impl<'de> Deserialize<'de> for RandomBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let digits = String::deserialize(deserializer)?;
        let mut bytes = [0; 32];
        if digits.len() != 64 || !digits.is_ascii() {
            return Err(serde::de::Error::custom("random bytes are 64 hexadecimal digits"));
        }
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&digits[2 * index..2 * index + 2], 16)
                .map_err(serde::de::Error::custom)?;
        }
        Ok(RandomBytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_written_as_digits_and_read_again() {
        let bytes = RandomBytes::numbered(0x0123_4567_89ab_cdef);
        let text = serde_json::to_string(&bytes).unwrap();
        assert_eq!(serde_json::from_str::<RandomBytes>(&text).unwrap(), bytes);
        assert!(serde_json::from_str::<RandomBytes>("\"ab\"").is_err());
    }

    #[test]
    fn passwords_use_all_characters_about_equally_often() {
        let mut counts = [0_u32; 62];
        for number in 0..5_000 {
            for character in RandomBytes(spread(number)).characters(CHARACTERS_PER_DRAW) {
                let index = PASSWORD_CHARACTERS.iter().position(|known| char::from(*known) == character);
                counts[index.unwrap()] += 1;
            }
        }
        let expected = 5_000 * CHARACTERS_PER_DRAW as u32 / 62;
        assert!(counts.iter().all(|count| count.abs_diff(expected) < expected / 5), "{counts:?}");
    }

    /// Bytes that differ everywhere from one number to the next.
    fn spread(number: u64) -> [u8; 32] {
        let mut state = number;
        std::array::from_fn(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
    }
}
