//! `cargo xtask types SWAGGER`: writes what the model knows about the built-in types.
//!
//! Shapes come from the OpenAPI v2 file of the Go module `k8s.io/kubernetes`; what OpenAPI does not say (which
//! zero values are dropped, which are written; the numbers of protobuf fields) comes from the Go modules that lie beside it in the module cache.
//! Only facts are taken: no descriptions.

mod go;
mod protobuf;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use go::{GoField, GoTypes};

/// The types that objects and subresources have; all that they refer to is written too.
const ROOTS: &[&str] = &[
    "admissionregistration.v1.MutatingWebhookConfiguration",
    "admissionregistration.v1.ValidatingAdmissionPolicy",
    "admissionregistration.v1.ValidatingAdmissionPolicyBinding",
    "admissionregistration.v1.ValidatingWebhookConfiguration",
    "admissionregistration.v1beta1.MutatingAdmissionPolicy",
    "admissionregistration.v1beta1.MutatingAdmissionPolicyBinding",
    "apiextensions.v1.CustomResourceDefinition",
    "apps.v1.ControllerRevision",
    "apps.v1.DaemonSet",
    "apps.v1.Deployment",
    "apps.v1.ReplicaSet",
    "apps.v1.StatefulSet",
    "authentication.v1.SelfSubjectReview",
    "authentication.v1.TokenRequest",
    "authentication.v1.TokenReview",
    "authorization.v1.LocalSubjectAccessReview",
    "authorization.v1.SelfSubjectAccessReview",
    "authorization.v1.SelfSubjectRulesReview",
    "authorization.v1.SubjectAccessReview",
    "autoscaling.v1.Scale",
    "autoscaling.v2.HorizontalPodAutoscaler",
    "batch.v1.CronJob",
    "batch.v1.Job",
    "coordination.v1.Lease",
    "core.v1.Binding",
    "core.v1.ConfigMap",
    "core.v1.Endpoints",
    "core.v1.Event",
    "core.v1.LimitRange",
    "core.v1.Namespace",
    "core.v1.Node",
    "core.v1.PersistentVolume",
    "core.v1.PersistentVolumeClaim",
    "core.v1.Pod",
    "core.v1.PodTemplate",
    "core.v1.ReplicationController",
    "core.v1.ResourceQuota",
    "core.v1.Secret",
    "core.v1.Service",
    "core.v1.ServiceAccount",
    "discovery.v1.EndpointSlice",
    "events.v1.Event",
    "meta.v1.APIGroup",
    "meta.v1.APIGroupList",
    "meta.v1.APIResourceList",
    "meta.v1.APIVersions",
    "meta.v1.DeleteOptions",
    "meta.v1.ListMeta",
    "meta.v1.Status",
    "meta.v1.WatchEvent",
    "networking.v1.Ingress",
    "networking.v1.IngressClass",
    "networking.v1.NetworkPolicy",
    "policy.v1.Eviction",
    "policy.v1.PodDisruptionBudget",
    "rbac.v1.ClusterRole",
    "rbac.v1.ClusterRoleBinding",
    "rbac.v1.Role",
    "rbac.v1.RoleBinding",
    "scheduling.v1.PriorityClass",
    "storage.v1.StorageClass",
    "version.Info",
];

/// Named types that are values of their own kind, and what the data file calls them.
const SCALARS: &[(&str, &str)] = &[
    ("apiextensions.v1.JSON", "json"),
    ("meta.v1.Duration", "duration"),
    ("meta.v1.FieldsV1", "fields"),
    ("meta.v1.MicroTime", "micro-time"),
    ("meta.v1.Time", "time"),
    ("resource.Quantity", "quantity"),
    ("runtime.RawExtension", "raw-extension"),
    ("util.intstr.IntOrString", "int-or-string"),
];

const HEADER: &str = "\
# The built-in types of Kubernetes, as facts. Made by `cargo xtask types SWAGGER`; not edited by hand.
# A line at the margin names a type, which may be atomic, or of any JSON type; each indented line is a field: name, type,
# then what else is known:
#   [T] list, {T} map with string keys; atomic, set, map=KEYS: how server-side apply identifies items;
#   granular: not atomic here though its type is; enum=VALUES: no other strings; merge, merge=KEY, retain-keys, replace:
#   strategic merge; required; omit-zero: an empty value is dropped;
#   default=JSON: what an absent value becomes.
";

