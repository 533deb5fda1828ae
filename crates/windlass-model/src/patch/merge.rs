//! Merge patch (RFC 7386), as Kubernetes does it.

use serde_json::{Map, Value};

/// The document that a merge patch makes of `target`: fields are set, nulls remove, lists are replaced.
///
/// In what is new, nulls are left out even inside lists; RFC 7386 would keep those.
pub fn apply_merge_patch(target: &Value, patch: &Value) -> Value {
    match (target, patch) {
        (Value::Object(target), Value::Object(patch)) => Value::Object(merge_maps(target, patch)),
        (Value::Object(_), other) => other.clone(),
        (_, new) => without_nulls(new),
    }
}

/// The merge patch that makes `to`, which has no nulls, of `from`.
pub fn merge_patch_between(from: &Value, to: &Value) -> Value {
    let (Value::Object(old), Value::Object(new)) = (from, to) else { return to.clone() };
    let gone = old.keys().filter(|name| !new.contains_key(*name)).map(|name| (name.clone(), Value::Null));
    let changed = new.iter().filter(|(name, value)| old.get(*name) != Some(value)).map(|(name, value)| {
        (name.clone(), old.get(name).map_or_else(|| value.clone(), |old| merge_patch_between(old, value)))
    });
    Value::Object(gone.chain(changed).collect())
}

fn merge_maps(target: &Map<String, Value>, patch: &Map<String, Value>) -> Map<String, Value> {
    let mut merged = Map::new();
    for (name, value) in target {
        match patch.get(name) {
            None => merged.insert(name.clone(), value.clone()),
            Some(Value::Null) => None,
            Some(change) => merged.insert(name.clone(), apply_merge_patch(value, change)),
        };
    }
    for (name, new) in patch {
        if !new.is_null() && !target.contains_key(name) {
            merged.insert(name.clone(), without_nulls(new));
        }
    }
    merged
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(name, value)| (name.clone(), without_nulls(value))).collect())
        }
        Value::Array(list) => Value::Array(list.iter().map(without_nulls).collect()),
        scalar => scalar.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn merges() {
        for (target, patch, expected) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
            (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
            (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
            (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
            (json!({"e": null}), json!({"e": {"a": null}}), json!({"e": {}})),
            (json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"})),
            (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
            (json!({}), json!({"a": [{"b": null}, null]}), json!({"a": [{}, null]})),
            (json!({"a": {}}), json!({"a": [{"b": null}]}), json!({"a": [{"b": null}]})),
        ] {
            assert_eq!(apply_merge_patch(&target, &patch), expected, "{target} {patch}");
        }
    }
}
