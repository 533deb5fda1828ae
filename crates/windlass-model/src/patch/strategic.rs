//! Strategic merge patch: a merge patch that knows which lists are merged, and takes directives.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::strategic_list::{delete_and_merge, put_in_order};
use crate::field::quoted;
use crate::go_format::{go_type, plain};
use crate::schema::{Schema, Shape, Strategic};
use crate::status::Status;
use crate::unmarshal;

pub(super) const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ELEMENT_ORDER: &str = "$setElementOrder";
const DELETE_FROM_PRIMITIVE_LIST: &str = "$deleteFromPrimitiveList";

/// The object that a strategic merge patch makes of `target`. Only for built-in types.
///
/// Patches of a wrong format are a 400, lists of lists a 422; what else goes wrong, such as a list item
/// without its merge key, is a 500 in Kubernetes and so here. Directives in parts that are new to the
/// object may stay in the result, as unknown fields; pruning removes them.
pub(crate) fn apply_strategic_patch(schema: &Schema, target: &Value, patch: &Value) -> Result<Value, Status> {
    let patch = match patch {
        Value::Object(patch) => patch.clone(),
        Value::Null => Map::new(),
        other => {
            return Err(Status::bad_request(unmarshal::into_value(other, "map[string]interface {}")));
        }
    };
    let original = target.as_object().cloned().unwrap_or_default();
    merge_maps(schema, original, patch).map(Value::Object)
}

/// Merges a patch into a map of the object.
pub(super) fn merge_maps(
    schema: &Schema,
    mut original: Map<String, Value>,
    mut patch: Map<String, Value>,
) -> Result<Map<String, Value>, Status> {
    if let Some(directive) = patch.remove(PATCH) {
        return match directive.as_str() {
            Some("replace") => Ok(patch),
            Some("delete") => Ok(Map::new()),
            _ => Err(unknown_directive(&directive, patch)),
        };
    }
    retain_keys(&mut original, &mut patch)?;
    set_element_orders(schema, &mut original, &mut patch)?;
    for (name, change) in patch {
        match under(&name, DELETE_FROM_PRIMITIVE_LIST) {
            Some(list) => {
                let list =
                    list.ok_or_else(|| Status::bad_request("invalid patch format of primitive list"))?;
                delete_from_list(schema, &mut original, list, change)?;
            }
            None => merge_field(schema, &mut original, name, change)?,
        }
    }
    Ok(original)
}

pub(super) fn unknown_directive(directive: &Value, mut patch: Map<String, Value>) -> Status {
    patch.insert(PATCH.to_owned(), directive.clone());
    let (directive, patch) = (plain(directive), plain(&Value::Object(patch)));
    Status::unclassified(format!("unknown patch type: {directive} in map: {patch}"))
}

/// What a directive is about: `x` of `$directive/x`. `None` if the name is not of this directive.
fn under<'a>(name: &'a str, directive: &str) -> Option<Option<&'a str>> {
    let rest = name.strip_prefix(directive)?;
    Some(rest.strip_prefix('/'))
}

fn merge_field(
    schema: &Schema,
    original: &mut Map<String, Value>,
    name: String,
    change: Value,
) -> Result<(), Status> {
    let merged = match (original.remove(&name), change) {
        (_, Value::Null) => None,
        (Some(Value::Object(old)), Value::Object(new)) => {
            let (field, _) = field_of(schema, &name)?;
            Some(Value::Object(merge_maps(field, old, new)?))
        }
        (Some(Value::Array(old)), Value::Array(new)) => {
            let (items, strategic) = list_of(schema, &name)?;
            let merged = if strategic.merge {
                delete_and_merge(items, strategic.key.as_deref(), old, new)?
            } else {
                new
            };
            Some(Value::Array(merged))
        }
        (_, new) => without_directives(without_nulls(new)),
    };
    original.extend(merged.map(|value| (name, value)));
    Ok(())
}

fn delete_from_list(
    schema: &Schema,
    original: &mut Map<String, Value>,
    name: &str,
    items: Value,
) -> Result<(), Status> {
    match (original.get_mut(name), items) {
        (Some(_), Value::Null) => {
            original.remove(name);
        }
        (Some(Value::Array(list)), Value::Array(deleted)) => {
            list_of(schema, name)?;
            if let Some(nested) = list.iter().chain(&deleted).find(|item| item.is_object()) {
                return Err(unexpected("primitive", nested));
            }
            list.retain({
                let deleted: BTreeSet<String> = deleted.iter().map(ToString::to_string).collect();
                move |item| !deleted.contains(&item.to_string())
            });
        }
        _ => {}
    }
    Ok(())
}

