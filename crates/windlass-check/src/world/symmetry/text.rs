//! Names and uids in keys, requests and contents, permuted.

use serde_json::Value;
use windlass_model::{Key, MemoryStore, Request};

use super::Permutations;
use crate::index::PermutationIndex;

const UID_LENGTH: usize = 36;

impl Permutations {
    pub(super) fn key(&self, permutation: PermutationIndex, key: &Key) -> Key {
        let text = |text: &str| self.text(permutation, text);
        Key::new(&key.group, &key.plural, &text(&key.namespace), &text(&key.name))
    }

    pub(super) fn request(&self, permutation: PermutationIndex, request: &Request) -> Request {
        let mut permuted = request.clone();
        let text = |text: &String| self.text(permutation, text);
        permuted.name = request.name.as_ref().map(text);
        permuted.namespace = request.namespace.as_ref().map(text);
        permuted.body = request.body.as_ref().map(|body| self.value(permutation, body));
        permuted.options.label_selector = request.options.label_selector.as_ref().map(text);
        permuted.options.field_selector = request.options.field_selector.as_ref().map(text);
        permuted.options.preconditions.uid = request.options.preconditions.uid.as_ref().map(text);
        permuted
    }

    pub(super) fn value(&self, permutation: PermutationIndex, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(permutation, text)),
            Value::Array(items) => items.iter().map(|item| self.value(permutation, item)).collect(),
            Value::Object(fields) => {
                let fields = fields.iter();
                fields
                    .map(|(name, field)| (self.text(permutation, name), self.value(permutation, field)))
                    .collect()
            }
            other => other.clone(),
        }
    }

    /// Permutes names where they stand as whole words, and the uids of the objects that have them.
    pub(super) fn text(&self, permutation: PermutationIndex, text: &str) -> String {
        let mut permuted = String::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            if let Some((uid, after)) = rest.split_at_checked(UID_LENGTH)
                && let Some((key, incarnation)) = self.uids.get(uid)
            {
                permuted += &MemoryStore::uid(&self.key(permutation, key), *incarnation);
                rest = after;
                continue;
            }
            let word = rest.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(rest.len());
            if word == 0 {
                let letter = rest.chars().next().map_or(0, char::len_utf8);
                permuted += &rest[..letter];
                rest = &rest[letter..];
                continue;
            }
            permuted += self.all[permutation.index()].word(&rest[..word]);
            rest = &rest[word..];
        }
        permuted
    }
}
