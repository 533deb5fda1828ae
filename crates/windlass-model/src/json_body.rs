//! JSON bodies: numbers as Kubernetes keeps them, and every field that stands twice noticed.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::schema::{Schema, Shape};

/// Maximum number of duplicates that are reported, as in Kubernetes.
const DUPLICATES_MAX: usize = 100;
/// Paths of duplicates have together not many more bytes than this, however long keys are.
const DUPLICATE_BYTES_MAX: usize = 64 * 1024;

/// A body and the paths of the fields that stand in it more than once.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Document {
    pub(crate) value: Value,
    pub(crate) duplicates: Vec<String>,
}

/// Reads JSON of at most 128 levels. Bytes that are not UTF-8 become the replacement character. Of a field that stands
/// twice, the last one counts.
pub(crate) fn read(bytes: &[u8]) -> Result<Document, serde_json::Error> {
    read_with(bytes, None)
}

/// The same for an object that Go decodes into a type: of a field of the type that stands twice, the second is decoded
/// into what the first one left.
pub(crate) fn read_as(bytes: &[u8], schema: Option<&Schema>) -> Result<Document, serde_json::Error> {
    let document = read(bytes)?;
    // Hardly any body has a field twice, so only those that do are read with an eye on their type.
    if document.duplicates.is_empty() || schema.is_none() { Ok(document) } else { read_with(bytes, schema) }
}

fn read_with(bytes: &[u8], schema: Option<&Schema>) -> Result<Document, serde_json::Error> {
    let text = String::from_utf8_lossy(bytes);
    let mut deserializer = serde_json::Deserializer::from_str(&text);
    let mut reader = Reader::default();
    let value = Node { reader: &mut reader, schema }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(Document { value, duplicates: reader.duplicates })
}

/// A number as Kubernetes keeps it; `None` for what is none.
pub(crate) fn number_value(number: f64) -> Option<Value> {
    const INTEGERS_END: f64 = 9_223_372_036_854_775_808.0;
    // Kubernetes writes a whole number without a fraction, and so reads it back as an integer.
    if number.fract() == 0.0 && number.abs() < INTEGERS_END {
        return Some((number as i64).into());
    }
    Number::from_f64(number).map(Value::Number)
}

/// Where the reading is, and what it found.
#[derive(Default)]
struct Reader {
    path: Vec<Step>,
    duplicates: Vec<String>,
    duplicate_bytes: usize,
    seen: BTreeSet<String>,
}

enum Step {
    Key(String),
    Index(usize),
}

impl Reader {
    fn note_duplicate(&mut self, key: &str) {
        if self.duplicates.len() >= DUPLICATES_MAX || self.duplicate_bytes > DUPLICATE_BYTES_MAX {
            return;
        }
        let mut path = String::new();
        for step in &self.path {
            match step {
                Step::Index(index) => path.push_str(&format!("[{index}]")),
                Step::Key(key) if path.is_empty() => path.push_str(key),
                Step::Key(key) => path.extend([".", key]),
            }
        }
        if self.path.is_empty() {
            path.push_str(key);
        } else {
            path.extend([".", key]);
        }
        if self.seen.insert(path.clone()) {
            self.duplicate_bytes += path.len();
            self.duplicates.push(path);
        }
    }
}

