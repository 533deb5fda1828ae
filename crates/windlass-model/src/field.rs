//! Errors about one field of an object, worded as Kubernetes words them.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One cause of a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cause {
    /// For programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The field it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

/// Where in an object a field stands: `spec.containers[0].name`, `metadata.labels[app]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldPath(String);

impl FieldPath {
    /// The object itself.
    pub(crate) fn root() -> Self {
        FieldPath::default()
    }

    /// A path from its written form.
    pub(crate) fn of(text: &str) -> Self {
        FieldPath(text.to_owned())
    }

    /// A named field below this one.
    #[must_use]
    pub(crate) fn child(&self, name: &str) -> Self {
        if self.0.is_empty() { FieldPath(name.to_owned()) } else { FieldPath([&self.0, ".", name].concat()) }
    }

    /// An element of this list.
    #[must_use]
    pub(crate) fn index(&self, index: usize) -> Self {
        FieldPath(format!("{}[{index}]", self.0))
    }

    /// A value of this map.
    #[must_use]
    pub(crate) fn key(&self, key: &str) -> Self {
        FieldPath([&self.0, "[", key, "]"].concat())
    }

    /// The written form; empty for the root.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Kubernetes prints the root as "<nil>".
        f.write_str(if self.0.is_empty() { "<nil>" } else { &self.0 })
    }
}

/// The kind of an error in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldErrorKind {
    /// A value must be given.
    Required,
    /// The value breaks a rule.
    Invalid,
    /// The value is not one of those allowed.
    NotSupported,
    /// The value stands twice where it must be unique.
    Duplicate,
    /// The field may not be set, or not changed.
    Forbidden,
    /// The value is longer than allowed.
    TooLong,
    /// The list has more items than allowed.
    TooMany,
    /// The value has the wrong JSON type.
    TypeInvalid,
    /// What the value refers to does not exist.
    NotFound,
}

/// One error in one field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FieldError {
    /// The kind of failure.
    pub kind: FieldErrorKind,
    /// The field.
    pub path: FieldPath,
    /// The offending value, where the message shows it.
    pub value: Option<Value>,
    /// What to do about it.
    pub detail: String,
}

impl FieldError {
    /// `spec.x: Required value: detail`
    pub(crate) fn required(path: &FieldPath, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Required, path, None, detail)
    }

    /// `spec.x: Invalid value: 3: detail`
    pub(crate) fn invalid(path: &FieldPath, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Invalid, path, Some(value.into()), detail)
    }

    /// `spec.x: Forbidden: detail`
    pub(crate) fn forbidden(path: &FieldPath, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Forbidden, path, None, detail)
    }

    /// `spec.x: Duplicate value: "a"`
    pub(crate) fn duplicate(path: &FieldPath, value: impl Into<Value>) -> Self {
        Self::new(FieldErrorKind::Duplicate, path, Some(value.into()), "")
    }

    /// `spec.x: Unsupported value: "a": supported values: "b", "c"`, in the order given.
    pub(crate) fn not_supported(path: &FieldPath, value: impl Into<Value>, allowed: &[&str]) -> Self {
        let allowed: Vec<String> = allowed.iter().map(|text| quoted(text)).collect();
        let detail = format!("supported values: {}", allowed.join(", "));
        Self::new(FieldErrorKind::NotSupported, path, Some(value.into()), detail)
    }

    /// `spec.x: Too long: may not be more than 63 bytes`
    pub(crate) fn too_long(path: &FieldPath, max_bytes: usize) -> Self {
        let bytes = if max_bytes == 1 { "byte" } else { "bytes" };
        Self::new(FieldErrorKind::TooLong, path, None, format!("may not be more than {max_bytes} {bytes}"))
    }

    /// `spec.x: Too many: 5: must have at most 3 items`
    pub(crate) fn too_many(path: &FieldPath, actual: usize, max_items: usize) -> Self {
        let items = if max_items == 1 { "item" } else { "items" };
        let detail = format!("must have at most {max_items} {items}");
        Self::new(FieldErrorKind::TooMany, path, Some(actual.into()), detail)
    }

    /// `spec.x: Invalid value: "string": detail`, for a value of the wrong JSON type.
    pub(crate) fn type_invalid(path: &FieldPath, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::TypeInvalid, path, Some(value.into()), detail)
    }

    /// An error of any kind.
    pub(crate) fn new(
        kind: FieldErrorKind,
        path: &FieldPath,
        value: Option<Value>,
        detail: impl Into<String>,
    ) -> Self {
        FieldError { kind, path: path.clone(), value, detail: detail.into() }
    }

    /// The message without the path, as it stands in a cause.
    pub(crate) fn message(&self) -> String {
        let kind = match self.kind {
            FieldErrorKind::Required => "Required value",
            FieldErrorKind::Invalid | FieldErrorKind::TypeInvalid => "Invalid value",
            FieldErrorKind::NotSupported => "Unsupported value",
            FieldErrorKind::Duplicate => "Duplicate value",
            FieldErrorKind::Forbidden => "Forbidden",
            FieldErrorKind::TooLong => "Too long",
            FieldErrorKind::TooMany => "Too many",
            FieldErrorKind::NotFound => "Not found",
        };
        let value = match &self.value {
            None => String::new(),
            Some(value) => format!(": {}", shown(value)),
        };
        let detail = if self.detail.is_empty() { String::new() } else { format!(": {}", self.detail) };
        format!("{kind}{value}{detail}")
    }

    /// The same as an entry of `Status.details.causes`.
    pub(crate) fn cause(&self) -> Cause {
        let reason = match self.kind {
            FieldErrorKind::Required => "FieldValueRequired",
            FieldErrorKind::Invalid => "FieldValueInvalid",
            FieldErrorKind::TypeInvalid => "FieldValueTypeInvalid",
            FieldErrorKind::NotSupported => "FieldValueNotSupported",
            FieldErrorKind::Duplicate => "FieldValueDuplicate",
            FieldErrorKind::Forbidden => "FieldValueForbidden",
            FieldErrorKind::TooLong => "FieldValueTooLong",
            FieldErrorKind::TooMany => "FieldValueTooMany",
            FieldErrorKind::NotFound => "FieldValueNotFound",
        };
        Cause {
            reason: Some(reason.to_owned()),
            message: Some(self.message()),
            field: Some(self.path.to_string()),
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message())
    }
}

