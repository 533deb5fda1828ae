//! What selectors look at in the text of an object, without reading the rest of it.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::FieldSelector;

/// Reads labels, the fields of a selector, and what shards are selected by.
///
/// Most objects of a type are not selected, and to read them whole takes many times as long. What is left out is null in the
/// excerpt, so a selector says the same of it as of the object.
#[derive(Debug)]
pub struct Excerpt {
    wanted: BTreeMap<String, Wanted>,
}

#[derive(Debug)]
enum Wanted {
    Whole,
    Below(BTreeMap<String, Wanted>),
}

impl Excerpt {
    /// What this selector looks at, besides labels.
    pub fn of(fields: &FieldSelector) -> Self {
        let mut excerpt = Excerpt { wanted: BTreeMap::new() };
        for path in ["metadata.labels", "metadata.namespace", "metadata.uid"] {
            excerpt.add(path);
        }
        fields.paths().for_each(|path| excerpt.add(path));
        excerpt
    }

    fn add(&mut self, path: &str) {
        let mut wanted = &mut self.wanted;
        let mut steps = path.split('.').peekable();
        while let Some(step) = steps.next() {
            if steps.peek().is_none() {
                wanted.insert(step.to_owned(), Wanted::Whole);
                return;
            }
            let below = wanted.entry(step.to_owned()).or_insert_with(|| Wanted::Below(BTreeMap::new()));
            match below {
                // A part of what is wanted whole.
                Wanted::Whole => return,
                Wanted::Below(below) => wanted = below,
            }
        }
    }

    /// The excerpt of an object.
    ///
    /// # Errors
    /// When the text is no JSON.
    pub fn read(&self, text: &[u8]) -> serde_json::Result<Value> {
        let mut deserializer = serde_json::Deserializer::from_slice(text);
        Part(&self.wanted).deserialize(&mut deserializer)
    }
}

/// Reads a part of an object.
struct Part<'a>(&'a BTreeMap<String, Wanted>);

impl<'de> DeserializeSeed<'de> for Part<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Part<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a part of an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut part = Map::new();
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            match self.0.get(&*key) {
                None => drop(map.next_value::<IgnoredAny>()?),
                Some(Wanted::Whole) => drop(part.insert(key.into_owned(), map.next_value()?)),
                Some(Wanted::Below(below)) => {
                    drop(part.insert(key.into_owned(), map.next_value_seed(Part(below))?));
                }
            }
        }
        Ok(Value::Object(part))
    }

    // Where an object is expected and something else stands, no field below it has a value.
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Null)
    }

    fn visit_str<E>(self, _: &str) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_say_the_same_of_an_excerpt() {
        let objects = [
            json!({"metadata": {"name": "a", "labels": {"x": "y"}, "managedFields": [{}]}, "spec": {"vpc": "v", "net": "n"}}),
            json!({"metadata": {"name": "b"}, "spec": {"vpc": "w", "net": {"vpc": "v"}}, "status": {"phase": "Running"}}),
            json!({"metadata": {"labels": null}, "spec": ["vpc"], "status": 3}),
            json!({"metadata": "a", "spec": {"vpc": 7, "unschedulable": true}}),
            json!({}),
            json!([1, {"spec": 2}]),
            json!("text"),
        ];
        for text in [
            "",
            "spec.vpc=v",
            "spec.vpc!=v",
            "spec.vpc=",
            "spec.vpc=7",
            "spec.vpc=v,spec.net=n",
            "spec.net.vpc=v,spec.net!=n",
            "metadata.name=a,status.phase!=Running",
            "spec.unschedulable=true",
            "status.successful=3",
        ] {
            let fields = FieldSelector::parse(text).unwrap();
            let excerpt = Excerpt::of(&fields);
            for object in &objects {
                let read = excerpt.read(object.to_string().as_bytes()).unwrap();
                assert_eq!(fields.matches(&read), fields.matches(object), "{text} of {object}");
                assert_eq!(read["metadata"]["labels"], object["metadata"]["labels"], "{object}");
            }
        }
    }

    #[test]
    fn the_rest_is_left_out() {
        let fields = FieldSelector::parse("spec.vpc=v").unwrap();
        let object = json!({
            "kind": "X", "metadata": {"name": "a", "uid": "u", "labels": {"x": "y"}}, "spec": {"vpc": "v", "b": {}},
        });
        let excerpt = Excerpt::of(&fields).read(object.to_string().as_bytes()).unwrap();
        assert_eq!(excerpt, json!({"metadata": {"uid": "u", "labels": {"x": "y"}}, "spec": {"vpc": "v"}}));
        assert!(Excerpt::of(&fields).read(b"{").is_err());
    }
}