/// One JSON value that is to be read.
struct Node<'a> {
    reader: &'a mut Reader,
    /// The type of it, where that matters.
    schema: Option<&'a Schema>,
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(flag.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Value, E> {
        match i64::try_from(number) {
            Ok(number) => Ok(number.into()),
            // Kubernetes knows no integers beyond 64 bits with a sign.
            Err(_) => self.visit_f64(number as f64),
        }
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Value, E> {
        number_value(number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let (reader, schema) = (self.reader, self.schema.and_then(Schema::items));
        let mut list = Vec::new();
        loop {
            reader.path.push(Step::Index(list.len()));
            let item = items.next_element_seed(Node { reader, schema })?;
            reader.path.pop();
            match item {
                Some(item) => list.push(item),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let reader = self.reader;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let known = map.remove(&key);
            if known.is_some() {
                reader.note_duplicate(&key);
            }
            let schema = self.schema.and_then(|schema| schema.child(&key));
            let is_field = self.schema.is_some_and(|schema| matches!(schema.shape, Shape::Object { .. }));
            reader.path.push(Step::Key(key));
            let value = entries.next_value_seed(Node { reader, schema })?;
            let value = match (known.filter(|_| is_field), schema) {
                (Some(known), Some(schema)) => decoded_over(schema, known, value),
                _ => value,
            };
            match reader.path.pop() {
                Some(Step::Key(key)) => map.insert(key, value),
                _ => return Err(A::Error::custom("the path of the reader is out of step")),
            };
        }
        Ok(Value::Object(map))
    }
}

/// The result of decoding a value into a Go variable that already has one.
///
/// Fields and entries that the second does not name stay; the values of a map are replaced as a whole.
fn decoded_over(schema: &Schema, known: Value, value: Value) -> Value {
    match (known, value) {
        (Value::Object(mut known), Value::Object(fields)) => {
            let is_struct = matches!(schema.shape, Shape::Object { .. });
            for (name, value) in fields {
                let value = match (known.remove(&name), schema.child(&name)) {
                    (Some(before), Some(field)) if is_struct => decoded_over(field, before, value),
                    _ => value,
                };
                known.insert(name, value);
            }
            Value::Object(known)
        }
        (_, value) => value,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn notices_what_stands_twice() {
        for (text, value, duplicates) in [
            (r#"{"a":1,"b":{"a":1}}"#, json!({"a": 1, "b": {"a": 1}}), vec![]),
            (r#"{"a":1,"a":2}"#, json!({"a": 2}), vec!["a"]),
            (r#"{"a":1,"a":2,"a":3}"#, json!({"a": 3}), vec!["a"]),
            (
                r#"{"s":{"x":1,"x":2,"y":[{"z":1,"z":2}]}}"#,
                json!({"s": {"x": 2, "y": [{"z": 2}]}}),
                vec!["s.x", "s.y[0].z"],
            ),
            (r#"[{"op":1,"op":2}]"#, json!([{"op": 2}]), vec!["[0].op"]),
            (r#"[[],[[{"a":1,"a":2}]]]"#, json!([[], [[{"a": 2}]]]), vec!["[1][0][0].a"]),
        ] {
            let document = read(text.as_bytes()).unwrap();
            assert_eq!(document.value, value, "{text}");
            assert_eq!(document.duplicates, duplicates, "{text}");
        }
    }

    #[test]
    fn a_field_that_stands_twice_is_decoded_twice() {
        let schema = crate::schema::builtin::schema("core.v1.Pod").expect("pods are built in");
        for (text, value) in [
            (
                r#"{"metadata":{"labels":{"a":"1"}},"metadata":{"labels":{"b":"2"}}}"#,
                json!({"metadata": {"labels": {"a": "1", "b": "2"}}}),
            ),
            (r#"{"metadata":{"name":"a"},"metadata":null}"#, json!({"metadata": null})),
            (
                r#"{"metadata":{"labels":{"a":{"x":1},"a":{"y":2}}}}"#,
                json!({"metadata": {"labels": {"a": {"y": 2}}}}),
            ),
            (r#"{"spec":{"containers":[{}]},"spec":{"containers":[]}}"#, json!({"spec": {"containers": []}})),
        ] {
            assert_eq!(read_as(text.as_bytes(), Some(&schema)).unwrap().value, value, "{text}");
        }
        assert_eq!(read(br#"{"a":{"x":1},"a":{"y":2}}"#).unwrap().value, json!({"a": {"y": 2}}));
    }

    #[test]
    fn reports_only_so_many() {
        let keys: Vec<String> = (0..500).map(|index| format!("\"k{index}\":1,\"k{index}\":2")).collect();
        assert_eq!(read(format!("{{{}}}", keys.join(",")).as_bytes()).unwrap().duplicates.len(), 100);
        let long = "x".repeat(100_000);
        let inner = r#"{"a":1,"a":2,"b":1,"b":2}"#;
        assert_eq!(read(format!("{{\"{long}\":{inner}}}").as_bytes()).unwrap().duplicates.len(), 1);
    }

    #[test]
    fn keeps_numbers_as_kubernetes_does() {
        for (text, shown) in [
            ("1", "1"),
            ("-0", "0"),
            ("1.0", "1"),
            ("1e3", "1000"),
            ("1.5", "1.5"),
            ("9223372036854775807", "9223372036854775807"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("9223372036854775808", "9.223372036854775808e18"),
            ("1e300", "1e300"),
        ] {
            let value = read(text.as_bytes()).unwrap().value;
            let expected: Value = serde_json::from_str(shown).unwrap();
            assert_eq!(value.as_f64(), expected.as_f64(), "{text}");
            assert_eq!(value.is_i64(), expected.is_i64(), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_not_json() {
        let deep = "[".repeat(200);
        for text in ["", " ", "{", "{\"a\"}", "{}x", "nul", "1e400", "\"\\ud800\"", "'a'", deep.as_str()] {
            assert!(read(text.as_bytes()).is_err(), "{text}");
        }
        let error = read(b"{\"a\": x}").unwrap_err().to_string();
        assert_eq!(error, "expected value at line 1 column 7");
        assert_eq!(read(b"\"a\xffb\"").unwrap().value, json!("a\u{fffd}b"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = read(&bytes);
        }

        #[test]
        fn reads_what_serde_reads(text in "[\\[\\]{}\",:a0-9. ]{0,24}") {
            let theirs: Result<Value, _> = serde_json::from_str(&text);
            prop_assert_eq!(read(text.as_bytes()).is_ok(), theirs.is_ok());
        }
    }
}
