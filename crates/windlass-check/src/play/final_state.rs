//! All objects of a world, in a form in which one world can be compared with another.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use windlass::recording::difference;
use windlass_model::{Cluster, Key, Store, object};

use crate::oracle::settled_objects;
use crate::show;

/// How the names of definitions begin: they only say what is served.
const DEFINITIONS: &str = "customresourcedefinitions ";

/// All objects, by kind and name, without what says only how often, when and by whom they were written: versions, uids,
/// times, managed fields.
///
/// Left out are definitions, and what every cluster has from the start. A name that the API server has made up is
/// replaced by its prefix and a number, and a uid that stands in a text by a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalState {
    objects: BTreeMap<String, Value>,
}

impl FinalState {
    /// The final state that these objects are, as a client reads them.
    pub fn of(objects: impl IntoIterator<Item = (Key, Value)>) -> Self {
        let shared = objects.into_iter().map(|(key, value)| (key, Arc::new(value)));
        FinalState::of_settled(settled_objects(shared, &[]))
    }

    /// All objects of a cluster.
    pub(super) fn of_cluster(cluster: &Cluster) -> Self {
        FinalState::of_settled(settled_objects(cluster.store().all(), &[]))
    }

    /// Objects from which everything that is left out of final states is gone already.
    pub(super) fn of_settled(mut objects: BTreeMap<String, Value>) -> Self {
        let base = Cluster::new();
        let base: BTreeSet<String> = base.store().all().map(|(key, _)| show::object_name(&key)).collect();
        objects.retain(|name, _| !name.starts_with(DEFINITIONS) && !base.contains(name));
        FinalState { objects: without_uids(with_plain_names(objects)) }
    }

    /// What another final state has instead, as a diff; empty if they are equal.
    pub fn difference(&self, other: &FinalState) -> String {
        let all = |end: &FinalState| Value::Object(end.objects.clone().into_iter().collect());
        if self == other { String::new() } else { difference(&all(self), &all(other)) }
    }
}

/// The objects, one per line.
impl fmt::Display for FinalState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> =
            self.objects.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        f.write_str(&lines.join("\n"))
    }
}

/// Replaces generated names, wherever they occur. Of several with one prefix, those that others mention most come first.
fn with_plain_names(mut objects: BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    let mentions = |name: &str| objects.values().map(|found| mentions(found, name)).sum::<usize>();
    let mut generated: Vec<(String, String, usize)> = objects
        .values()
        .filter_map(|found| {
            let (prefix, name) = (object::meta_str(found, "generateName"), object::name(found));
            let is_generated = !prefix.is_empty() && name.starts_with(prefix);
            is_generated.then(|| (prefix.to_owned(), name.to_owned(), mentions(name)))
        })
        .collect();
    generated.sort_by(|one, other| (&one.0, other.2, &one.1).cmp(&(&other.0, one.2, &other.1)));
    let mut number = 0;
    for (index, (prefix, name, _)) in generated.iter().enumerate() {
        number = if index > 0 && generated[index - 1].0 == *prefix { number + 1 } else { 1 };
        let plain = format!("{prefix}*{number}");
        let renamed = objects.into_iter().map(|(full, mut found)| {
            let is_named_so = object::name(&found) == name;
            rename(&mut found, name, &plain);
            let full = if is_named_so { full.replace(name.as_str(), &plain) } else { full };
            (full, found)
        });
        objects = renamed.collect();
    }
    objects
}

/// How often a text occurs.
fn mentions(value: &Value, wanted: &str) -> usize {
    match value {
        Value::String(text) => usize::from(text == wanted),
        Value::Object(fields) => fields.values().map(|field| mentions(field, wanted)).sum(),
        Value::Array(items) => items.iter().map(|item| mentions(item, wanted)).sum(),
        _ => 0,
    }
}

fn rename(value: &mut Value, from: &str, to: &str) {
    for_each_text(value, &mut |text| {
        if text == from {
            to.clone_into(text);
        }
    });
}