/// `$retainKeys`: clears what the list does not name. The patch may set only what it names.
fn retain_keys(original: &mut Map<String, Value>, patch: &mut Map<String, Value>) -> Result<(), Status> {
    let Some(retained) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let invalid_format = || Status::bad_request("invalid patch format of retainKeys");
    let Value::Array(retained) = retained else { return Err(invalid_format()) };
    let retained: BTreeSet<&str> = retained.iter().filter_map(Value::as_str).collect();
    let must_be_named = |name: &str, value: &Value| {
        !value.is_null()
            && !name.starts_with(DELETE_FROM_PRIMITIVE_LIST)
            && !name.starts_with(SET_ELEMENT_ORDER)
    };
    if patch.iter().any(|(name, value)| must_be_named(name, value) && !retained.contains(name.as_str())) {
        return Err(invalid_format());
    }
    original.retain(|name, _| retained.contains(name.as_str()));
    Ok(())
}

/// `$setElementOrder/x`: merges the list `x` and puts its items in this order.
fn set_element_orders(
    schema: &Schema,
    original: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
) -> Result<(), Status> {
    let directives: Vec<String> =
        patch.keys().filter(|name| under(name, SET_ELEMENT_ORDER).is_some()).cloned().collect();
    for directive in directives {
        let order = as_list(patch.remove(&directive))?.unwrap_or_default();
        let name = under(&directive, SET_ELEMENT_ORDER)
            .flatten()
            .ok_or_else(|| Status::bad_request("invalid patch format of setElementOrder list"))?;
        let (old, new) = (as_list(original.get(name).cloned())?, as_list(patch.get(name).cloned())?);
        let (items, strategic) = list_of(schema, name)?;
        if let Some(list) = put_in_order(items, strategic, old, new, &order)? {
            original.insert(name.to_owned(), Value::Array(list));
            patch.remove(name);
        }
    }
    Ok(())
}

fn as_list(value: Option<Value>) -> Result<Option<Vec<Value>>, Status> {
    match value {
        None => Ok(None),
        Some(Value::Array(list)) => Ok(Some(list)),
        Some(other) => Err(unexpected("[]interface {}", &other)),
    }
}

pub(super) fn unexpected(expected: &str, found: &Value) -> Status {
    Status::unclassified(format!("expected a {expected}, but received a {}", go_type(found)))
}

fn field_of<'a>(schema: &'a Schema, name: &str) -> Result<(&'a Schema, &'a Strategic), Status> {
    match &schema.shape {
        Shape::Object { fields, .. } => match fields.get(name) {
            Some(field) => Ok((field, &field.strategic)),
            None => Err(Status::unclassified(format!(
                "unable to find api field for the json field {}",
                quoted(name)
            ))),
        },
        Shape::Map { .. } => Err(Status::unclassified(
            "merging an object in json but data type is not struct, instead is: map",
        )),
        _ => Err(Status::unclassified(format!(
            "unable to find api field in struct RawExtension for the json field {}",
            quoted(name)
        ))),
    }
}

fn list_of<'a>(schema: &'a Schema, name: &str) -> Result<(&'a Schema, &'a Strategic), Status> {
    let (field, strategic) = field_of(schema, name)?;
    match &field.shape {
        Shape::List { items, .. } => Ok((items, strategic)),
        _ => Err(Status::unclassified("expected slice or array type, but got: struct")),
    }
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(name, value)| (name, without_nulls(value))).collect())
        }
        Value::Array(list) => Value::Array(list.into_iter().map(without_nulls).collect()),
        scalar => scalar,
    }
}

