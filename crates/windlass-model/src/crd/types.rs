//! The types that an established CRD makes.

use std::sync::Arc;

use serde_json::Value;

use super::versions::compare_versions;
use super::{condition, list, text};
use crate::request::ResourceId;
use crate::schema::{Schema, read_checked};
use crate::types::reading::Reading;
use crate::types::{Column, Origin, Scale, TypeInfo};

/// The served versions of a CRD; none until it is established.
pub(crate) fn types_of(crd: &Value) -> Vec<TypeInfo> {
    if condition(crd, "Established") != "True" {
        return Vec::new();
    }
    let versions = list(&crd["spec"], "versions").iter();
    versions.filter(|version| version["served"] == true).map(|version| type_of(crd, version)).collect()
}

fn type_of(crd: &Value, version: &Value) -> TypeInfo {
    let spec = &crd["spec"];
    let accepted = &crd["status"]["acceptedNames"];
    let names = if text(accepted, "plural").is_empty() { &spec["names"] } else { accepted };
    let strings = |field: &str| {
        list(names, field).iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
    };
    let storage = list(spec, "versions").iter().find(|version| version["storage"] == true);
    let schema = Arc::new(schema_of(version));
    let same_version = version["storage"] == true;
    let stored = match storage.filter(|_| !same_version) {
        Some(storage) => Arc::new(schema_of(storage)),
        None => Arc::clone(&schema),
    };
    TypeInfo {
        resource: ResourceId::new(text(spec, "group"), text(version, "name"), text(names, "plural")),
        kind: text(names, "kind").to_owned(),
        list_kind: text(names, "listKind").to_owned(),
        singular: text(names, "singular").to_owned(),
        short_names: strings("shortNames"),
        categories: strings("categories"),
        namespaced: text(spec, "scope") == "Namespaced",
        has_status: version["subresources"]["status"].is_object(),
        scale: scale_of(&version["subresources"]["scale"]),
        reading: Reading::of(stored, &schema, same_version),
        schema,
        open_api: open_api_of(version).cloned().map(Arc::new),
        origin: Origin::Custom,
        storage_version: storage.map_or("", |storage| text(storage, "name")).to_owned(),
        columns: columns_of(version),
        selectable_fields: selectable_fields_of(version),
        has_generation: true,
        deprecation: deprecation_of(spec, version),
    }
}

/// A version without a schema keeps everything.
fn schema_of(version: &Value) -> Schema {
    match open_api_of(version) {
        Some(open_api) => read_checked(open_api),
        None => Schema { preserve_unknown: true, ..Schema::default() },
    }
}

fn open_api_of(version: &Value) -> Option<&Value> {
    version["schema"].get("openAPIV3Schema").filter(|open_api| open_api.is_object())
}

fn scale_of(scale: &Value) -> Option<Scale> {
    scale.as_object()?;
    Some(Scale {
        spec_replicas: text(scale, "specReplicasPath").to_owned(),
        status_replicas: text(scale, "statusReplicasPath").to_owned(),
        label_selector: Some(text(scale, "labelSelectorPath"))
            .filter(|path| !path.is_empty())
            .map(str::to_owned),
    })
}

/// The columns of the CRD, or the age alone.
fn columns_of(version: &Value) -> Vec<Column> {
    let columns: Vec<Column> = list(version, "additionalPrinterColumns").iter().map(column_of).collect();
    if columns.is_empty() { vec![age()] } else { columns }
}

fn column_of(column: &Value) -> Column {
    Column {
        name: text(column, "name").to_owned(),
        kind: text(column, "type").to_owned(),
        format: text(column, "format").to_owned(),
        description: text(column, "description").to_owned(),
        priority: column["priority"].as_i64().and_then(|priority| i32::try_from(priority).ok()).unwrap_or(0),
        json_path: text(column, "jsonPath").to_owned(),
    }
}

/// The column that every table without columns of its own has.
fn age() -> Column {
    Column {
        name: "Age".to_owned(),
        kind: "date".to_owned(),
        format: String::new(),
        description: "When the object was created, set by the server.".to_owned(),
        priority: 0,
        json_path: ".metadata.creationTimestamp".to_owned(),
    }
}

fn selectable_fields_of(version: &Value) -> Vec<String> {
    let fields = list(version, "selectableFields").iter();
    fields.map(|field| text(field, "jsonPath").trim_start_matches('.').to_owned()).collect()
}

/// The warning of a deprecated version names the best version to use instead, unless the CRD has its own.
fn deprecation_of(spec: &Value, version: &Value) -> Option<String> {
    if version["deprecated"] != true {
        return None;
    }
    if let Some(warning) = version["deprecationWarning"].as_str() {
        return Some(warning.to_owned());
    }
    let (group, kind, name) = (text(spec, "group"), text(&spec["names"], "kind"), text(version, "name"));
    let better = list(spec, "versions")
        .iter()
        .filter(|other| other["served"] == true && other["deprecated"] != true)
        .map(|other| text(other, "name"))
        .filter(|other| compare_versions(name, other).is_lt())
        .max_by(|left, right| compare_versions(left, right));
    let instead = better.map(|better| format!("; use {group}/{better} {kind}")).unwrap_or_default();
    Some(format!("{group}/{name} {kind} is deprecated{instead}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::Shape;

    fn crd() -> Value {
        let schema =
            json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "string"}}}});
        json!({
            "spec": {"group": "g.io", "scope": "Namespaced",
                "names": {"kind": "Foo", "plural": "foos", "singular": "foo", "listKind": "FooList", "shortNames": ["f"]},
                "versions": [
                    {"name": "v1beta1", "served": true, "storage": false, "deprecated": true, "schema": schema},
                    {"name": "v1", "served": true, "storage": true, "schema": schema,
                        "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.r", "statusReplicasPath": ".status.r"}},
                        "selectableFields": [{"jsonPath": ".spec.color"}],
                        "additionalPrinterColumns": [{"name": "R", "type": "integer", "jsonPath": ".spec.r", "priority": 1}]},
                    {"name": "v2", "served": false, "storage": false},
                ]},
            "status": {"conditions": [{"type": "Established", "status": "True"}]},
        })
    }

    #[test]
    fn served_versions_become_types() {
        let types = types_of(&crd());
        let names: Vec<&str> = types.iter().map(|info| info.resource.version.as_str()).collect();
        assert_eq!(names, ["v1beta1", "v1"]);
        let [old, new] = &types[..] else { panic!("two versions") };
        assert_eq!(old.deprecation.as_deref(), Some("g.io/v1beta1 Foo is deprecated; use g.io/v1 Foo"));
        assert_eq!((old.has_status, old.columns.len(), old.columns[0].name.as_str()), (false, 1, "Age"));
        assert_eq!((new.has_status, new.namespaced, new.has_generation), (true, true, true));
        assert_eq!(new.scale.as_ref().unwrap().spec_replicas, ".spec.r");
        assert_eq!((new.short_names[0].as_str(), new.selectable_fields[0].as_str()), ("f", "spec.color"));
        assert_eq!((new.columns[0].name.as_str(), new.columns[0].priority), ("R", 1));
        assert_eq!(new.storage_version, "v1");
        assert_eq!(new.schema.field("spec").unwrap().shape, Shape::String);
    }

    #[test]
    fn nothing_is_served_before_it_is_established() {
        let mut crd = crd();
        crd["status"]["conditions"][0]["status"] = "False".into();
        assert_eq!(types_of(&crd), Vec::new());
        for odd in [json!(null), json!([]), json!({"status": 1})] {
            assert_eq!(types_of(&odd), Vec::new());
        }
    }
}
