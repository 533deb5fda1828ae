//! OpenAPI v2: everything in one document, said with fewer words than in v3.

use serde_json::{Map, Value, json};

use super::schemas::Schemas;
use super::{names, v3};
use windlass_model::Types;

const REFERENCES: (&str, &str) = ("#/components/schemas/", "#/definitions/");
/// Keywords that v2 does not have, or that Kubernetes does not write there.
const LEFT_OUT: &[&str] = &["allOf", "anyOf", "oneOf", "not", "nullable", "default"];

/// The whole document.
pub(super) fn document(types: &Types) -> Value {
    let (paths, schemas) = v3::everything(types, &Schemas::of(types));
    let paths: Map<String, Value> = paths.into_iter().map(|(path, item)| (path, path_item(item))).collect();
    let definitions: Map<String, Value> =
        schemas.into_iter().map(|(name, schema)| (name.clone(), definition(&name, schema))).collect();
    json!({
        "swagger": "2.0",
        "info": super::info(),
        "paths": paths,
        "definitions": definitions,
        "securityDefinitions": super::security(),
        "security": [{ "BearerToken": [] }],
    })
}

/// A schema by its name.
fn definition(name: &str, schema: Value) -> Value {
    let Value::Object(mut fields) = schema else { return schema };
    let scalars = ["resource.Quantity", "util.intstr.IntOrString"];
    if scalars.iter().any(|short| names::component(short) == name) {
        // There is no way to say that it may be a number too.
        fields.insert("type".to_owned(), "string".into());
    }
    if preserves_unknown(&fields) {
        // Clients would take what is not listed for forbidden.
        fields.retain(|keyword, _| {
            keyword.starts_with("x-kubernetes-") && !keyword.ends_with("unknown-fields")
        });
        fields.insert("type".to_owned(), "object".into());
    }
    Value::Object(plain(fields))
}

/// The same schema in the words of v2. What cannot be said is left out, so that nothing valid is refused.
fn plain(mut fields: Map<String, Value>) -> Map<String, Value> {
    let nullable = is_true(&fields, "nullable");
    if let Some([Value::Object(only)]) = fields.get("allOf").and_then(Value::as_array).map(Vec::as_slice)
        && let Some(target) = only.get("$ref").cloned()
    {
        fields.insert("$ref".to_owned(), target);
    }
    forget_required(&mut fields);
    fields.retain(|keyword, _| !LEFT_OUT.contains(&keyword.as_str()));
    if let Some(Value::String(target)) = fields.get_mut("$ref") {
        *target = target.replacen(REFERENCES.0, REFERENCES.1, 1);
    }
    if nullable || preserves_unknown(&fields) {
        fields.remove("items");
        fields.remove("properties");
    }
    if preserves_unknown(&fields) && is_true(&fields, "x-kubernetes-embedded-resource") {
        // What every object has is not listed either.
        fields.remove("required");
    }
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default();
    let untyped = nullable
        || kind == "array" && !fields.contains_key("items")
        || kind == "object" && preserves_unknown(&fields);
    if untyped {
        fields.remove("type");
    }
    for part in ["items", "additionalProperties"] {
        if let Some(below) = fields.get_mut(part) {
            *below = plain_value(below.take());
        }
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(|property| *property = plain_value(property.take()));
    }
    fields
}

/// What may be null cannot be required where null means absent.
fn forget_required(fields: &mut Map<String, Value>) {
    let properties = fields.get("properties").cloned().unwrap_or_default();
    let Some(Value::Array(required)) = fields.get_mut("required") else { return };
    required.retain(|name| properties[name.as_str().unwrap_or_default()]["nullable"] != true);
    if required.is_empty() {
        fields.remove("required");
    }
}

fn plain_value(schema: Value) -> Value {
    match schema {
        Value::Object(fields) => Value::Object(plain(fields)),
        other => other,
    }
}

fn preserves_unknown(fields: &Map<String, Value>) -> bool {
    is_true(fields, "x-kubernetes-preserve-unknown-fields")
}

fn is_true(fields: &Map<String, Value>, keyword: &str) -> bool {
    fields.get(keyword) == Some(&Value::Bool(true))
}

fn path_item(item: Value) -> Value {
    let Value::Object(fields) = item else { return item };
    let turned = fields.into_iter().map(|(name, value)| {
        let value = match name.as_str() {
            "parameters" => parameters(value).into(),
            _ => operation(value),
        };
        (name, value)
    });
    turned.collect::<Map<_, _>>().into()
}

fn operation(mut operation: Value) -> Value {
    let Some(fields) = operation.as_object_mut() else { return operation };
    let mut all = parameters(fields.remove("parameters").unwrap_or_default());
    let mut consumes = json!(["*/*"]);
    if let Some(body) = fields.remove("requestBody") {
        consumes = media_types(&body["content"]);
        all.insert(0, body_parameter(&body));
    }
    if !all.is_empty() {
        fields.insert("parameters".to_owned(), all.into());
    }
    let mut produces = Value::Null;
    if let Some(Value::Object(responses)) = fields.get_mut("responses") {
        produces = responses
            .get("200")
            .or(responses.get("201"))
            .map(|ok| media_types(&ok["content"]))
            .unwrap_or_default();
        responses.values_mut().for_each(|response| *response = plain_response(response.take()));
    }
    fields.insert("consumes".to_owned(), consumes);
    fields.insert("produces".to_owned(), produces);
    fields.insert("schemes".to_owned(), json!(["https"]));
    operation
}

fn parameters(parameters: Value) -> Vec<Value> {
    let Value::Array(all) = parameters else { return Vec::new() };
    let flat = all.into_iter().map(|mut parameter| {
        if let Some(fields) = parameter.as_object_mut()
            && let Some(Value::Object(schema)) = fields.remove("schema")
        {
            fields.extend(schema);
        }
        parameter
    });
    flat.collect()
}

fn body_parameter(body: &Value) -> Value {
    let mut parameter = json!({ "name": "body", "in": "body", "schema": schema_of(&body["content"]) });
    if body["required"] == true {
        parameter["required"] = true.into();
    }
    parameter
}

fn plain_response(mut response: Value) -> Value {
    if let Some(content) = response.as_object_mut().and_then(|fields| fields.remove("content")) {
        response["schema"] = schema_of(&content);
    }
    response
}

fn media_types(content: &Value) -> Value {
    content.as_object().map(|content| content.keys().map(String::as_str).collect()).unwrap_or_default()
}

/// It is the same for all media types.
fn schema_of(content: &Value) -> Value {
    let first = content.as_object().and_then(|content| content.values().next());
    first.map(|content| plain_value(content["schema"].clone())).unwrap_or_default()
}
