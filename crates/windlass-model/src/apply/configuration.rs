//! The apply configurations of admission policies: merged like any other, but no field manager owns what they set.

use serde_json::Value;

use super::merge::merge;
use super::type_ref::{Form, TypeRef};
use super::validate::findings;
use crate::schema::Shape;
use crate::types::TypeInfo;

/// Merges a configuration into an object.
///
/// # Errors
/// The configuration does not fit the type, or sets something that can only be replaced as a whole: what it does not
/// mention there would be lost.
pub(crate) fn merge_configuration(info: &TypeInfo, object: &Value, config: &Value) -> Result<Value, String> {
    let root = TypeRef::of_objects(info);
    let found = findings(root, config);
    if !found.is_empty() {
        return Err(format!("failed to convert patch object to typed object: {found}"));
    }
    let mut atomics = Vec::new();
    find_atomics(root, config, "", &mut atomics);
    if !atomics.is_empty() {
        let paths = atomics.join(", ");
        return Err(format!(
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {paths}"
        ));
    }
    merge(root, object, config).map_err(|why| format!("failed to merge patch: {why}"))
}

/// The paths of all atomic lists and maps. What lies in a map without named fields is not looked at.
fn find_atomics(type_ref: TypeRef<'_>, value: &Value, path: &str, found: &mut Vec<String>) {
    match (type_ref.form(Some(value)), value) {
        (Form::Map { atomic }, Value::Object(fields)) => {
            if atomic {
                found.push(path.to_owned());
            }
            if !matches!(type_ref.schema.shape, Shape::Object { .. }) {
                return;
            }
            for (name, value) in fields {
                let field = type_ref.field(name);
                if field.named {
                    find_atomics(field.type_ref, value, &format!("{path}.{name}"), found);
                }
            }
        }
        (Form::List(items), Value::Array(list)) => {
            if items.is_atomic() {
                found.push(path.to_owned());
            }
            for (index, item) in list.iter().enumerate() {
                find_atomics(items.type_ref, item, &format!("{path}[{index}]"), found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::types::Types;

    fn merged(kind: (&str, &str), object: Value, config: Value) -> Result<Value, String> {
        let types = Types::built_in();
        merge_configuration(types.by_kind(kind.0, "v1", kind.1).unwrap(), &object, &config)
    }

    #[test]
    fn items_are_identified_by_their_keys() {
        let of = |containers: Value| json!({"spec": {"template": {"spec": {"containers": containers}}}});
        let object = of(json!([{"name": "a", "image": "x"}, {"name": "b"}]));
        let config = of(json!([{"name": "a", "stdin": true}, {"name": "c"}]));
        let expected = of(json!([{"name": "a", "image": "x", "stdin": true}, {"name": "b"}, {"name": "c"}]));
        assert_eq!(merged(("apps", "Deployment"), object, config), Ok(expected));
    }

    #[test]
    fn refuses_unknown_fields_and_atomic_values() {
        let unknown = merged(("", "ConfigMap"), json!({}), json!({"spec": {}})).unwrap_err();
        assert!(unknown.ends_with("typed object: .spec: field not declared in schema"), "{unknown}");
        let of = |spec: Value| json!({"spec": spec});
        let atomic = of(json!({"containers": [{"name": "a", "args": ["x"]}], "nodeSelector": {"a": "b"}}));
        let refused = merged(("", "Pod"), of(json!({})), atomic).unwrap_err();
        assert!(refused.ends_with("structs: .spec.containers[0].args, .spec.nodeSelector"), "{refused}");
    }
}
