//! ConfigMaps and Secrets.

use serde_json::{Map, Value};

use super::values::{Errors, entries, immutable, invalid_all, text};
use crate::field::{FieldError, FieldPath};
use crate::object;
use windlass_cel::formats::base64::Base64;
use windlass_cel::formats::names;

const MAX_BYTES: usize = 1024 * 1024;
const FROZEN: &str = "field is immutable when `immutable` is set";

/// The rules of ConfigMaps.
pub(super) fn check_config_map(errors: &mut Errors, new: &Value, old: Option<&Value>) {
    if let Some(old) = old {
        check_frozen(errors, new, old, &["data", "binaryData"]);
    }
    let mut bytes = 0;
    for (key, value) in entries(&new["data"]) {
        let path = FieldPath::of("data").key(key);
        check_key(errors, &path, key);
        if new["binaryData"].get(key).is_some() {
            errors.push(FieldError::invalid(&path, key.as_str(), "duplicate of key present in binaryData"));
        }
        bytes += text(value).len();
    }
    for (key, value) in entries(&new["binaryData"]) {
        let path = FieldPath::of("binaryData").key(key);
        check_key(errors, &path, key);
        bytes += decoded(errors, &path, value, text(value)).map_or(0, |value| value.len());
    }
    if bytes > MAX_BYTES {
        // Kubernetes names no field here, and its empty path prints as `[]`.
        errors.push(FieldError::too_long(&FieldPath::of("[]"), MAX_BYTES));
    }
}

/// The rules of Secrets.
pub(super) fn check_secret(errors: &mut Errors, new: &Value, old: Option<&Value>) {
    if let Some(old) = old {
        immutable(errors, &FieldPath::of("type"), &new["type"], &old["type"]);
        check_frozen(errors, new, old, &["data"]);
    }
    let mut bytes = 0;
    for (key, value) in entries(&new["data"]) {
        let path = FieldPath::of("data").key(key);
        check_key(errors, &path, key);
        bytes += decoded(errors, &path, value, "<secret contents redacted>").map_or(0, |value| value.len());
    }
    if bytes > MAX_BYTES {
        errors.push(FieldError::too_long(&FieldPath::of("data"), MAX_BYTES));
    }
    check_secret_type(errors, new);
}

fn check_secret_type(errors: &mut Errors, secret: &Value) {
    let data = FieldPath::of("data");
    let has = |key: &str| secret["data"].get(key).is_some();
    let mut require = |key: &str| errors.push(FieldError::required(&data.key(key), ""));
    match text(&secret["type"]) {
        "kubernetes.io/service-account-token" => {
            let key = "kubernetes.io/service-account.name";
            if object::annotation(secret, key).unwrap_or("").is_empty() {
                errors.push(FieldError::required(&FieldPath::of("metadata.annotations").key(key), ""));
            }
        }
        "kubernetes.io/dockercfg" => check_json(errors, secret, ".dockercfg"),
        "kubernetes.io/dockerconfigjson" => check_json(errors, secret, ".dockerconfigjson"),
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            require("username");
            require("password");
        }
        "kubernetes.io/ssh-auth" if text(&secret["data"]["ssh-privatekey"]).is_empty() => {
            require("ssh-privatekey")
        }
        "kubernetes.io/tls" => ["tls.crt", "tls.key"].into_iter().filter(|key| !has(key)).for_each(require),
        _ => {}
    }
}

/// A value must be there and hold a JSON object.
fn check_json(errors: &mut Errors, secret: &Value, key: &str) {
    let path = FieldPath::of("data").key(key);
    let Some(value) = secret["data"].get(key) else {
        errors.push(FieldError::required(&path, ""));
        return;
    };
    let bytes = Base64::Standard.decode(text(value)).unwrap_or_default();
    if let Err(error) = serde_json::from_slice::<Map<String, Value>>(&bytes) {
        errors.push(FieldError::invalid(&path, "<secret contents redacted>", error.to_string()));
    }
}

fn check_key(errors: &mut Errors, path: &FieldPath, key: &str) {
    invalid_all(errors, path, &key.into(), names::is_config_map_key(key));
}