/// Reads the OpenAPI file and the Go modules beside it, and writes the data files.
pub(crate) fn generate(swagger: &Path, types: &Path, messages: &Path) -> Result<()> {
    let text = fs::read_to_string(swagger).with_context(|| format!("reading {}", swagger.display()))?;
    let document: Value = serde_json::from_str(&text).context("the OpenAPI file is not JSON")?;
    let definitions = by_short_name(&document)?;
    let go = GoTypes::beside(swagger)?;
    let data = render(&definitions, &go)?;
    fs::write(types, data).with_context(|| format!("writing {}", types.display()))?;
    protobuf::generate(swagger, &go, messages)
}

/// All definitions under the names that the data file uses.
fn by_short_name(document: &Value) -> Result<BTreeMap<String, &Value>> {
    let definitions = document["definitions"].as_object().context("the OpenAPI file has no definitions")?;
    Ok(definitions.iter().map(|(name, definition)| (short_name(name), definition)).collect())
}

/// `io.k8s.api.core.v1.Pod` is `core.v1.Pod`, `io.k8s.apimachinery.pkg.apis.meta.v1.Time` is `meta.v1.Time`.
fn short_name(name: &str) -> String {
    for prefix in [
        "io.k8s.apimachinery.pkg.apis.",
        "io.k8s.apimachinery.pkg.api.",
        "io.k8s.apimachinery.pkg.",
        "io.k8s.apiextensions-apiserver.pkg.apis.",
        "io.k8s.api.",
    ] {
        if let Some(short) = name.strip_prefix(prefix) {
            return short.to_owned();
        }
    }
    name.to_owned()
}

/// The data file: every root and all it refers to, by name.
fn render(definitions: &BTreeMap<String, &Value>, go: &GoTypes) -> Result<String> {
    let mut sections = BTreeMap::new();
    let mut waiting: BTreeSet<String> = ROOTS.iter().map(|root| (*root).to_owned()).collect();
    while let Some(name) = waiting.pop_first() {
        let definition =
            definitions.get(&name).with_context(|| format!("there is no definition of {name}"))?;
        let section = render_type(&name, definition, go, &mut waiting)?;
        sections.insert(name, section);
        waiting.retain(|other| !sections.contains_key(other));
    }
    Ok(sections.into_values().fold(HEADER.to_owned(), |data, section| data + "\n" + &section))
}

fn render_type(name: &str, definition: &Value, go: &GoTypes, found: &mut BTreeSet<String>) -> Result<String> {
    let mut section = name.to_owned();
    if definition["x-kubernetes-map-type"] == "atomic" {
        section.push_str(" atomic");
    }
    if definition["type"].is_null() {
        section.push_str(" any");
    }
    section.push('\n');
    let empty = serde_json::Map::new();
    for (field, schema) in definition["properties"].as_object().unwrap_or(&empty) {
        let type_ref = type_ref(schema, found).with_context(|| format!("{name}.{field}"))?;
        let required =
            definition["required"].as_array().is_some_and(|all| all.contains(&field.as_str().into()));
        let go_field = go.field(name, field)?;
        let values = go_field.as_ref().map(|field| go.allowed_values(name, field)).unwrap_or_default();
        let values = if values.is_empty() { String::new() } else { format!(" enum={}", values.join(",")) };
        let flags = flags(schema, required, &type_ref, go_field.as_ref());
        writeln!(section, "  {field} {type_ref}{values}{flags}")?;
    }
    Ok(section)
}

/// How the data file writes the type of a value. Named types that it meets are added to `found`.
fn type_ref(schema: &Value, found: &mut BTreeSet<String>) -> Result<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = short_name(reference.trim_start_matches("#/definitions/"));
        if let Some((_, scalar)) = SCALARS.iter().find(|(scalar, _)| *scalar == name) {
            return Ok((*scalar).to_owned());
        }
        found.insert(name.clone());
        return Ok(name);
    }
    Ok(match (schema["type"].as_str(), schema["format"].as_str()) {
        (Some("array"), _) => format!("[{}]", type_ref(&schema["items"], found)?),
        (Some("object"), _) if schema["additionalProperties"].is_object() => {
            format!("{{{}}}", type_ref(&schema["additionalProperties"], found)?)
        }
        (Some("object") | None, _) => "any".to_owned(),
        (Some("integer"), Some(format)) => format.to_owned(),
        (Some("string"), Some("byte")) => "bytes".to_owned(),
        (Some(scalar @ ("integer" | "number" | "boolean" | "string")), _) => scalar.to_owned(),
        (Some(other), _) => bail!("the type {other} is not known"),
    })
}

