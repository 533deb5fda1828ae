//! What the server fills into a CRD before it is checked.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{list, text};
use crate::field::quoted;
use crate::schema::{decode_open_api, unknown_formats};

/// Drops unknown keywords from the schemas of a CRD and returns their paths.
///
/// The schemas nest without end, so no schema of the CRD itself can say what they hold.
///
/// # Errors
/// The message of Kubernetes' decoder, if a keyword has the wrong JSON type.
pub(crate) fn decode(crd: &mut Value) -> Result<Vec<String>, String> {
    let mut unknown = Vec::new();
    let versions =
        crd.get_mut("spec").and_then(|spec| spec.get_mut("versions")).and_then(Value::as_array_mut);
    for (index, version) in versions.into_iter().flatten().enumerate() {
        let open_api = version.get_mut("schema").and_then(|schema| schema.get_mut("openAPIV3Schema"));
        if let Some(open_api) = open_api.filter(|open_api| !open_api.is_null()) {
            let path = format!("spec.versions[{index}].schema.openAPIV3Schema");
            unknown.append(&mut decode_open_api(open_api, &path)?);
        }
    }
    Ok(unknown)
}

/// Sets the status of a CRD that is created or updated through its main resource: clients cannot write
/// it, and the storage version is always among the stored ones.
pub(crate) fn prepare(crd: &mut Value, old: Option<&Value>) {
    let mut status = match old {
        Some(old) => old["status"].clone(),
        None => {
            json!({ "conditions": null, "acceptedNames": { "plural": "", "kind": "" }, "storedVersions": [] })
        }
    };
    if let (Some(storage), Some(status)) = (storage_version(crd).map(str::to_owned), status.as_object_mut()) {
        let stored = status.entry("storedVersions").or_insert_with(|| json!([]));
        if !stored.is_array() {
            *stored = json!([]);
        }
        if let Some(stored) = stored.as_array_mut().filter(|stored| !stored.contains(&json!(storage))) {
            stored.push(storage.into());
        }
    }
    if let Some(map) = crd.as_object_mut() {
        map.insert("status".to_owned(), status);
    }
}

/// Fills in the names that follow from others, the conversion strategy, and the stored version.
pub(crate) fn set_defaults(crd: &mut Value) {
    let storage = storage_version(crd).map(str::to_owned);
    let kind = text(&crd["spec"]["names"], "kind").to_owned();
    if let Some(spec) = crd.get_mut("spec").and_then(Value::as_object_mut) {
        if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut).filter(|_| !kind.is_empty())
        {
            fill(names, "singular", kind.to_lowercase());
            fill(names, "listKind", format!("{kind}List"));
        }
        if spec.get("conversion").is_none_or(Value::is_null) {
            spec.insert("conversion".to_owned(), json!({ "strategy": "None" }));
        }
        let service = spec
            .get_mut("conversion")
            .and_then(|conversion| conversion.pointer_mut("/webhook/clientConfig/service"))
            .and_then(Value::as_object_mut);
        if let Some(service) = service {
            service.entry("port").or_insert(json!(443));
        }
    }
    if let (Some(storage), true) = (storage, list(&crd["status"], "storedVersions").is_empty()) {
        let Some(map) = crd.as_object_mut() else { return };
        let status = map.entry("status").or_insert_with(|| json!({}));
        if let Some(status) = status.as_object_mut() {
            status.insert("storedVersions".to_owned(), json!([storage]));
        }
    }
}

/// Sets a string that is missing or empty.
fn fill(map: &mut Map<String, Value>, field: &str, value: String) {
    if map.get(field).and_then(Value::as_str).unwrap_or("").is_empty() {
        map.insert(field.to_owned(), value.into());
    }
}

fn storage_version(crd: &Value) -> Option<&str> {
    let versions = list(&crd["spec"], "versions");
    versions.iter().find(|version| version["storage"] == true).map(|version| text(version, "name"))
}

/// What Kubernetes warns about when a CRD is written: formats that are not checked, if they are new.
pub(crate) fn warnings(crd: &Value, old: Option<&Value>) -> Vec<String> {
    let formats = |crd: &Value| -> Vec<String> {
        let versions = list(&crd["spec"], "versions").iter();
        versions.flat_map(|version| unknown_formats(&version["schema"]["openAPIV3Schema"])).collect()
    };
    let mut seen: BTreeSet<String> = old.map(&formats).unwrap_or_default().into_iter().collect();
    let new = formats(crd).into_iter().filter(|format| seen.insert(format.clone()));
    new.map(|format| format!("unrecognized format {}", quoted(&format))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crd() -> Value {
        json!({"spec": {"names": {"kind": "Foo", "plural": "foos"},
            "versions": [{"name": "v1", "served": true}, {"name": "v2", "storage": true}]}})
    }

    #[test]
    fn names_strategy_and_stored_version_are_filled_in() {
        let mut filled = crd();
        set_defaults(&mut filled);
        let names = json!({"kind": "Foo", "plural": "foos", "singular": "foo", "listKind": "FooList"});
        assert_eq!(filled["spec"]["names"], names);
        assert_eq!(filled["spec"]["conversion"], json!({"strategy": "None"}));
        assert_eq!(filled["status"], json!({"storedVersions": ["v2"]}));
        let mut again = filled.clone();
        set_defaults(&mut again);
        assert_eq!(again, filled);
    }

    #[test]
    fn clients_cannot_write_status() {
        let mut created = crd();
        created["status"] = json!({"storedVersions": ["v9"]});
        prepare(&mut created, None);
        let wanted = json!({"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v2"]});
        assert_eq!(created["status"], wanted);
        let mut old = crd();
        old["status"] = json!({"storedVersions": ["v1"], "conditions": [{"type": "Established"}]});
        let mut updated = crd();
        prepare(&mut updated, Some(&old));
        let wanted = json!({"storedVersions": ["v1", "v2"], "conditions": [{"type": "Established"}]});
        assert_eq!(updated["status"], wanted);
    }

    #[test]
    fn hostile_shapes_are_left_alone() {
        for mut odd in
            [json!(null), json!([]), json!({"spec": 1}), json!({"spec": {"names": [], "versions": {}}})]
        {
            set_defaults(&mut odd);
            prepare(&mut odd, Some(&json!(1)));
            assert_eq!(decode(&mut odd), Ok(vec![]));
        }
    }

    #[test]
    fn unknown_keywords_and_formats_are_named() {
        let mut crd = crd();
        crd["spec"]["versions"][0]["schema"] = json!({"openAPIV3Schema": {"type": "object", "foo": 1, "properties": {"a": {"type": "string", "format": "odd"}}}});
        assert_eq!(decode(&mut crd).unwrap(), ["spec.versions[0].schema.openAPIV3Schema.foo"]);
        assert_eq!(warnings(&crd, None), ["unrecognized format \"odd\""]);
        assert_eq!(warnings(&crd, Some(&crd)), Vec::<String>::new());
    }
}
