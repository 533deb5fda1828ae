//! What the cache needs to know of an object, read from its text without reading the rest.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use windlass::ObjectRef;

use super::IndexedValues;

/// What the cache needs to know of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) key: ObjectRef,
    pub(crate) uid: Box<str>,
    /// `metadata.resourceVersion` as a number: Kubernetes lets clients compare those of one resource.
    pub(crate) version: u64,
    /// The values of the labels that are indexed.
    pub(crate) labels: IndexedValues,
    /// Whether the text says its kind: items of a list may not.
    pub(crate) says_kind: bool,
    /// Whether this is the last that will be seen of it, if it is the answer to a write: it is being deleted, and
    /// nothing holds it any more.
    pub(crate) is_last: bool,
}

#[derive(Deserialize)]
struct Object<'a> {
    #[serde(borrow, default)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    metadata: Metadata<'a>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    namespace: Cow<'a, str>,
    #[serde(borrow, default)]
    uid: Cow<'a, str>,
    #[serde(borrow, default)]
    resource_version: Cow<'a, str>,
    #[serde(borrow, default)]
    labels: Option<Labels<'a>>,
    #[serde(borrow, default)]
    deletion_timestamp: Option<Cow<'a, str>>,
    #[serde(default)]
    deletion_grace_period_seconds: Option<i64>,
    #[serde(borrow, default)]
    finalizers: Option<Vec<Cow<'a, str>>>,
}

#[derive(Default)]
struct Labels<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'de: 'a, 'a> Deserialize<'de> for Labels<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(LabelsVisitor)
    }
}

struct LabelsVisitor;

impl<'de> serde::de::Visitor<'de> for LabelsVisitor {
    type Value = Labels<'de>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("labels")
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut labels = Labels::default();
        while let Some((Text(key), value)) = map.next_entry::<Text<'de>, Option<Text<'de>>>()? {
            labels.0.extend(value.map(|Text(value)| (key, value)));
        }
        Ok(labels)
    }
}

impl Labels<'_> {
    /// Those of some labels that are there, by their number.
    fn of(self, indexed: &[Box<str>]) -> IndexedValues {
        let numbered = |(key, value): (Cow<'_, str>, Cow<'_, str>)| {
            let number = indexed.iter().position(|label| **label == *key)?;
            Some((number, Box::from(value)))
        };
        self.0.into_iter().filter_map(numbered).collect()
    }
}

/// A text that is borrowed where it can be.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl Head {
    /// Reads the head of an object, with the values of some labels.
    ///
    /// # Errors
    /// When the text is no object with a name and a numeric version.
    pub(crate) fn read(text: &str, indexed: &[Box<str>]) -> Result<Self, String> {
        Head::new(serde_json::from_str(text), indexed)
    }

    /// The head of an object that was read as a whole already.
    ///
    /// # Errors
    /// When it is no object with a name and a numeric version.
    pub(crate) fn of(object: &Value, indexed: &[Box<str>]) -> Result<Self, String> {
        Head::new(Object::deserialize(object), indexed)
    }

    fn new(object: serde_json::Result<Object<'_>>, indexed: &[Box<str>]) -> Result<Self, String> {
        let Object { kind, metadata } = object.map_err(|error| error.to_string())?;
        if metadata.name.is_empty() {
            return Err("an object has no name".to_owned());
        }
        let version = metadata.resource_version.parse().map_err(|_| {
            format!(
                "the resource version {:?} of {:?} is no number",
                metadata.resource_version, metadata.name
            )
        })?;
        let held = metadata.finalizers.is_some_and(|finalizers| !finalizers.is_empty())
            || metadata.deletion_grace_period_seconds.is_some_and(|seconds| seconds > 0);
        Ok(Head {
            key: ObjectRef::new(&metadata.namespace, &metadata.name),
            uid: metadata.uid.into(),
            version,
            labels: metadata.labels.unwrap_or_default().of(indexed),
            says_kind: kind.is_some(),
            is_last: metadata.deletion_timestamp.is_some() && !held,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_what_the_cache_needs() {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"metadata": "x\n"},
            "metadata": {
                "name": "a", "namespace": "ns", "uid": "u", "resourceVersion": "12",
                "labels": {"x": "1", "a/b": "ns.p", "y": "\"2\""},
            },
        });
        let indexed = ["none".into(), "y".into(), "a/b".into()];
        let head = Head::read(&object.to_string(), &indexed).expect("a head");
        assert_eq!(
            head,
            Head {
                key: ObjectRef::new("ns", "a"),
                uid: "u".into(),
                version: 12,
                labels: [(2, "ns.p".into()), (1, "\"2\"".into())].into(),
                says_kind: true,
                is_last: false,
            }
        );
    }

    #[test]
    fn knows_the_last_answer_about_an_object() {
        let is_last = |metadata: serde_json::Value| {
            let mut object = json!({"metadata": {"name": "a", "resourceVersion": "1"}});
            object["metadata"]
                .as_object_mut()
                .expect("a map")
                .extend(metadata.as_object().cloned().expect("a map"));
            Head::read(&object.to_string(), &[]).expect("a head").is_last
        };
        assert!(!is_last(json!({})));
        assert!(is_last(json!({"deletionTimestamp": "t"})));
        assert!(is_last(
            json!({"deletionTimestamp": "t", "deletionGracePeriodSeconds": 0, "finalizers": []})
        ));
        assert!(!is_last(json!({"deletionTimestamp": "t", "deletionGracePeriodSeconds": 30})));
        assert!(!is_last(json!({"deletionTimestamp": "t", "finalizers": ["x"]})));
    }

    #[test]
    fn refuses_what_is_no_object() {
        for text in [
            "",
            "[]",
            "{}",
            r#"{"metadata":{"name":"a"}}"#,
            r#"{"metadata":{"name":"a","resourceVersion":"x"}}"#,
        ] {
            assert!(Head::read(text, &[]).is_err(), "{text}");
        }
    }
}
