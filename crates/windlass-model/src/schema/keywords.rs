//! The keywords of `openAPIV3Schema`: their JSON types, and how to read them.

use serde_json::{Map, Value};

use crate::unmarshal;

/// What stands under a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Flag,
    Number,
    Integer,
    TextList,
    Json,
    JsonList,
    Schema,
    SchemaOrFlag,
    SchemaOrList,
    SchemaList,
    SchemaMap,
    Rules,
    Docs,
}

const KEYWORDS: [(&str, Kind); 44] = [
    ("id", Kind::Text),
    ("$schema", Kind::Text),
    ("$ref", Kind::Text),
    ("description", Kind::Text),
    ("type", Kind::Text),
    ("format", Kind::Text),
    ("title", Kind::Text),
    ("default", Kind::Json),
    ("maximum", Kind::Number),
    ("exclusiveMaximum", Kind::Flag),
    ("minimum", Kind::Number),
    ("exclusiveMinimum", Kind::Flag),
    ("maxLength", Kind::Integer),
    ("minLength", Kind::Integer),
    ("pattern", Kind::Text),
    ("maxItems", Kind::Integer),
    ("minItems", Kind::Integer),
    ("uniqueItems", Kind::Flag),
    ("multipleOf", Kind::Number),
    ("enum", Kind::JsonList),
    ("maxProperties", Kind::Integer),
    ("minProperties", Kind::Integer),
    ("required", Kind::TextList),
    ("items", Kind::SchemaOrList),
    ("allOf", Kind::SchemaList),
    ("oneOf", Kind::SchemaList),
    ("anyOf", Kind::SchemaList),
    ("not", Kind::Schema),
    ("properties", Kind::SchemaMap),
    ("additionalProperties", Kind::SchemaOrFlag),
    ("patternProperties", Kind::SchemaMap),
    ("dependencies", Kind::Json),
    ("additionalItems", Kind::SchemaOrFlag),
    ("definitions", Kind::SchemaMap),
    ("externalDocs", Kind::Docs),
    ("example", Kind::Json),
    ("nullable", Kind::Flag),
    ("x-kubernetes-preserve-unknown-fields", Kind::Flag),
    ("x-kubernetes-embedded-resource", Kind::Flag),
    ("x-kubernetes-int-or-string", Kind::Flag),
    ("x-kubernetes-list-map-keys", Kind::TextList),
    ("x-kubernetes-list-type", Kind::Text),
    ("x-kubernetes-map-type", Kind::Text),
    ("x-kubernetes-validations", Kind::Rules),
];

const RULE_KEYWORDS: [(&str, Kind); 6] = [
    ("rule", Kind::Text),
    ("message", Kind::Text),
    ("messageExpression", Kind::Text),
    ("reason", Kind::Text),
    ("fieldPath", Kind::Text),
    ("optionalOldSelf", Kind::Flag),
];

const DOCS_KEYWORDS: [(&str, Kind); 2] = [("description", Kind::Text), ("url", Kind::Text)];

/// Drops unknown keywords and nulls from an `openAPIV3Schema` that stands at `path`, and returns the
/// paths of the unknown keywords.
///
/// # Errors
/// The message of Kubernetes' decoder if a keyword has a value of the wrong JSON type.
pub(crate) fn decode(open_api: &mut Value, path: &str) -> Result<Vec<String>, String> {
    let mut unknown = Vec::new();
    decode_node(open_api, path, "JSONSchemaProps", &KEYWORDS, Some(&mut unknown))?;
    Ok(unknown)
}

/// `unknown` is absent below keywords with a decoder of their own, which does not report.
fn decode_node(
    node: &mut Value,
    path: &str,
    type_name: &str,
    keywords: &[(&str, Kind)],
    mut unknown: Option<&mut Vec<String>>,
) -> Result<(), String> {
    let Value::Object(map) = node else {
        return Err(mismatch(node, type_name, path, &format!("v1.{type_name}")));
    };
    drop_unknown(map, path, keywords, unknown.as_deref_mut());
    for (key, value) in map.iter_mut() {
        let Some((_, kind)) = keywords.iter().find(|(keyword, _)| keyword == key) else { continue };
        decode_keyword(value, &format!("{path}.{key}"), type_name, *kind, unknown.as_deref_mut())?;
    }
    Ok(())
}

fn drop_unknown(
    map: &mut Map<String, Value>,
    path: &str,
    keywords: &[(&str, Kind)],
    mut unknown: Option<&mut Vec<String>>,
) {
    map.retain(|key, value| {
        let known = keywords.iter().any(|(keyword, _)| keyword == key);
        if let (false, Some(unknown)) = (known, unknown.as_deref_mut()) {
            unknown.push(format!("{path}.{key}"));
        }
        known && !value.is_null()
    });
}