/// Replaces uids in texts, also in names. Objects that then have the same name are numbered.
fn without_uids(objects: BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    let mut plain = BTreeMap::new();
    for (name, mut found) in objects {
        for_each_text(&mut found, &mut |text| *text = without_uid(text));
        let name = without_uid(&name);
        let taken = (2..).map(|number| format!("{name} ({number})"));
        let free = std::iter::once(name.clone()).chain(taken).find(|name| !plain.contains_key(name));
        plain.insert(free.unwrap_or(name), found);
    }
    plain
}

/// `mq-UID` for `mq-` and a uid.
fn without_uid(text: &str) -> String {
    const LENGTH: usize = 36;
    let is_uid = |part: &[u8]| {
        let is_dash = |index: usize| [8, 13, 18, 23].contains(&index);
        part.iter().enumerate().all(|(index, byte)| match is_dash(index) {
            true => *byte == b'-',
            false => byte.is_ascii_hexdigit(),
        })
    };
    match text.as_bytes().windows(LENGTH).position(is_uid) {
        Some(start) => {
            format!("{}UID{}", &text[..start], without_uid(&text[start + LENGTH..]))
        }
        None => text.to_owned(),
    }
}

fn for_each_text(value: &mut Value, change: &mut impl FnMut(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Object(fields) => fields.values_mut().for_each(|field| for_each_text(field, change)),
        Value::Array(items) => items.iter_mut().for_each(|item| for_each_text(item, change)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(name: &str, value: Value) -> (Key, Value) {
        (Key::new("", "configmaps", "default", name), value)
    }

    #[test]
    fn ends_are_equal_whatever_the_versions_times_and_made_up_names() {
        let end = |version: &str, made_up: &str| {
            FinalState::of([
                map(
                    "a",
                    json!({"metadata": {"name": "a", "resourceVersion": version, "uid": version}, "data": {"child": made_up}}),
                ),
                map(
                    made_up,
                    json!({"metadata": {"name": made_up, "generateName": "c-", "creationTimestamp": version}}),
                ),
                map(
                    "c-zz",
                    json!({"metadata": {"name": "c-zz", "generateName": "c-"}, "data": {"other": "1"}}),
                ),
            ])
        };
        assert_eq!(end("1", "c-aa"), end("2", "c-zzz"));
        assert!(end("1", "c-aa").to_string().contains(r#"configmaps default/c-*2: {"data":{"other":"1"}"#));
    }

    #[test]
    fn uids_in_names_and_texts_make_no_difference() {
        let end = |uid: &str| {
            let name = format!("mq-{uid}");
            let child = json!({"metadata": {"name": name}});
            FinalState::of([
                map("a", json!({"metadata": {"name": "a"}, "data": {"child": name}})),
                map(&name, child),
            ])
        };
        let [one, other] = ["6bd10fab-169b-4570-acfd-6e326f157e51", "b971499d-2b0c-4542-9788-1b5aed4b1d80"];
        assert_eq!(end(one), end(other));
        assert!(end(one).to_string().contains("configmaps default/mq-UID: "), "{}", end(one));
        assert_eq!(without_uid("6bd10fab-169b-4570-acfd-6e326f157e5"), "6bd10fab-169b-4570-acfd-6e326f157e5");
    }

    #[test]
    fn ends_differ_by_what_is_in_the_objects() {
        let end = |value: &str| {
            FinalState::of([map("a", json!({"metadata": {"name": "a"}, "data": {"value": value}}))])
        };
        assert_ne!(end("1"), end("2"));
        assert!(
            end("1").difference(&end("2")).contains("+     value: \"2\""),
            "{}",
            end("1").difference(&end("2"))
        );
        assert_eq!(end("1").difference(&end("1")), "");
    }

    #[test]
    fn it_matters_that_an_object_is_being_deleted_and_not_since_when() {
        let end = |since: Value| {
            FinalState::of([map("a", json!({"metadata": {"name": "a", "deletionTimestamp": since}}))])
        };
        assert_eq!(end(json!("2026-01-01T00:00:00Z")), end(json!("2026-11-18T11:04:10Z")));
        assert_ne!(end(json!("2026-01-01T00:00:00Z")), end(Value::Null));
    }

    #[test]
    fn what_every_cluster_has_is_left_out() {
        assert_eq!(FinalState::of_cluster(&Cluster::new()), FinalState::of([]));
    }
}
