//! Whether an OpenAPI schema is structural: every value has a type, and logic only restricts what is known.

use serde_json::{Value, json};

use super::keywords::{entries, flag, given, list, schema, text};
use crate::field::{FieldError, FieldPath};

/// Where a schema stands, which decides how a missing type is reported.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Why a schema cannot be read as structural at all; these keywords have no meaning here.
pub(super) fn unsupported(node: &Value) -> Option<String> {
    let texts = [("id", "id"), ("$schema", "schema"), ("$ref", "$ref")];
    let objects = ["patternProperties", "dependencies", "definitions"];
    let keyword = texts
        .iter()
        .find(|(keyword, _)| !text(node, keyword).is_empty())
        .map(|(_, shown)| *shown)
        .or_else(|| objects.into_iter().find(|keyword| entries(node, keyword).next().is_some()))
        .or_else(|| given(node, "additionalItems").map(|_| "additionalItems"));
    if let Some(keyword) = keyword {
        return Some(format!("OpenAPIV3Schema '{keyword}' is not supported"));
    }
    if node.get("items").is_some_and(Value::is_array) {
        return Some("OpenAPIV3Schema 'items' must be a schema, but is an array".to_owned());
    }
    if node.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        return Some(
            "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined".to_owned(),
        );
    }
    children(node).find_map(unsupported)
}

/// All schemas directly below one.
pub(super) fn children(node: &Value) -> impl Iterator<Item = &Value> {
    let single =
        ["items", "additionalProperties", "not"].into_iter().filter_map(|keyword| schema(node, keyword));
    let lists = ["allOf", "anyOf", "oneOf"].into_iter().flat_map(|keyword| list(node, keyword));
    single.chain(lists).chain(entries(node, "properties").map(|(_, field)| field))
}

/// What breaks the invariants of structural schemas, in the order of the messages.
pub(super) fn check(node: &Value, path: &FieldPath, pattern_errors: Vec<FieldError>) -> Vec<FieldError> {
    let mut checker = Checker { errors: pattern_errors };
    checker.invariants(node, Level::Root, path);
    checker.complete_logic(node, node, path, path);
    checker.errors.sort_by_cached_key(ToString::to_string);
    checker.errors
}

struct Checker {
    errors: Vec<FieldError>,
}

impl Checker {
    fn required(&mut self, path: &FieldPath, detail: impl Into<String>) {
        self.errors.push(FieldError::required(path, detail));
    }

    fn forbidden(&mut self, path: &FieldPath, detail: &str) {
        self.errors.push(FieldError::forbidden(path, detail));
    }

    fn invalid(&mut self, path: &FieldPath, value: impl Into<Value>, detail: &str) {
        self.errors.push(FieldError::invalid(path, value, detail));
    }

    fn invariants(&mut self, node: &Value, level: Level, path: &FieldPath) {
        let items = schema(node, "items");
        if text(node, "type") == "array" && items.is_none() {
            self.required(&path.child("items"), "must be specified");
        }
        if let Some(items) = items {
            self.invariants(items, Level::Item, &path.child("items"));
        }
        for (name, field) in entries(node, "properties") {
            self.invariants(field, Level::Field, &path.child("properties").key(name));
        }
        if let Some(values) = given(node, "additionalProperties") {
            let path = path.child("additionalProperties");
            if level == Level::Root {
                self.forbidden(&path, "must not be used at the root");
            }
            if values.is_object() {
                self.invariants(values, Level::Field, &path);
            }
        }
        self.extensions(node, path);
        let skip_any_of = is_int_or_string(list(node, "anyOf"));
        let skip_first =
            list(node, "allOf").first().is_some_and(|first| is_int_or_string(list(first, "anyOf")));
        self.logic(node, skip_any_of, skip_first, path);
        self.typed(node, level, path);
        self.meta_fields(node, level, path);
    }

