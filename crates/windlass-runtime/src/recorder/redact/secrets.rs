//! Texts that are secret, and what stands for each.

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use windlass::model::base64::Base64;
use windlass::recording::{PLACEHOLDER_DIGITS, PLACEHOLDER_PREFIX, is_placeholder};

use super::Form;

/// What is shorter occurs everywhere by chance. Where a secret stands by itself, it is hidden all the same.
const SHORTEST: usize = 4;

/// Makes placeholders with a key that only this process has, so that guesses of a secret cannot be tested against them.
#[derive(Default)]
pub(super) struct Keyed(RandomState);

impl Keyed {
    /// What stands for a secret. White space around it does not matter: files end in a line end, and code trims it.
    fn placeholder(&self, secret: &[u8]) -> String {
        let hash = self.0.hash_one(secret.trim_ascii());
        let mut digits = format!("{hash:016x}");
        digits.truncate(PLACEHOLDER_DIGITS);
        format!("{PLACEHOLDER_PREFIX}{digits}")
    }
}

/// The secrets that are known, in every form in which they may occur.
pub(crate) struct Secrets<'a> {
    keyed: &'a Keyed,
    /// What stands for a text that is a secret as a whole.
    whole: BTreeMap<String, String>,
    /// What stands for a text wherever it occurs.
    anywhere: BTreeMap<String, String>,
}

impl<'a> Secrets<'a> {
    pub(super) fn new(keyed: &'a Keyed) -> Self {
        Secrets { keyed, whole: BTreeMap::new(), anywhere: BTreeMap::new() }
    }

    /// This text is secret.
    pub(super) fn learn(&mut self, text: &str, form: Form) {
        let bytes = match form {
            Form::Base64 => Base64::Standard.decode(text).unwrap_or_else(|_| text.as_bytes().to_vec()),
            Form::Plain => text.as_bytes().to_vec(),
        };
        if bytes.trim_ascii().is_empty() {
            return;
        }
        let placeholder = self.keyed.placeholder(&bytes);
        let encoded = Base64::Standard.encode(placeholder.as_bytes());
        let whole = if form == Form::Base64 { &encoded } else { &placeholder };
        self.whole.insert(text.to_owned(), whole.clone());
        for form in [bytes.as_slice(), bytes.trim_ascii()] {
            self.note(&Base64::Standard.encode(form), &encoded);
            let Ok(plain) = std::str::from_utf8(form) else { continue };
            self.note(plain, &placeholder);
            // As it stands inside JSON that is itself a text.
            let quoted = serde_json::Value::from(plain).to_string();
            self.note(quoted.trim_matches('"'), &placeholder);
        }
    }

    fn note(&mut self, text: &str, replacement: &str) {
        // `true` and `false` occur everywhere, so they are not replaced inside other texts.
        let is_answer = ["true", "false"].contains(&text.to_ascii_lowercase().as_str());
        if text.chars().count() >= SHORTEST && !is_answer && !PLACEHOLDER_PREFIX.contains(text) {
            self.anywhere.insert(text.to_owned(), replacement.to_owned());
        }
    }

    /// Hides a text that is a secret by itself.
    pub(super) fn hide_whole(&self, text: &mut String) {
        match self.whole.get(text) {
            Some(replacement) => text.clone_from(replacement),
            None => self.hide_in(text),
        }
    }

    /// Hides every secret that occurs in a text; of several at the same position, the longest.
    pub(crate) fn hide_in(&self, text: &mut String) {
        if !self.anywhere.keys().any(|secret| text.contains(secret.as_str())) {
            return;
        }
        let mut hidden = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(next) = rest.chars().next() {
            // What stands for a secret is left alone.
            let ahead = rest.get(..PLACEHOLDER_PREFIX.len() + PLACEHOLDER_DIGITS);
            if let Some(placeholder) = ahead.filter(|ahead| is_placeholder(ahead)) {
                hidden.push_str(placeholder);
                rest = &rest[placeholder.len()..];
                continue;
            }
            let fitting = self.anywhere.iter().filter(|(secret, _)| rest.starts_with(secret.as_str()));
            match fitting.max_by_key(|(secret, _)| secret.len()) {
                Some((secret, replacement)) => {
                    hidden.push_str(replacement);
                    rest = &rest[secret.len()..];
                }
                None => {
                    hidden.push(next);
                    rest = &rest[next.len_utf8()..];
                }
            }
        }
        *text = hidden;
    }
}