/// What stands after the type on the line of a field.
fn flags(schema: &Value, required: bool, type_ref: &str, go: Option<&GoField>) -> String {
    let mut flags = String::new();
    match schema["x-kubernetes-list-type"].as_str() {
        Some("set") => flags.push_str(" set"),
        Some("map") => {
            let keys: Vec<&str> = schema["x-kubernetes-list-map-keys"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            flags.push_str(&format!(" map={}", keys.join(",")));
        }
        // A list is atomic by default too, but documents of the API repeat what was declared.
        _ => {}
    }
    if schema["x-kubernetes-map-type"] == "granular" {
        flags.push_str(" granular");
    }
    if schema["x-kubernetes-map-type"] == "atomic" || schema["x-kubernetes-list-type"] == "atomic" {
        flags.push_str(" atomic");
    }
    let strategy = schema["x-kubernetes-patch-strategy"].as_str().unwrap_or("");
    if strategy.split(',').any(|part| part == "merge") {
        flags.push_str(" merge");
        if let Some(key) = schema["x-kubernetes-patch-merge-key"].as_str() {
            flags.push_str(&format!("={key}"));
        }
    }
    if strategy.split(',').any(|part| part == "retainKeys") {
        flags.push_str(" retain-keys");
    }
    if strategy == "replace" {
        flags.push_str(" replace");
    }
    if required {
        flags.push_str(" required");
    }
    if let Some(go) = go {
        flags.push_str(&go.flags(type_ref));
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_are_shortened() {
        for (long, short) in [
            ("io.k8s.api.core.v1.Pod", "core.v1.Pod"),
            ("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "meta.v1.ObjectMeta"),
            ("io.k8s.apimachinery.pkg.api.resource.Quantity", "resource.Quantity"),
            ("io.k8s.apimachinery.pkg.util.intstr.IntOrString", "util.intstr.IntOrString"),
            ("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON", "apiextensions.v1.JSON"),
        ] {
            assert_eq!(short_name(long), short);
        }
    }

    #[test]
    fn types_are_written_short() {
        let pod = json!({ "$ref": "#/definitions/io.k8s.api.core.v1.Pod" });
        for (schema, expected) in [
            (pod.clone(), "core.v1.Pod"),
            (json!({ "type": "array", "items": pod }), "[core.v1.Pod]"),
            (json!({ "type": "object", "additionalProperties": { "type": "string" } }), "{string}"),
            (json!({ "type": "object" }), "any"),
            (json!({ "type": "integer", "format": "int32" }), "int32"),
            (json!({ "type": "string", "format": "byte" }), "bytes"),
            (json!({ "$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Time" }), "time"),
        ] {
            assert_eq!(type_ref(&schema, &mut BTreeSet::new()).unwrap(), expected);
        }
        let mut found = BTreeSet::new();
        type_ref(
            &json!({ "type": "array", "items": { "$ref": "#/definitions/io.k8s.api.core.v1.Pod" } }),
            &mut found,
        )
        .unwrap();
        assert_eq!(found, ["core.v1.Pod".to_owned()].into());
        assert!(type_ref(&json!({ "type": "file" }), &mut BTreeSet::new()).is_err());
    }

    #[test]
    fn list_and_merge_facts_become_flags() {
        let ports = json!({
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["containerPort", "protocol"],
            "x-kubernetes-patch-strategy": "merge,retainKeys",
            "x-kubernetes-patch-merge-key": "containerPort",
        });
        assert_eq!(
            flags(&ports, true, "[x]", None),
            " map=containerPort,protocol merge=containerPort retain-keys required"
        );
        assert_eq!(flags(&json!({ "x-kubernetes-list-type": "atomic" }), false, "[x]", None), " atomic");
        assert_eq!(flags(&json!({ "x-kubernetes-map-type": "atomic" }), false, "{string}", None), " atomic");
    }
}
