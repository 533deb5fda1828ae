//! The name of a pod template: a short hash of its text, in letters that make no words.

use serde_json::Value;

use crate::verbs::NAME_LETTERS;

/// A hash of a template. Equal templates have equal hashes.
pub(super) fn template_hash(template: &Value) -> String {
    let hash = fnv32(template.to_string().as_bytes());
    let digits = hash.to_string();
    digits.bytes().map(|digit| letter(digit.into())).collect()
}

/// A number for a text that is nearly always different for different texts.
pub(super) fn fnv32(text: &[u8]) -> u32 {
    text.iter().fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

fn letter(number: usize) -> char {
    let letter = NAME_LETTERS.get(number % NAME_LETTERS.len());
    char::from(*letter.unwrap_or(&b'x'))
}
