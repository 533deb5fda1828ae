//! Names and uids that the server makes up.

use crate::store::{Key, Store};

/// The letters of generated names: no vowels and no digits that look like them, so that no words arise.
pub(crate) const NAME_LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH: usize = 5;
const MAX_NAME_LENGTH: usize = 63;
/// A store may hand out its numbers in a fixed order, so that each earlier sibling costs one attempt.
const ATTEMPTS: u64 = 4096;

/// A free name that starts with `base`; if none is found, one that is taken.
pub(super) fn generate_name<S: Store + ?Sized>(store: &S, base: &str, key: impl Fn(&str) -> Key) -> String {
    let kept = base.floor_char_boundary(MAX_NAME_LENGTH - SUFFIX_LENGTH);
    let base = base.get(..kept).unwrap_or(base);
    let seed = key(base);
    let name = |salt| format!("{base}{}", suffix(store.entropy(&seed, salt)));
    (0..ATTEMPTS).map(name).find(|name| store.get(&key(name)).is_none()).unwrap_or_else(|| name(0))
}

fn suffix(mut bits: u128) -> String {
    let mut text = String::with_capacity(SUFFIX_LENGTH);
    for _ in 0..SUFFIX_LENGTH {
        let letter = NAME_LETTERS.get((bits % NAME_LETTERS.len() as u128) as usize);
        text.push(char::from(*letter.unwrap_or(&b'x')));
        bits /= NAME_LETTERS.len() as u128;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Change, MemoryStore};
    use std::sync::Arc;

    #[test]
    fn generated_names_are_free_and_short_enough() {
        let mut store = MemoryStore::default();
        let key = |name: &str| Key::new("", "pods", "default", name);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..50 {
            let name = generate_name(&store, "web-", key);
            assert!(name.starts_with("web-") && name.len() == 9, "{name}");
            assert!(name.bytes().skip(4).all(|byte| NAME_LETTERS.contains(&byte)), "{name}");
            assert!(seen.insert(name.clone()), "{name} twice");
            let after = Some(Arc::new(serde_json::json!({})));
            store.commit(&Change { key: key(&name), before: None, after, version: 1 });
        }
        let long = generate_name(&store, &"ä".repeat(40), key);
        assert!(long.len() <= MAX_NAME_LENGTH && long.starts_with('ä'), "{long}");
    }
}