    fn extensions(&mut self, node: &Value, path: &FieldPath) {
        if !flag(node, "x-kubernetes-int-or-string") {
            return;
        }
        for keyword in ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"] {
            if flag(node, keyword) {
                let detail = "must be false if x-kubernetes-int-or-string is true";
                self.invalid(&path.child(keyword), true, detail);
            }
        }
    }

    fn typed(&mut self, node: &Value, level: Level, path: &FieldPath) {
        let kind = text(node, "type");
        let at = path.child("type");
        let embedded = flag(node, "x-kubernetes-embedded-resource");
        let any =
            flag(node, "x-kubernetes-int-or-string") || flag(node, "x-kubernetes-preserve-unknown-fields");
        if embedded && kind != "object" {
            const DETAIL: &str = "must be object if x-kubernetes-embedded-resource is true";
            if kind.is_empty() { self.required(&at, DETAIL) } else { self.invalid(&at, kind, DETAIL) }
        } else if kind.is_empty() && !any {
            let detail = match level {
                Level::Root => "must not be empty at the root",
                Level::Item => "must not be empty for specified array items",
                Level::Field => "must not be empty for specified object fields",
            };
            self.required(&at, detail);
        }
        if embedded && given(node, "additionalProperties").is_some() {
            let detail = "must not be used if x-kubernetes-embedded-resource is set";
            self.forbidden(&path.child("additionalProperties"), detail);
        }
        if level == Level::Root && !kind.is_empty() && kind != "object" {
            self.invalid(&at, kind, "must be object at the root");
        }
        let preserves = flag(node, "x-kubernetes-preserve-unknown-fields");
        if embedded && !preserves && entries(node, "properties").next().is_none() {
            let detail = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
            self.required(&path.child("properties"), detail);
        }
    }

    fn meta_fields(&mut self, node: &Value, level: Level, path: &FieldPath) {
        let resource = level == Level::Root || flag(node, "x-kubernetes-embedded-resource");
        let properties = path.child("properties");
        for (name, wanted) in [("kind", "string"), ("apiVersion", "string"), ("metadata", "object")] {
            let Some(field) = node["properties"].get(name) else { continue };
            let kind = text(field, "type");
            if resource && kind != wanted {
                self.invalid(&properties.key(name).child("type"), kind, &format!("must be {wanted}"));
            }
        }
        let metadata = node["properties"].get("metadata");
        if level == Level::Root && metadata.is_some_and(|metadata| !restricts_names_only(metadata)) {
            let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
            self.forbidden(&properties.key("metadata"), detail);
        }
    }

    fn logic(&mut self, node: &Value, skip_any_of: bool, skip_first_all_of: bool, path: &FieldPath) {
        if !skip_any_of {
            self.branches(node, "anyOf", path, false);
        }
        self.branches(node, "allOf", path, skip_first_all_of);
        self.branches(node, "oneOf", path, false);
        if let Some(not) = schema(node, "not") {
            self.nested(not, false, &path.child("not"));
        }
    }

    fn branches(&mut self, node: &Value, keyword: &str, path: &FieldPath, skip_first: bool) {
        for (index, branch) in list(node, keyword).iter().enumerate() {
            self.nested(branch, skip_first && index == 0, &path.child(keyword).index(index));
        }
    }

    /// Below logic only validations may stand, no structure.
    fn nested(&mut self, node: &Value, skip_any_of: bool, path: &FieldPath) {
        self.logic(node, skip_any_of, false, path);
        if let Some(items) = schema(node, "items") {
            self.nested(items, false, &path.child("items"));
        }
        for (name, field) in entries(node, "properties") {
            self.nested(field, false, &path.child("properties").key(name));
        }
        for (keyword, detail) in FORBIDDEN_BELOW_LOGIC {
            if node.get(keyword).is_some_and(|value| !is_zero(value)) {
                self.forbidden(&path.child(keyword), detail);
            }
        }
        if node["properties"].get("metadata").is_some() {
            let path = path.child("properties").key("metadata");
            self.forbidden(&path, "must not be specified in a nested context");
        }
    }

    /// Every field that logic speaks of must be part of the structure.
    fn complete_logic(&mut self, logic: &Value, node: &Value, node_path: &FieldPath, path: &FieldPath) {
        if let Some(not) = schema(logic, "not") {
            self.complete(not, Some(node), node_path, &path.child("not"));
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            for (index, branch) in list(logic, keyword).iter().enumerate() {
                self.complete(branch, Some(node), node_path, &path.child(keyword).index(index));
            }
        }
    }

    fn complete(&mut self, logic: &Value, node: Option<&Value>, node_path: &FieldPath, path: &FieldPath) {
        let Some(node) = node else {
            return self.required(node_path, format!("because it is defined in {path}"));
        };
        self.complete_logic(logic, node, node_path, path);
        if let Some(items) = schema(logic, "items") {
            self.complete(items, schema(node, "items"), &node_path.child("items"), &path.child("items"));
        }
        for (name, field) in entries(logic, "properties") {
            let (node_path, path) =
                (node_path.child("properties").key(name), path.child("properties").key(name));
            self.complete(field, node["properties"].get(name), &node_path, &path);
        }
    }
}

const FORBIDDEN_BELOW_LOGIC: [(&str, &str); 13] = [
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
];

/// Whether Go would call it unset.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

