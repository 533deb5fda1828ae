//! Properties of patches, held against implementations that were written another way.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::apply_json_patch;
use super::merge::{apply_merge_patch, merge_patch_between};

/// A small document; few enough names that patches hit something.
fn document() -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[a-c]", value(), 0..4).prop_map(|map| json!(map))
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(json!(1)), Just(json!("x")), Just(json!(true)), Just(json!(null))];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c]", inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

fn pointer() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[a-c]|[0-2]|-", 1..4)
}

fn operation() -> impl Strategy<Value = (String, Vec<String>, Vec<String>, Value)> {
    let op =
        prop_oneof![Just("add"), Just("remove"), Just("replace"), Just("move"), Just("copy"), Just("test"),];
    (op.prop_map(str::to_owned), pointer(), pointer(), value())
}

fn joined(path: &[String]) -> String {
    path.iter().map(|part| format!("/{part}")).collect()
}

/// Applies an operation to a document by rebuilding it around the value that changes.
fn expected(
    document: &Value,
    (op, path, from, value): &(String, Vec<String>, Vec<String>, Value),
) -> Option<Value> {
    match op.as_str() {
        "add" => rebuilt(document, path, &|_| Some(Edit::Insert(value.clone()))),
        "remove" => rebuilt(document, path, &|old| old.map(|_| Edit::Remove)),
        "replace" => rebuilt(document, path, &|_| Some(Edit::Set(value.clone()))),
        "move" => {
            let moved = found(document, from)??;
            let without = rebuilt(document, from, &|old| old.map(|_| Edit::Remove))?;
            rebuilt(&without, path, &|_| Some(Edit::Insert(moved.clone())))
        }
        "copy" => {
            let copied = found(document, from)?.unwrap_or(Value::Null);
            rebuilt(document, path, &|_| Some(Edit::Insert(copied.clone())))
        }
        _ => (found(document, path)?.unwrap_or(Value::Null) == *value).then(|| document.clone()),
    }
}

enum Edit {
    Insert(Value),
    Set(Value),
    Remove,
}

/// What stands at a path: outer `None` if nothing can, inner `None` if an object lacks the field.
fn found(document: &Value, path: &[String]) -> Option<Option<Value>> {
    let (first, rest) = path.split_first()?;
    let child = match document {
        Value::Object(map) => map.get(first).cloned(),
        Value::Array(list) => Some(list.get(first.parse::<usize>().ok()?)?.clone()),
        _ => return None,
    };
    if rest.is_empty() { Some(child) } else { found(&child?, rest) }
}

fn rebuilt(
    document: &Value,
    path: &[String],
    edit: &dyn Fn(Option<&Value>) -> Option<Edit>,
) -> Option<Value> {
    let (first, rest) = path.split_first()?;
    match document {
        Value::Object(map) => {
            let mut fields: Vec<(String, Value)> =
                map.iter().filter(|(name, _)| *name != first).map(|(n, v)| (n.clone(), v.clone())).collect();
            if rest.is_empty() {
                match edit(map.get(first))? {
                    Edit::Insert(value) | Edit::Set(value) => fields.push((first.clone(), value)),
                    Edit::Remove => {}
                }
            } else {
                fields.push((first.clone(), rebuilt(map.get(first)?, rest, edit)?));
            }
            Some(Value::Object(fields.into_iter().collect::<Map<_, _>>()))
        }
        Value::Array(list) => {
            let is_end = first == "-" && rest.is_empty();
            let index = if is_end { list.len() } else { first.parse::<usize>().ok()? };
            let (before, after) = (list.get(..index)?, list.get(index..)?);
            if !rest.is_empty() {
                let (old, after) = after.split_first()?;
                return Some([before, &[rebuilt(old, rest, edit)?], after].concat().into());
            }
            match (edit(after.first())?, after.split_first()) {
                (Edit::Insert(value), _) => Some([before, &[value], after].concat().into()),
                (Edit::Set(value), Some((_, after))) if !is_end => {
                    Some([before, &[value], after].concat().into())
                }
                (Edit::Remove, Some((_, after))) if !is_end => Some([before, after].concat().into()),
                _ => None,
            }
        }
        _ => None,
    }
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.iter().any(has_null),
        Value::Object(map) => map.values().any(has_null),
        _ => false,
    }
}

fn has_null_in_list(value: &Value) -> bool {
    match value {
        Value::Array(_) => has_null(value),
        Value::Object(map) => map.values().any(has_null_in_list),
        _ => false,
    }
}

proptest! {
    #[test]
    fn json_patch_does_what_rebuilding_does(
        document in document(),
        operations in prop::collection::vec(operation(), 1..6),
    ) {
        let oracle = operations.iter().try_fold(document.clone(), |document, operation| expected(&document, operation));
        let patch: Vec<Value> = operations
            .iter()
            .map(|(op, path, from, value)| json!({"op": op, "path": joined(path), "from": joined(from), "value": value}))
            .collect();
        let result = apply_json_patch(&document, &patch.into());
        match oracle {
            Some(document) => prop_assert_eq!(result, Ok(document)),
            None => prop_assert_eq!(result.map_err(|status| status.code), Err(422)),
        }
    }

    #[test]
    fn merge_patch_twice_is_merge_patch_once(target in document(), patch in document()) {
        let once = apply_merge_patch(&target, &patch);
        // Nulls inside a list are kept the first time and may be left out the second time.
        prop_assume!(!has_null_in_list(&patch));
        prop_assert_eq!(apply_merge_patch(&once, &patch), once);
    }

    #[test]
    fn an_empty_merge_patch_changes_nothing(target in document()) {
        prop_assert_eq!(apply_merge_patch(&target, &json!({})), target);
    }

    #[test]
    fn merge_patch_reaches_any_document(from in document(), to in document()) {
        prop_assume!(!has_null(&from) && !has_null(&to));
        prop_assert_eq!(apply_merge_patch(&from, &merge_patch_between(&from, &to)), to);
    }
}