/// A value as Kubernetes prints it in an error: strings quoted, everything else as JSON.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Number(number) if number.as_i64().is_none() => {
            number.as_f64().map_or_else(|| number.to_string(), shown_float)
        }
        other => other.to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026"),
    }
}

/// A number as Go's `%v` prints it: the shortest digits, with an exponent from a million on.
pub(crate) fn shown_float(number: f64) -> String {
    let scientific = format!("{number:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
        }
        _ => format!("{number}"),
    }
}

/// A text in quotes, escaped as Kubernetes does it.
pub(crate) fn quoted(text: &str) -> String {
    let mut shown = String::with_capacity(text.len() + 2);
    shown.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => shown.extend(['\\', character]),
            '\u{7}' => shown.push_str("\\a"),
            '\u{8}' => shown.push_str("\\b"),
            '\u{b}' => shown.push_str("\\v"),
            '\u{c}' => shown.push_str("\\f"),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            _ if is_printable(character) => shown.push(character),
            _ => match u32::from(character) {
                code @ ..0x80 => shown.push_str(&format!("\\x{code:02x}")),
                code @ ..0x1_0000 => shown.push_str(&format!("\\u{code:04x}")),
                code => shown.push_str(&format!("\\U{code:08x}")),
            },
        }
    }
    shown.push('"');
    shown
}

/// Letters, marks, numbers, punctuation, symbols and the space.
pub(crate) fn is_printable(character: char) -> bool {
    matches!(character, '\'' | '"' | '\\') || character.escape_debug().len() == 1
}

pub(crate) fn invalid_each<'a>(
    path: &'a FieldPath,
    value: &'a str,
    messages: Vec<String>,
) -> impl Iterator<Item = FieldError> + 'a {
    messages.into_iter().map(move |message| FieldError::invalid(path, value, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_like_kubernetes() {
        for (text, shown) in [
            ("a b", r#""a b""#),
            ("é\"\\'", r#""é\"\\'""#),
            ("\u{7}\n\0\u{7f}", r#""\a\n\x00\x7f""#),
            ("\u{200b}\u{e0001}", r#""\u200b\U000e0001""#),
        ] {
            assert_eq!(quoted(text), shown);
        }
    }

    #[test]
    fn values_are_shown_as_go_shows_them() {
        let cases = [
            (
                Value::from("a\"\\\n\0\u{7f}\u{a0}é\u{200b}\u{e000}"),
                r#""a\"\\\n\x00\x7f\u00a0é\u200b\ue000""#,
            ),
            (Value::from(5), "5"),
            (Value::from(5.0), "5"),
            (Value::from(1e6), "1e+06"),
            (Value::from(123_456.5), "123456.5"),
            (Value::from(0.00001), "1e-05"),
            (serde_json::json!({"a": "<&>"}), r#"{"a":"\u003c\u0026\u003e"}"#),
            (Value::Null, "null"),
        ];
        for (value, wanted) in cases {
            assert_eq!(shown(&value), wanted);
        }
    }
}
