//! One step of a field path: a field, a list item by its keys, a set item by its value, an index.

use std::cmp::Ordering;
use std::fmt::{self, Write as _};

use serde_json::Value;

use crate::value_order;

/// One step from a value to a value inside it.
#[derive(Clone, Debug)]
pub(crate) enum PathElement {
    /// A field of an object: `f:spec`.
    Field(Box<str>),
    /// The item of a list that has these values in these fields: `k:{"name":"web"}`. Sorted by name.
    Key(Vec<(Box<str>, Value)>),
    /// The item of a set: `v:"a"`.
    Value(Value),
    /// The item at an index of a list: `i:3`.
    Index(i64),
}

/// Why the written form of a path element cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathElementError {
    /// The kind is one that a later version may know; such elements are to be skipped.
    UnknownKind,
    /// The text makes no sense.
    Malformed(String),
}

impl PathElement {
    /// A named field.
    pub(crate) fn field(name: &str) -> Self {
        PathElement::Field(name.into())
    }

    /// A list item by its key fields, in any order.
    pub(crate) fn key(mut fields: Vec<(Box<str>, Value)>) -> Self {
        fields.sort_by(|left, right| left.0.cmp(&right.0));
        PathElement::Key(fields)
    }

    /// Reads the form that `fieldsV1` has: `f:name`, `k:{...}`, `v:...`, `i:...`.
    pub(crate) fn parse(text: &str) -> Result<Self, PathElementError> {
        let malformed = |why: String| PathElementError::Malformed(why);
        if text.len() < 2 {
            return Err(malformed("key must be 2 characters long:".to_owned()));
        }
        if text.as_bytes().get(1) != Some(&b':') {
            return Err(malformed(format!("missing colon: {text}")));
        }
        let Some((kind, rest)) = text.split_once(':') else {
            return Err(malformed(format!("missing colon: {text}")));
        };
        match kind {
            "f" => Ok(PathElement::field(rest)),
            "v" => serde_json::from_str(rest)
                .map(PathElement::Value)
                .map_err(|error| malformed(error.to_string())),
            "k" => match serde_json::from_str(rest) {
                Ok(Value::Object(fields)) => {
                    let fields = fields.into_iter().map(|(name, value)| (name.into(), value));
                    Ok(PathElement::key(fields.collect()))
                }
                Ok(_) => Err(malformed(format!("expected an object of keys: {text}"))),
                Err(error) => Err(malformed(error.to_string())),
            },
            "i" => rest.parse().map(PathElement::Index).map_err(|_| malformed(format!("bad index: {text}"))),
            _ => Err(PathElementError::UnknownKind),
        }
    }

    /// Writes the form that `fieldsV1` has.
    pub(crate) fn to_key(&self) -> String {
        match self {
            PathElement::Field(name) => ["f:", &**name].concat(),
            PathElement::Value(value) => format!("v:{}", json(value)),
            PathElement::Index(index) => format!("i:{index}"),
            PathElement::Key(fields) => {
                let mut text = "k:{".to_owned();
                for (i, (name, value)) in fields.iter().enumerate() {
                    let comma = if i > 0 { "," } else { "" };
                    let _ = write!(text, "{comma}{}:{}", Value::from(&**name), json(value));
                }
                text.push('}');
                text
            }
        }
    }

    fn rank(&self) -> u8 {
        match self {
            PathElement::Field(_) => 0,
            PathElement::Key(_) => 1,
            PathElement::Value(_) => 2,
            PathElement::Index(_) => 3,
        }
    }
}

/// JSON as Kubernetes writes it: with the characters escaped that mean something in HTML.
pub(super) fn json(value: &Value) -> String {
    let text = value.to_string();
    if !text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        return text;
    }
    // These characters stand only inside strings, so they can be replaced wherever they are.
    text.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (PathElement::Field(left), PathElement::Field(right)) => left.cmp(right),
            (PathElement::Value(left), PathElement::Value(right)) => value_order::compare(left, right),
            (PathElement::Index(left), PathElement::Index(right)) => left.cmp(right),
            (PathElement::Key(left), PathElement::Key(right)) => {
                let differences = left.iter().zip(right).map(|(left, right)| {
                    left.0.cmp(&right.0).then_with(|| value_order::compare(&left.1, &right.1))
                });
                let shorter_first = left.len().cmp(&right.len());
                differences.into_iter().find(|order| order.is_ne()).unwrap_or(shorter_first)
            }
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for PathElement {}

/// `.spec`, `[name="web"]`, `[="a"]`, `[3]`: as conflicts and errors show it.
impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathElement::Field(name) => write!(f, ".{name}"),
            PathElement::Value(value) => write!(f, "[={}]", shown(value)),
            PathElement::Index(index) => write!(f, "[{index}]"),
            PathElement::Key(fields) => {
                let parts: Vec<String> =
                    fields.iter().map(|(name, value)| format!("{name}={}", shown(value))).collect();
                write!(f, "[{}]", parts.join(","))
            }
        }
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => crate::field::quoted(text),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_and_writes() {
        for (text, shown) in [
            ("f:spec", ".spec"),
            ("f:a:b", ".a:b"),
            ("f:", "."),
            (r#"v:"a""#, r#"[="a"]"#),
            ("v:1", "[=1]"),
            ("i:3", "[3]"),
            ("i:-1", "[-1]"),
            (r#"k:{"containerPort":80,"protocol":"TCP"}"#, r#"[containerPort=80,protocol="TCP"]"#),
            (r#"v:"a\u0026b""#, r#"[="a&b"]"#),
        ] {
            let element = PathElement::parse(text).unwrap();
            assert_eq!(element.to_key(), text);
            assert_eq!(element.to_string(), shown);
        }
    }

    #[test]
    fn sorts_the_fields_of_a_key() {
        let element = PathElement::parse(r#"k:{"b":1,"a":2}"#).unwrap();
        assert_eq!(element.to_key(), r#"k:{"a":2,"b":1}"#);
    }

    #[test]
    fn refuses_what_makes_no_sense() {
        for text in ["", "f", "spec", "ff:x", "v:", "v:{", "k:[]", "k:1", "i:x", "i:", "ä"] {
            let error = PathElement::parse(text).unwrap_err();
            assert!(matches!(error, PathElementError::Malformed(_)), "{text}");
        }
        assert_eq!(PathElement::parse("x:1"), Err(PathElementError::UnknownKind));
    }

    #[test]
    fn orders_fields_then_keys_then_values_then_indices() {
        let ascending = [
            PathElement::field("a"),
            PathElement::field("b"),
            PathElement::key(vec![("a".into(), json!(1))]),
            PathElement::key(vec![("a".into(), json!(1)), ("b".into(), json!(1))]),
            PathElement::key(vec![("a".into(), json!(2))]),
            PathElement::Value(json!(1)),
            PathElement::Value(json!("a")),
            PathElement::Index(0),
        ];
        for (i, left) in ascending.iter().enumerate() {
            for (j, right) in ascending.iter().enumerate() {
                assert_eq!(left.cmp(right), i.cmp(&j), "{left} {right}");
            }
        }
    }
}
