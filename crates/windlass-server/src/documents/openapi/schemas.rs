//! The schemas that a document has: all that its operations refer to, and what these refer to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::components::{annotated, built_in, reference};
use super::{custom, names};
use windlass_model::{Origin, TypeInfo, Types};

const KINDS: &str = "x-kubernetes-group-version-kind";

/// Kinds that are no resources of their own.
const OTHER_KINDS: &[(&str, &str, &str, &str)] = &[
    ("authentication.v1.TokenRequest", "authentication.k8s.io", "v1", "TokenRequest"),
    ("autoscaling.v1.Scale", "autoscaling", "v1", "Scale"),
    ("core.v1.Binding", "", "v1", "Binding"),
    ("meta.v1.APIGroup", "", "v1", "APIGroup"),
    ("meta.v1.APIGroupList", "", "v1", "APIGroupList"),
    ("meta.v1.APIResourceList", "", "v1", "APIResourceList"),
    ("meta.v1.APIVersions", "", "v1", "APIVersions"),
    ("meta.v1.Status", "", "v1", "Status"),
    ("policy.v1.Eviction", "policy", "v1", "Eviction"),
];

/// Everything that documents may refer to.
pub(super) struct Schemas<'a> {
    /// By the name of the schema; whether it is that of the list.
    kinds: BTreeMap<String, (&'a TypeInfo, bool)>,
    /// All versions of all groups of Kubernetes itself: definitions change nothing about these.
    versions: BTreeSet<(&'a str, &'a str)>,
}

impl<'a> Schemas<'a> {
    /// What can be said of some types.
    pub(super) fn of(types: &'a Types) -> Self {
        let (mut kinds, mut versions) = (BTreeMap::new(), BTreeSet::new());
        for info in types.iter().map(Arc::as_ref) {
            kinds.insert(names::object(info), (info, false));
            kinds.insert(names::list(info), (info, true));
            if info.origin == Origin::BuiltIn {
                versions.insert((info.resource.group.as_str(), info.resource.version.as_str()));
            }
        }
        Schemas { kinds, versions }
    }

    /// All schemas that something refers to, directly or not.
    pub(super) fn closure(&self, root: &Value) -> Map<String, Value> {
        let mut waiting = BTreeSet::new();
        collect_references(root, &mut waiting);
        let mut done = Map::new();
        while let Some(name) = waiting.pop_first() {
            if done.contains_key(&name) {
                continue;
            }
            let schema = self.get(&name).unwrap_or_else(|| json!({}));
            collect_references(&schema, &mut waiting);
            done.insert(name, schema);
        }
        done
    }

    /// A schema by its full name.
    fn get(&self, name: &str) -> Option<Value> {
        match self.kinds.get(name) {
            Some((info, true)) => Some(list_schema(info)),
            Some((info, false)) => Some(object_schema(info, name)),
            None => {
                let mut schema = built_in(name)?;
                if let Some(kinds) = names::short(name).and_then(|short| self.other_kinds(short)) {
                    schema[KINDS] = kinds;
                }
                Some(schema)
            }
        }
    }

    fn other_kinds(&self, short: &str) -> Option<Value> {
        if let "meta.v1.DeleteOptions" | "meta.v1.WatchEvent" = short {
            let kind = short.trim_start_matches("meta.v1.");
            return Some(
                self.versions.iter().map(|(group, version)| kind_of(group, version, kind)).collect(),
            );
        }
        let known = OTHER_KINDS.iter().find(|(name, ..)| *name == short)?;
        Some(json!([kind_of(known.1, known.2, known.3)]))
    }
}

fn collect_references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(target)) = fields.get("$ref") {
                found.extend(target.strip_prefix("#/components/schemas/").map(str::to_owned));
            }
            fields.values().for_each(|field| collect_references(field, found));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, found)),
        _ => {}
    }
}

fn object_schema(info: &TypeInfo, name: &str) -> Value {
    let mut schema = match info.origin {
        Origin::BuiltIn => {
            let mut schema = built_in(name).unwrap_or_else(|| json!({ "type": "object" }));
            let api_version =
                windlass_model::object::api_version(&info.resource.group, &info.resource.version);
            schema["description"] = format!("{} of {api_version}", info.kind).into();
            schema
        }
        Origin::Custom => custom::schema(info),
    };
    schema[KINDS] = json!([kind_of(&info.resource.group, &info.resource.version, &info.kind)]);
    add_selectable_fields(&mut schema, info);
    schema
}

fn list_schema(info: &TypeInfo) -> Value {
    let default = || Map::from_iter([("default".to_owned(), json!({}))]);
    let (item, meta) = (reference(&names::object(info)), reference(&names::component("meta.v1.ListMeta")));
    let (item, meta) = match info.origin {
        Origin::BuiltIn => (annotated(item, default()), annotated(meta, default())),
        Origin::Custom => (item, meta),
    };
    let mut schema = json!({
        "description": format!("A list of objects of kind {}", info.kind),
        "type": "object",
        "properties": {
            "apiVersion": { "type": "string" },
            "kind": { "type": "string" },
            "metadata": meta,
            "items": { "type": "array", "items": item },
        },
        "required": ["items"],
        KINDS: [kind_of(&info.resource.group, &info.resource.version, &info.list_kind)],
    });
    add_selectable_fields(&mut schema, info);
    schema
}

/// Adds the fields that selectors may use. Only custom types declare them.
fn add_selectable_fields(schema: &mut Value, info: &TypeInfo) {
    if info.origin == Origin::Custom && !info.selectable_fields.is_empty() {
        let paths = info.selectable_fields.iter().map(|path| json!({ "fieldPath": path }));
        schema["x-kubernetes-selectable-fields"] = paths.collect();
    }
}

fn kind_of(group: &str, version: &str, kind: &str) -> Value {
    json!({ "group": group, "version": version, "kind": kind })
}
