//! What stands for a secret in a recording, and what can still be compared with it.

use serde_json::Value;
use windlass_model::base64::Base64;

/// Prefix of the placeholder of a secret.
pub const PLACEHOLDER_PREFIX: &str = "redacted-";
/// Number of hexadecimal digits after the prefix.
pub const PLACEHOLDER_DIGITS: usize = 12;

/// Whether a text stands for a secret, and is nothing else.
pub fn is_placeholder(text: &str) -> bool {
    let digits = text.strip_prefix(PLACEHOLDER_PREFIX).unwrap_or_default();
    digits.len() == PLACEHOLDER_DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// How a recorded value compares with one of today.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Compared {
    /// Whether they differ in a value that can be compared.
    pub(super) differs: bool,
    /// Number of values that cannot be compared because a secret is part of them.
    pub(super) uncertain: usize,
}

/// Compares two values in which placeholders hide secrets.
///
/// Two whole placeholders can be compared. A text that contains a secret cannot: either all of it or the secret in it
/// was hidden, and the code of today makes it from the placeholder.
pub(super) fn compare(recorded: &Value, now: &Value) -> Compared {
    match (recorded, now) {
        (Value::String(recorded), Value::String(now)) => compare_texts(recorded, now),
        (Value::Array(recorded), Value::Array(now)) if recorded.len() == now.len() => {
            sum(recorded.iter().zip(now).map(|(recorded, now)| compare(recorded, now)))
        }
        (Value::Object(recorded), Value::Object(now)) if recorded.keys().eq(now.keys()) => {
            sum(recorded.values().zip(now.values()).map(|(recorded, now)| compare(recorded, now)))
        }
        _ => Compared { differs: recorded != now, uncertain: 0 },
    }
}

fn sum(parts: impl Iterator<Item = Compared>) -> Compared {
    parts.fold(Compared::default(), |all, part| Compared {
        differs: all.differs || part.differs,
        uncertain: all.uncertain + part.uncertain,
    })
}

fn compare_texts(recorded: &str, now: &str) -> Compared {
    if recorded == now {
        return Compared::default();
    }
    let (recorded, now) = (readable(recorded), readable(now));
    let hidden = recorded.contains(PLACEHOLDER_PREFIX);
    if !hidden || (is_placeholder(&recorded) && is_placeholder(&now)) {
        return Compared { differs: true, uncertain: 0 };
    }
    Compared { differs: false, uncertain: 1 }
}

/// The text, or what it is the base64 of if a placeholder is in that.
fn readable(text: &str) -> String {
    let decoded = Base64::Standard.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    decoded.filter(|decoded| decoded.contains(PLACEHOLDER_PREFIX)).unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_hidden_is_not_held_against_the_code() {
        let (one, two) = ("redacted-000000000001", "redacted-000000000002");
        let encoded = |text: &str| Base64::Standard.encode(text.as_bytes());
        for (recorded, now, differs, uncertain) in [
            ("a", "a", false, 0),
            ("a", "b", true, 0),
            (one, one, false, 0),
            (one, two, true, 0),
            (encoded(one).as_str(), encoded(two).as_str(), true, 0),
            (one, &format!("postgres://{two}@host"), false, 1),
            (&encoded(one), &encoded(&format!("postgres://{two}@host")), false, 1),
            (one, "constant", false, 1),
            ("constant", one, true, 0),
        ] {
            let compared = compare(&json!({"at": [recorded]}), &json!({"at": [now]}));
            assert_eq!(compared, Compared { differs, uncertain }, "{recorded} and {now}");
        }
        assert!(compare(&json!({"a": one}), &json!({"b": one})).differs);
    }
}
