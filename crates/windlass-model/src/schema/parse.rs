//! From the `openAPIV3Schema` of a CRD to a [`Schema`], or to all errors in it.

use serde_json::Value;

use super::build::Builder;
use super::{Schema, default_checks, open_api, structural};
use crate::field::{FieldError, FieldPath};

/// The nesting that a JSON parser accepts; deeper schemas could not be stored and read again.
const MAX_DEPTH: usize = 128;

/// Reads an `openAPIV3Schema` that stands at `path`.
///
/// # Errors
/// Whatever keeps it from being a valid structural schema: structure, defaults, list types, patterns
/// and rules. Keywords of the wrong JSON type count as absent: [`super::decode_open_api`] refuses them.
pub(crate) fn parse(open_api: &Value, path: &FieldPath) -> Result<Schema, Vec<FieldError>> {
    parse_changed(open_api, path, false)
}

/// As [`parse`], for a schema that was accepted before. Its rules may each cost more than new ones may.
pub(crate) fn parse_unchanged(open_api: &Value, path: &FieldPath) -> Result<Schema, Vec<FieldError>> {
    parse_changed(open_api, path, true)
}

fn parse_changed(open_api: &Value, path: &FieldPath, is_unchanged: bool) -> Result<Schema, Vec<FieldError>> {
    if too_deep(open_api) {
        let detail = format!("must not nest deeper than {MAX_DEPTH} levels");
        return Err(vec![FieldError::invalid(path, "", detail)]);
    }
    let mut builder = Builder::default();
    let schema = builder.build(open_api, path);
    let unsupported = structural::unsupported(open_api);
    let mut errors = match unsupported {
        // The other checks report the same keywords, and where they stand.
        Some(_) => Vec::new(),
        None => structural::check(open_api, path, builder.errors),
    };
    if unsupported.is_none() && errors.is_empty() {
        errors = default_checks::check(&schema, path);
    }
    let built = (unsupported.is_none() && errors.is_empty()).then_some(&schema);
    errors.extend(open_api::check(open_api, built, path, is_unchanged));
    match unsupported {
        Some(why) if errors.is_empty() => Err(vec![FieldError::invalid(path, "", why)]),
        _ if errors.is_empty() => Ok(schema),
        _ => Err(errors),
    }
}

/// Reads an `openAPIV3Schema` that has been checked before; nothing is known of what should not be there.
pub(crate) fn read_checked(open_api: &Value) -> Schema {
    if too_deep(open_api) {
        return Schema::default();
    }
    Builder::default().build(open_api, &FieldPath::root())
}