fn decode_keyword(
    value: &mut Value,
    path: &str,
    type_name: &str,
    kind: Kind,
    mut unknown: Option<&mut Vec<String>>,
) -> Result<(), String> {
    let right = match kind {
        Kind::Json => true,
        Kind::Text => value.is_string(),
        Kind::Flag => value.is_boolean(),
        Kind::Number => value.is_number(),
        Kind::Integer => value.is_i64(),
        Kind::Docs | Kind::SchemaMap | Kind::Schema => value.is_object(),
        Kind::SchemaOrFlag => value.is_object() || value.is_boolean(),
        Kind::SchemaOrList => value.is_object() || value.is_array(),
        Kind::TextList | Kind::JsonList | Kind::SchemaList | Kind::Rules => value.is_array(),
    };
    if !right {
        return Err(match kind {
            Kind::SchemaOrFlag => "boolean or JSON schema expected".to_owned(),
            _ => mismatch(value, type_name, path, go_type(kind)),
        });
    }
    match (kind, value) {
        (Kind::Schema, node) => decode_node(node, path, "JSONSchemaProps", &KEYWORDS, unknown),
        (Kind::SchemaOrFlag | Kind::SchemaOrList, node @ Value::Object(_)) => {
            decode_node(node, path, "JSONSchemaProps", &KEYWORDS, None)
        }
        (Kind::Docs, node) => decode_node(node, path, "ExternalDocumentation", &DOCS_KEYWORDS, unknown),
        (Kind::SchemaMap, Value::Object(map)) => map.iter_mut().try_for_each(|(key, node)| {
            let path = format!("{path}.{key}");
            decode_node(node, &path, "JSONSchemaProps", &KEYWORDS, unknown.as_deref_mut())
        }),
        (Kind::TextList, Value::Array(items)) => match items.iter().find(|item| !item.is_string()) {
            Some(item) => Err(mismatch(item, type_name, path, "string")),
            None => Ok(()),
        },
        (Kind::SchemaList | Kind::SchemaOrList | Kind::Rules, Value::Array(items)) => {
            decode_items(items, path, kind, unknown)
        }
        _ => Ok(()),
    }
}

fn decode_items(
    items: &mut [Value],
    path: &str,
    kind: Kind,
    mut unknown: Option<&mut Vec<String>>,
) -> Result<(), String> {
    let (type_name, keywords): (&str, &[(&str, Kind)]) = match kind {
        Kind::Rules => ("ValidationRule", &RULE_KEYWORDS),
        _ => ("JSONSchemaProps", &KEYWORDS),
    };
    items.iter_mut().enumerate().try_for_each(|(index, item)| {
        decode_node(item, &format!("{path}[{index}]"), type_name, keywords, unknown.as_deref_mut())
    })
}

fn go_type(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "string",
        Kind::Flag => "bool",
        Kind::Number => "float64",
        Kind::Integer => "int64",
        Kind::TextList => "[]string",
        Kind::Json => "v1.JSON",
        Kind::JsonList => "[]v1.JSON",
        Kind::Schema => "v1.JSONSchemaProps",
        Kind::SchemaOrFlag => "v1.JSONSchemaPropsOrBool",
        Kind::SchemaOrList => "v1.JSONSchemaPropsOrArray",
        Kind::SchemaList => "[]v1.JSONSchemaProps",
        Kind::SchemaMap => "map[string]v1.JSONSchemaProps",
        Kind::Rules => "v1.ValidationRules",
        Kind::Docs => "v1.ExternalDocumentation",
    }
}

fn mismatch(value: &Value, type_name: &str, path: &str, wanted: &str) -> String {
    unmarshal::into_field(value, &format!("{type_name}.{path}"), wanted)
}

/// A string keyword, or the empty string.
pub(super) fn text<'a>(node: &'a Value, keyword: &str) -> &'a str {
    node.get(keyword).and_then(Value::as_str).unwrap_or("")
}

/// A boolean keyword, or false.
pub(super) fn flag(node: &Value, keyword: &str) -> bool {
    node.get(keyword).and_then(Value::as_bool).unwrap_or(false)
}

/// A keyword that is there and not null.
pub(super) fn given<'a>(node: &'a Value, keyword: &str) -> Option<&'a Value> {
    node.get(keyword).filter(|value| !value.is_null())
}

/// A list of strings, or none.
pub(super) fn texts<'a>(node: &'a Value, keyword: &str) -> Vec<&'a str> {
    list(node, keyword).iter().filter_map(Value::as_str).collect()
}

/// A list, or none.
pub(super) fn list<'a>(node: &'a Value, keyword: &str) -> &'a [Value] {
    node.get(keyword).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The entries of an object, by key, or none.
pub(super) fn entries<'a>(node: &'a Value, keyword: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    node.get(keyword).and_then(Value::as_object).into_iter().flatten()
}

/// A keyword that is a schema.
pub(super) fn schema<'a>(node: &'a Value, keyword: &str) -> Option<&'a Value> {
    node.get(keyword).filter(|value| value.is_object())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_keywords_are_dropped_and_named() {
        let mut node = json!({
            "type": "object", "foo": 1, "nullable": null,
            "properties": {"a": {"bar": 1, "type": "string"}},
            "items": {"silently": 1},
            "x-kubernetes-validations": [{"rule": "true", "baz": 1}],
        });
        let unknown = decode(&mut node, "s").unwrap();
        assert_eq!(unknown, ["s.foo", "s.properties.a.bar", "s.x-kubernetes-validations[0].baz"]);
        let wanted = json!({
            "type": "object", "properties": {"a": {"type": "string"}}, "items": {},
            "x-kubernetes-validations": [{"rule": "true"}],
        });
        assert_eq!(node, wanted);
    }

    #[test]
    fn wrong_json_types_are_refused() {
        let cases = [
            (
                json!({"type": 1}),
                "cannot unmarshal number into Go struct field JSONSchemaProps.s.type of type string",
            ),
            (
                json!({"maximum": "1"}),
                "cannot unmarshal string into Go struct field JSONSchemaProps.s.maximum of type float64",
            ),
            (json!({"maxItems": 1.5}), "of type int64"),
            (json!({"required": [1]}), "of type string"),
            (json!({"properties": {"a": []}}), "cannot unmarshal array"),
            (json!({"additionalProperties": "yes"}), "boolean or JSON schema expected"),
            (
                json!({"x-kubernetes-validations": [{"rule": 1}]}),
                "ValidationRule.s.x-kubernetes-validations[0].rule",
            ),
            (json!([]), "cannot unmarshal array"),
        ];
        for (mut node, wanted) in cases {
            let error = decode(&mut node, "s").unwrap_err();
            assert!(error.contains(wanted), "{node}: {error}");
        }
    }
}
