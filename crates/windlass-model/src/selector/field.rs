//! Field selectors: `metadata.name=a,spec.nodeName!=b`.

use std::fmt;

use serde_json::Value;

/// A condition on fields: all terms must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector {
    terms: Vec<FieldTerm>,
}

/// A condition on one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldTerm {
    /// The field, such as `metadata.name`.
    pub field: String,
    /// Whether it must have the value, or must not.
    pub equals: bool,
    /// The value.
    pub value: String,
}

impl FieldSelector {
    /// Reads the written form. The error is worded as Kubernetes words it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = split_terms(text);
        parts.sort_unstable();
        let mut terms = Vec::new();
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            let Some((field, equals, value)) = split_term(part) else {
                return Err(format!("invalid selector: '{text}'; can't understand '{part}'"));
            };
            let value = unescape(value)?;
            // A term with nothing on either side holds for everything.
            if !field.is_empty() || !value.is_empty() {
                terms.push(FieldTerm { field: field.to_owned(), equals, value });
            }
        }
        Ok(FieldSelector { terms })
    }

    /// The terms, all of which must hold.
    pub(crate) fn terms(&self) -> &[FieldTerm] {
        &self.terms
    }

    /// A selector for one name.
    pub(crate) fn for_name(name: &str) -> Self {
        let term = FieldTerm { field: "metadata.name".to_owned(), equals: true, value: name.to_owned() };
        FieldSelector { terms: vec![term] }
    }

    /// Whether the object is selected.
    pub fn matches(&self, object: &Value) -> bool {
        self.terms.iter().all(|term| (field_value(object, &term.field) == term.value) == term.equals)
    }

    /// Where the values of its fields are stored.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().map(|term| path_of(&term.field))
    }

    /// Selects by other fields, as the function says.
    pub(crate) fn rename(&mut self, name: impl Fn(&str) -> String) {
        for term in &mut self.terms {
            term.field = name(&term.field);
        }
    }

    /// Whether this selects all objects.
    pub fn is_everything(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether all objects that this selects are certain to be selected by another one too.
    pub fn is_within(&self, wider: &FieldSelector) -> bool {
        let implies = |narrow: &FieldTerm, wide: &FieldTerm| {
            let other_value = narrow.equals && !wide.equals && narrow.value != wide.value;
            narrow == wide || (narrow.field == wide.field && other_value)
        };
        wider.terms.iter().all(|wide| self.terms.iter().any(|narrow| implies(narrow, wide)))
    }

    /// The only value that a field may have.
    pub(crate) fn required(&self, field: &str) -> Option<&str> {
        let term = self.terms.iter().find(|term| term.equals && term.field == field)?;
        Some(&term.value)
    }
}

/// The written form, with commas, equals signs and backslashes in values escaped.
impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, term) in self.terms.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let operator = if term.equals { "=" } else { "!=" };
            let value = term.value.replace('\\', r"\\").replace(',', r"\,").replace('=', r"\=");
            write!(f, "{comma}{}{operator}{value}", term.field)?;
        }
        Ok(())
    }
}

/// Where the value of a field is stored.
fn path_of(field: &str) -> &str {
    match field {
        // These are named otherwise than they are stored.
        "status.successful" => "status.succeeded",
        "source" => "source.component",
        other => other,
    }
}

/// The value of a field as text. Fields that are absent have the zero value of their type.
fn field_value(object: &Value, field: &str) -> String {
    let value = path_of(field).split('.').fold(object, |value, step| &value[step]);
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        _ => match field {
            "spec.unschedulable" | "spec.hostNetwork" => "false".to_owned(),
            "status.replicas" | "status.successful" => "0".to_owned(),
            _ => String::new(),
        },
    }
}

/// The terms between commas that are not escaped.
fn split_terms(text: &str) -> Vec<&str> {
    let mut escaped = false;
    text.split(|character| {
        let separates = character == ',' && !escaped;
        escaped = character == '\\' && !escaped;
        separates
    })
    .collect()
}