fn is_int_or_string(any_of: &[Value]) -> bool {
    any_of == [json!({"type": "integer"}), json!({"type": "string"})]
}

/// The schema of metadata at the root may restrict names and nothing else.
fn restricts_names_only(metadata: &Value) -> bool {
    let named = |(name, _): (&String, &Value)| name == "name" || name == "generateName";
    metadata.as_object().into_iter().flatten().all(|(keyword, value)| match keyword.as_str() {
        "type" | "default" | "externalDocs" | "example" => true,
        "properties" => value.as_object().into_iter().flatten().all(named),
        _ => is_zero(value),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(node: Value) -> Vec<String> {
        check(&node, &FieldPath::of("s"), Vec::new()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn broken_invariants_are_found() {
        let field = |field: Value| json!({"type": "object", "properties": {"a": field}});
        let cases = [
            (json!({}), "s.type: Required value: must not be empty at the root"),
            (json!({"type": "string"}), "s.type: Invalid value: \"string\": must be object at the root"),
            (
                json!({"type": "object", "additionalProperties": {"type": "string"}}),
                "s.additionalProperties: Forbidden: must not be used at the root",
            ),
            (
                field(json!({})),
                "s.properties[a].type: Required value: must not be empty for specified object fields",
            ),
            (field(json!({"type": "array"})), "s.properties[a].items: Required value: must be specified"),
            (
                field(json!({"type": "array", "items": {}})),
                "s.properties[a].items.type: Required value: must not be empty for specified array items",
            ),
            (
                field(json!({"type": "object", "additionalProperties": {}})),
                "s.properties[a].additionalProperties.type: Required value: must not be empty for specified object fields",
            ),
            (
                field(
                    json!({"x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true}),
                ),
                "s.properties[a].x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true",
            ),
            (
                field(
                    json!({"x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}),
                ),
                "s.properties[a].type: Required value: must be object if x-kubernetes-embedded-resource is true",
            ),
            (
                field(json!({"type": "object", "x-kubernetes-embedded-resource": true})),
                "s.properties[a].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
            ),
            (
                field(json!({"type": "string", "anyOf": [{"type": "string"}]})),
                "s.properties[a].anyOf[0].type: Forbidden: must be empty to be structural",
            ),
            (
                field(json!({"type": "string", "not": {"nullable": true}})),
                "s.properties[a].not.nullable: Forbidden: must be false to be structural",
            ),
            (
                field(json!({"type": "object", "allOf": [{"x-kubernetes-validations": [{"rule": "true"}]}]})),
                "s.properties[a].allOf[0].x-kubernetes-validations: Forbidden: must be empty to be structural",
            ),
            (
                json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}}),
                "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
            ),
            (
                json!({"type": "object", "properties": {"kind": {"type": "object"}}}),
                "s.properties[kind].type: Invalid value: \"object\": must be string",
            ),
            (
                json!({"type": "object", "allOf": [{"properties": {"b": {"minimum": 1}}}]}),
                "s.properties[b]: Required value: because it is defined in s.allOf[0].properties[b]",
            ),
        ];
        for (node, wanted) in cases {
            assert_eq!(errors(node.clone()), [wanted], "{node}");
        }
    }

    #[test]
    fn structural_schemas_pass() {
        let cases = [
            json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"name": {"type": "string", "pattern": "a"}}}}}),
            json!({"type": "object", "properties": {"a": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}}}),
            json!({"type": "object", "properties": {"a": {"x-kubernetes-int-or-string": true, "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"pattern": "a"}]}}}),
            json!({"type": "object", "properties": {"a": {"x-kubernetes-preserve-unknown-fields": true}}}),
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "oneOf": [{"required": ["a"]}, {"properties": {"a": {"minLength": 1}}}]}),
        ];
        for node in cases {
            assert_eq!(errors(node.clone()), Vec::<String>::new(), "{node}");
        }
    }

    #[test]
    fn references_and_their_like_are_unsupported() {
        let cases = [
            (
                json!({"properties": {"a": {"$ref": "#/definitions/a"}}}),
                "OpenAPIV3Schema '$ref' is not supported",
            ),
            (json!({"items": [{}]}), "OpenAPIV3Schema 'items' must be a schema, but is an array"),
            (json!({"patternProperties": {"a": {}}}), "OpenAPIV3Schema 'patternProperties' is not supported"),
            (json!({"anyOf": [{"id": "x"}]}), "OpenAPIV3Schema 'id' is not supported"),
        ];
        for (node, wanted) in cases {
            assert_eq!(unsupported(&node).as_deref(), Some(wanted), "{node}");
        }
        assert_eq!(unsupported(&json!({"type": "object"})), None);
    }
}