/// Looks level by level, so that depth costs no stack.
fn too_deep(value: &Value) -> bool {
    let mut level = vec![value];
    for _ in 0..MAX_DEPTH {
        level = level
            .into_iter()
            .flat_map(|value| match value {
                Value::Array(items) => items.iter().collect::<Vec<_>>(),
                Value::Object(map) => map.values().collect(),
                _ => Vec::new(),
            })
            .collect();
        if level.is_empty() {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::{ListKind, Shape};

    fn errors(node: &Value) -> Vec<String> {
        parse(node, &FieldPath::of("s")).err().unwrap_or_default().iter().map(ToString::to_string).collect()
    }

    fn field(field: Value) -> Value {
        json!({"type": "object", "properties": {"a": field}})
    }

    #[test]
    fn a_schema_becomes_what_it_says() {
        let node = json!({"type": "object", "required": ["spec"], "properties": {"spec": {
            "type": "object", "x-kubernetes-map-type": "atomic", "properties": {
                "replicas": {"type": "integer", "minimum": 1, "default": 3},
                "port": {"x-kubernetes-int-or-string": true},
                "free": {"x-kubernetes-preserve-unknown-fields": true},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "items": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                    "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}}},
            }, "x-kubernetes-validations": [{"rule": "self.replicas > 0", "fieldPath": ".labels.x"}]}}});
        let schema = parse(&node, &FieldPath::root()).unwrap();
        assert_eq!(schema.required, ["spec"]);
        let spec = schema.field("spec").unwrap();
        assert!(matches!(&spec.shape, Shape::Object { atomic: true, .. }));
        assert_eq!(spec.rules[0].field_path.as_deref(), Some("labels[x]"));
        let replicas = spec.field("replicas").unwrap();
        assert_eq!((&replicas.shape, &replicas.default), (&Shape::Integer, &Some(json!(3))));
        assert_eq!(replicas.constraints.as_ref().unwrap().minimum, Some(1.0));
        assert_eq!(spec.field("port").unwrap().shape, Shape::IntOrString);
        assert!(spec.field("free").unwrap().preserve_unknown);
        assert_eq!(spec.field("labels").unwrap().values().unwrap().shape, Shape::String);
        let Shape::List { kind, .. } = &spec.field("items").unwrap().shape else { panic!("no list") };
        assert_eq!(*kind, ListKind::Map(vec!["k".into()]));
    }

    #[test]
    fn every_rule_beyond_structure_is_checked() {
        let object = json!({"type": "object", "properties": {"k": {"type": "string"}}});
        let with = |extra: Value| {
            let mut node = json!({"type": "array", "items": object, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]});
            node.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            node
        };
        let required = json!({"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}});
        let cases = [
            (
                json!({"type": "any"}),
                "s.properties[a].type: Unsupported value: \"any\": supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\"",
            ),
            (
                json!({"type": "string", "$ref": "#/x"}),
                "s.properties[a].$ref: Forbidden: $ref is not supported",
            ),
            (json!({"type": "string", "id": "x"}), "s.properties[a].id: Forbidden: id is not supported"),
            (
                json!({"type": "object", "patternProperties": {"x": {}}}),
                "s.properties[a].patternProperties: Forbidden: patternProperties is not supported",
            ),
            (
                json!({"type": "array", "items": [{"type": "string"}]}),
                "s.properties[a].items: Forbidden: items must be a schema object and not an array",
            ),
            (
                json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true}),
                "s.properties[a].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
            ),
            (
                json!({"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": {"type": "string"}}),
                "s.properties[a].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
            ),
            (
                json!({"type": "string", "pattern": "("}),
                "s.properties[a].pattern: Invalid value: \"(\": must be a valid regular expression, but isn't: error parsing regexp: missing closing ): `(`",
            ),
            (
                json!({"type": "object", "x-kubernetes-preserve-unknown-fields": false}),
                "s.properties[a].x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined",
            ),
            (
                json!({"type": "string", "x-kubernetes-map-type": "atomic"}),
                "s.properties[a].type: Invalid value: \"string\": must be object if x-kubernetes-map-type is specified",
            ),
            (
                json!({"type": "object", "x-kubernetes-map-type": "loose"}),
                "s.properties[a].x-kubernetes-map-type: Unsupported value: \"loose\": supported values: \"atomic\", \"granular\"",
            ),
            (
                json!({"type": "object", "x-kubernetes-list-type": "set"}),
                "s.properties[a].type: Invalid value: \"object\": must be array if x-kubernetes-list-type is specified",
            ),
            (
                json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "bag"}),
                "s.properties[a].x-kubernetes-list-type: Unsupported value: \"bag\": supported values: \"atomic\", \"set\", \"map\"",
            ),
            (
                json!({"type": "array", "items": object, "x-kubernetes-list-type": "set"}),
                "s.properties[a].items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set",
            ),
            (
                json!({"type": "array", "items": {"type": "string", "nullable": true}, "x-kubernetes-list-type": "set"}),
                "s.properties[a].items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set",
            ),
            (
                with(json!({})),
                "s.properties[a].items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
            ),
            (
                with(json!({"x-kubernetes-list-map-keys": []})),
                "s.properties[a].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
            ),
            (
                with(json!({"items": required, "x-kubernetes-list-map-keys": ["k", "z"]})),
                "s.properties[a].x-kubernetes-list-map-keys: Invalid value: [\"k\",\"z\"]: entries must all be names of item properties",
            ),
            (
                with(json!({"items": required, "x-kubernetes-list-map-keys": ["k", "k"]})),
                "s.properties[a].x-kubernetes-list-map-keys: Invalid value: [\"k\",\"k\"]: must not contain duplicate entries",
            ),
            (
                with(json!({"items": {"type": "string"}})),
                "s.properties[a].items.type: Invalid value: \"string\": must be object if parent array's x-kubernetes-list-type is map",
            ),
            (
                json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-map-keys": ["k"]}),
                "s.properties[a].x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty",
            ),
            (
                json!({"type": "string", "default": 1}),
                "s.properties[a].default: Invalid value: \"integer\":  in body must be of type string: \"integer\"",
            ),
            (
                json!({"type": "object", "default": {"x": 1}}),
                "s.properties[a].default: Invalid value: {\"x\":1}: must not have unknown fields",
            ),
            (
                json!({"type": "string", "x-kubernetes-validations": [{"rule": " "}]}),
                "s.properties[a].x-kubernetes-validations[0].rule: Required value: rule is not specified",
            ),
            (
                json!({"type": "string", "x-kubernetes-validations": [{"rule": "true", "message": "a\nb"}]}),
                "s.properties[a].x-kubernetes-validations[0].message: Invalid value: \"a\\nb\": must not contain line breaks",
            ),
            (
                json!({"type": "string", "x-kubernetes-validations": [{"rule": "true ||\ntrue"}]}),
                "s.properties[a].x-kubernetes-validations[0].message: Required value: message must be specified if rule contains line breaks",
            ),
            (
                json!({"type": "string", "x-kubernetes-validations": [{"rule": "true", "reason": "Bad"}]}),
                "s.properties[a].x-kubernetes-validations[0].reason: Unsupported value: \"Bad\": supported values: \"FieldValueDuplicate\", \"FieldValueForbidden\", \"FieldValueInvalid\", \"FieldValueRequired\"",
            ),
            (
                json!({"type": "string", "x-kubernetes-validations": [{"rule": "true", "fieldPath": ".x"}]}),
                "s.properties[a].x-kubernetes-validations[0].fieldPath: Invalid value: \".x\": must be a valid path",
            ),
            (
                json!({"type": "string", "x-kubernetes-validations": [{"rule": "true", "optionalOldSelf": true}]}),
                "s.properties[a].x-kubernetes-validations[0].optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule",
            ),
            (
                json!({"type": "array", "maxItems": 9, "items": {"type": "string", "maxLength": 9, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}}),
                "s.properties[a].items.x-kubernetes-validations[0].rule: Invalid value: \"self == oldSelf\": oldSelf cannot be used on the uncorrelatable portion of the schema within s.properties[a]",
            ),
        ];
        for (node, wanted) in cases {
            assert_eq!(errors(&field(node.clone())), [wanted], "{node}");
        }
    }

    #[test]
    fn a_rule_that_does_not_compile_is_shown() {
        let node = field(json!({"type": "string", "x-kubernetes-validations": [{"rule": "self."}]}));
        let found = errors(&node);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with("s.properties[a].x-kubernetes-validations[0].rule: Invalid value: {"),
            "{found:?}"
        );
        assert!(found[0].contains("compilation failed: "), "{found:?}");
    }

    #[test]
    fn defaults_are_forbidden_where_pruning_could_not_see_them() {
        let node = json!({"type": "object", "properties": {
            "metadata": {"type": "object", "properties": {"name": {"type": "string", "default": "x"}}}}});
        let wanted = "s.properties[metadata].properties[name].default: Forbidden: must not be set in top-level metadata";
        assert_eq!(errors(&node), [wanted]);
    }

    #[test]
    fn nesting_is_limited() {
        let mut node = json!({"type": "string"});
        for _ in 0..200 {
            node = field(node);
        }
        assert_eq!(errors(&node), ["s: Invalid value: \"\": must not nest deeper than 128 levels"]);
    }
}