/// The bytes of a value. What is not base64 is refused when it is decoded; this is the last line of defence.
fn decoded(errors: &mut Errors, path: &FieldPath, value: &Value, shown: &str) -> Option<Vec<u8>> {
    Base64::Standard
        .decode(text(value))
        .map_err(|position| {
            let detail = format!("illegal base64 data at input byte {position}");
            errors.push(FieldError::invalid(path, shown, detail));
        })
        .ok()
}

/// Once immutable, always immutable.
fn check_frozen(errors: &mut Errors, new: &Value, old: &Value, fields: &[&str]) {
    if old["immutable"] != true {
        return;
    }
    if new["immutable"] != true {
        errors.push(FieldError::forbidden(&FieldPath::of("immutable"), FROZEN));
    }
    let changed = fields.iter().filter(|field| new[**field] != old[**field]);
    errors.extend(changed.map(|field| FieldError::forbidden(&FieldPath::of(field), FROZEN)));
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, prepared};
    use serde_json::{Value, json};

    #[test]
    fn string_data_becomes_data() {
        let secret = json!({ "type": "Opaque", "data": { "a": "eA==", "b": "eQ==" }, "stringData": { "b": "z", "c": "" } });
        assert_eq!(
            prepared("Secret", None, secret, None)["data"],
            json!({ "a": "eA==", "b": "eg==", "c": "" })
        );
        let bare = prepared("Secret", None, json!({ "stringData": {} }), None);
        assert_eq!((bare.get("stringData"), bare.get("data")), (None, None));
    }

    #[test]
    fn keys_and_sizes() {
        let config_map = |data: Value, binary: Value| json!({ "data": data, "binaryData": binary });
        check("ConfigMap", None, config_map(json!({ "a": "x" }), json!({ "b": "eA==" })), &[]);
        check(
            "ConfigMap",
            None,
            config_map(json!({ "a": "x" }), json!({ "a": "eA==" })),
            &["data[a]: Invalid value: \"a\": duplicate of key present in binaryData"],
        );
        check(
            "ConfigMap",
            None,
            config_map(json!({ "a/b": "x" }), json!({})),
            &[
                "data[a/b]: Invalid value: \"a/b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
            ],
        );
        check("ConfigMap", None, config_map(json!({ "a": "x".repeat(1024 * 1024) }), json!({})), &[]);
        check(
            "ConfigMap",
            None,
            config_map(json!({ "a": "x".repeat(1024 * 1024 + 1) }), json!({})),
            &["[]: Too long: may not be more than 1048576 bytes"],
        );
    }

    #[test]
    fn immutable_means_immutable() {
        let old = json!({ "immutable": true, "data": { "a": "1" } });
        check("ConfigMap", Some(old.clone()), old.clone(), &[]);
        check(
            "ConfigMap",
            Some(old),
            json!({ "data": { "a": "2" } }),
            &[
                "immutable: Forbidden: field is immutable when `immutable` is set",
                "data: Forbidden: field is immutable when `immutable` is set",
            ],
        );
    }

    #[test]
    fn secret_types_have_their_own_rules() {
        let secret = |kind: &str, data: Value| json!({ "type": kind, "data": data });
        check(
            "Secret",
            Some(secret("Opaque", json!({}))),
            secret("other", json!({})),
            &["type: Invalid value: \"other\": field is immutable"],
        );
        check(
            "Secret",
            None,
            secret("kubernetes.io/tls", json!({ "tls.crt": "" })),
            &["data[tls.key]: Required value"],
        );
        check(
            "Secret",
            None,
            secret("kubernetes.io/basic-auth", json!({})),
            &["data[username]: Required value", "data[password]: Required value"],
        );
        check(
            "Secret",
            None,
            secret("kubernetes.io/dockerconfigjson", json!({ ".dockerconfigjson": "e30=" })),
            &[],
        );
        check(
            "Secret",
            None,
            secret("kubernetes.io/service-account-token", json!({})),
            &["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
        );
    }
}