/// The value without the maps that have a `$patch` directive: there is nothing they could be about.
pub(super) fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(map) if map.contains_key(PATCH) => None,
        Value::Object(map) => {
            let kept = map.into_iter().filter_map(|(name, value)| Some((name, without_directives(value)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(list) => Some(Value::Array(list.into_iter().filter_map(without_directives).collect())),
        scalar => Some(scalar),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::schema::ListKind;

    fn of(shape: Shape) -> Schema {
        Schema { shape, ..Schema::default() }
    }

    fn object(fields: &[(&str, Schema)]) -> Schema {
        let fields = fields.iter().map(|(name, schema)| ((*name).into(), Arc::new(schema.clone())));
        of(Shape::Object { fields: fields.collect(), atomic: false })
    }

    fn list(items: Schema) -> Schema {
        of(Shape::List { items: Arc::new(items), kind: ListKind::Atomic })
    }

    fn merged(items: Schema, key: Option<&str>) -> Schema {
        Schema {
            strategic: Strategic { merge: true, retain_keys: false, key: key.map(Into::into) },
            ..list(items)
        }
    }

    /// Part of a pod, without the levels that the tests do not need.
    fn schema() -> Schema {
        let text = of(Shape::String);
        let env = object(&[("name", text.clone()), ("value", text.clone())]);
        let container =
            object(&[("name", text.clone()), ("image", text.clone()), ("env", merged(env, Some("name")))]);
        let volume = object(&[
            ("name", text.clone()),
            ("emptyDir", object(&[("medium", text.clone())])),
            ("hostPath", object(&[("path", text.clone())])),
        ]);
        object(&[
            ("labels", of(Shape::Map { values: Arc::new(text.clone()), atomic: false })),
            ("nested", of(Shape::Map { values: Arc::new(container.clone()), atomic: false })),
            ("finalizers", merged(text.clone(), None)),
            ("args", list(text)),
            ("containers", merged(container.clone(), Some("name"))),
            ("volumes", merged(volume, Some("name"))),
            ("keyless", merged(container, None)),
        ])
    }

    fn check(target: Value, patch: Value, expected: Value) {
        let result = apply_strategic_patch(&schema(), &target, &patch);
        assert_eq!(result, Ok(expected), "{patch}");
    }

    fn names(names: &[&str]) -> Value {
        names.iter().map(|name| json!({"name": name})).collect()
    }

    #[test]
    fn merges_maps_and_replaces_lists() {
        check(
            json!({"labels": {"a": "1", "b": "2"}, "args": ["x"]}),
            json!({"labels": {"a": null, "c": "3"}, "args": ["y", "z"]}),
            json!({"labels": {"b": "2", "c": "3"}, "args": ["y", "z"]}),
        );
        check(
            json!({}),
            json!({"labels": {"a": null, "b": "1"}, "args": null}),
            json!({"labels": {"b": "1"}}),
        );
        check(json!({"labels": {"a": "1"}}), json!({"labels": "x"}), json!({"labels": "x"}));
        check(json!({"args": []}), json!(null), json!({"args": []}));
    }

    #[test]
    fn merges_lists_by_key() {
        check(
            json!({"containers": [{"name": "a", "image": "1", "env": [{"name": "X", "value": "1"}]}, {"name": "b"}]}),
            json!({"containers": [
                {"name": "c", "image": "3"},
                {"name": "a", "image": null, "env": [{"name": "X", "value": "2"}, {"name": "Y"}]},
            ]}),
            json!({"containers": [
                {"name": "c", "image": "3"},
                {"name": "a", "env": [{"name": "X", "value": "2"}, {"name": "Y"}]},
                {"name": "b"},
            ]}),
        );
    }

    #[test]
    fn merges_lists_of_scalars_as_sets() {
        check(
            json!({"finalizers": ["a", "b"]}),
            json!({"finalizers": ["b", "c"]}),
            json!({"finalizers": ["a", "b", "c"]}),
        );
        check(
            json!({"finalizers": ["a", "b", "c"]}),
            json!({"$deleteFromPrimitiveList/finalizers": ["b", "x"]}),
            json!({"finalizers": ["a", "c"]}),
        );
        check(json!({}), json!({"$deleteFromPrimitiveList/finalizers": ["b"]}), json!({}));
    }

    #[test]
    fn follows_patch_directives() {
        check(
            json!({"labels": {"a": "1"}}),
            json!({"labels": {"$patch": "replace", "b": "2"}}),
            json!({"labels": {"b": "2"}}),
        );
        check(
            json!({"labels": {"a": "1"}}),
            json!({"labels": {"$patch": "delete", "b": "2"}}),
            json!({"labels": {}}),
        );
        check(json!({}), json!({"labels": {"$patch": "delete"}}), json!({}));
        check(
            json!({"containers": names(&["a", "b"])}),
            json!({"containers": [{"name": "a", "$patch": "delete"}, {"name": "c"}]}),
            json!({"containers": names(&["c", "b"])}),
        );
        check(
            json!({"containers": names(&["a", "b"])}),
            json!({"containers": [{"$patch": "replace"}, {"name": "c"}]}),
            json!({"containers": names(&["c"])}),
        );
        check(
            json!({}),
            json!({"containers": [{"name": "a", "$patch": "delete"}, {"name": "c"}]}),
            json!({"containers": names(&["c"])}),
        );
    }

    #[test]
    fn sets_the_order() {
        let order = |live: &[&str], patch: Option<&[&str]>, order: &[&str], expected: &[&str]| {
            let mut change = json!({"$setElementOrder/containers": names(order)});
            if let Some(patch) = patch {
                change["containers"] = names(patch);
            }
            check(json!({"containers": names(live)}), change, json!({"containers": names(expected)}));
        };
        order(&["a", "b", "c"], None, &["c", "a"], &["b", "c", "a"]);
        order(&["a", "b"], Some(&["c"]), &["b", "c", "a"], &["b", "c", "a"]);
        order(&["a", "x", "b"], Some(&["b"]), &["b", "a"], &["x", "b", "a"]);
        check(
            json!({"finalizers": ["a", "b", "c"]}),
            json!({"$setElementOrder/finalizers": ["c", "b"]}),
            json!({"finalizers": ["a", "c", "b"]}),
        );
        check(json!({}), json!({"$setElementOrder/containers": names(&["a"])}), json!({}));
        // An item that replaces a deleted one comes after those that stay.
        check(
            json!({"containers": names(&["c", "d"])}),
            json!({
                "containers": [{"name": "a"}, {"name": "c", "$patch": "delete"}],
                "$setElementOrder/containers": names(&["a"]),
            }),
            json!({"containers": names(&["d", "a"])}),
        );
    }

    #[test]
    fn retains_keys() {
        check(
            json!({"volumes": [{"name": "v", "emptyDir": {}}]}),
            json!({"volumes": [{"name": "v", "hostPath": {"path": "/"}, "$retainKeys": ["name", "hostPath"]}]}),
            json!({"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}),
        );
    }

    #[test]
    fn refuses_what_makes_no_sense() {
        let target = json!({
            "labels": {"a": "1"}, "nested": {"a": {"image": "x"}}, "containers": names(&["a"]),
            "finalizers": ["a"], "keyless": [{"name": "a"}],
        });
        let server_error = "the server rejected our request due to an error in our request";
        for (patch, code, message) in [
            (json!([]), 400, "json: cannot unmarshal array into Go value of type map[string]interface {}"),
            (json!({"$retainKeys": "x"}), 400, "invalid patch format of retainKeys"),
            (json!({"$retainKeys": ["labels"], "args": []}), 400, "invalid patch format of retainKeys"),
            (json!({"$deleteFromPrimitiveList": []}), 400, "invalid patch format of primitive list"),
            (json!({"$setElementOrder": []}), 400, "invalid patch format of setElementOrder list"),
            (json!({"finalizers": [["a"]]}), 500, "list element types are not identical: [[a] [[a]]]"),
            (
                json!({"containers": [{"image": "x"}]}),
                500,
                "map: map[image:x] does not contain declared merge key: name",
            ),
            (
                json!({"containers": [{"$patch": "delete"}]}),
                500,
                "map: map[$patch:delete] does not contain declared merge key: name",
            ),
            (
                json!({"containers": [{"name": "a", "$patch": "merge"}]}),
                500,
                "merging lists cannot yet be specified in the patch",
            ),
            (
                json!({"labels": {"$patch": "merge"}}),
                500,
                "unknown patch type: merge in map: map[$patch:merge]",
            ),
            (
                json!({"nested": {"a": {"image": "y"}}}),
                500,
                "merging an object in json but data type is not struct, instead is: map",
            ),
            (json!({"keyless": [{"name": "b"}]}), 500, "cannot merge lists without merge key for struct"),
            (
                json!({"$setElementOrder/containers": "a"}),
                500,
                "expected a []interface {}, but received a string",
            ),
            (
                json!({"containers": [{"name": "b"}], "$setElementOrder/containers": [{"name": "a"}]}),
                500,
                "The order in patch list:\n[map[name:b]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
            ),
        ] {
            let status = apply_strategic_patch(&schema(), &target, &patch).unwrap_err();
            assert_eq!((status.code, status.message.as_str()), (code, message), "{patch}");
        }
        let target = json!({"finalizers": [["a"]]});
        let status = apply_strategic_patch(&schema(), &target, &json!({"finalizers": ["a"]})).unwrap_err();
        assert_eq!((status.code, status.message.as_str()), (422, server_error));
    }
}