/// Field, whether it must equal, and the value as written; split at the first operator.
fn split_term(term: &str) -> Option<(&str, bool, &str)> {
    let equals_at = term.find('=')?;
    let (left, right) = (term.get(..equals_at)?, term.get(equals_at + 1..)?);
    match left.strip_suffix('!') {
        Some(field) => Some((field, false, right)),
        None => Some((left, true, right.strip_prefix('=').unwrap_or(right))),
    }
}

fn unescape(value: &str) -> Result<String, String> {
    let mut plain = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(escaped @ ('\\' | ',' | '=')) => plain.push(escaped),
                other => {
                    let shown: String = other.into_iter().collect();
                    return Err(format!("invalid field selector: invalid escape sequence: \\{shown}"));
                }
            },
            ',' | '=' => {
                let code = u32::from(character);
                return Err(format!("invalid field selector: unescaped character in value: {code}"));
            }
            other => plain.push(other),
        }
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn knows_what_lies_within() {
        for (narrow, wide, expected) in [
            ("a=1", "", true),
            ("", "a=1", false),
            ("a=1,b=2", "b=2", true),
            ("a=1", "a!=2", true),
            ("a=1", "a!=1", false),
            ("b=1", "a!=2", false),
            ("a!=1", "a=1", false),
        ] {
            let read = |text| FieldSelector::parse(text).unwrap();
            assert_eq!(read(narrow).is_within(&read(wide)), expected, "{narrow:?} within {wide:?}");
        }
    }

    #[test]
    fn selects() {
        let pod =
            json!({"metadata": {"name": "a", "namespace": "b"}, "spec": {"nodeName": "n,=", "port": 5}});
        for (text, expected) in [
            ("", true),
            (",", true),
            ("=", true),
            ("metadata.name=a", true),
            ("metadata.name==a", true),
            ("metadata.name!=a", false),
            ("metadata.name=b", false),
            (r"spec.nodeName=n\,\=", true),
            ("spec.port=5", true),
            ("spec.none=", true),
            ("spec.hostNetwork=false", true),
            ("metadata.name=a,metadata.namespace=c", false),
        ] {
            assert_eq!(FieldSelector::parse(text).unwrap().matches(&pod), expected, "{text}");
        }
    }

    #[test]
    fn refuses_with_the_words_of_kubernetes() {
        for (text, error) in [
            ("a", "invalid selector: 'a'; can't understand 'a'"),
            ("a=b,c", "invalid selector: 'a=b,c'; can't understand 'c'"),
            ("a=b=c", "invalid field selector: unescaped character in value: 61"),
            (r"a=\b", r"invalid field selector: invalid escape sequence: \b"),
            (r"a=\", r"invalid field selector: invalid escape sequence: \"),
        ] {
            assert_eq!(FieldSelector::parse(text), Err(error.to_owned()), "{text}");
        }
    }

    #[test]
    fn knows_what_it_requires() {
        let selector = FieldSelector::parse("metadata.name=a,spec.x!=b").unwrap();
        assert_eq!(selector.required("metadata.name"), Some("a"));
        assert_eq!(selector.required("spec.x"), None);
        assert_eq!(FieldSelector::for_name("a").to_string(), "metadata.name=a");
    }

    proptest! {
        #[test]
        fn what_is_read_prints_and_reads_back(text in "\\PC*|[a-z.=!,\\\\]{0,20}") {
            if let Ok(selector) = FieldSelector::parse(&text) {
                let again = FieldSelector::parse(&selector.to_string()).unwrap();
                let sorted = |selector: &FieldSelector| {
                    let mut terms: Vec<_> = selector.terms.iter().map(|term| format!("{term:?}")).collect();
                    terms.sort();
                    terms
                };
                prop_assert_eq!(sorted(&again), sorted(&selector));
            }
        }
    }
}
