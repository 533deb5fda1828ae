//! The CustomResourceDefinitions of controller managers and rings. By hand: deriving them would bring schemars in.

use serde_json::{Value, json};

use super::kinds::{GROUP, VERSION};

/// The definitions of `ControllerManagerType`, `ControllerManager` and `ControllerRing`.
pub fn definitions() -> Vec<Value> {
    let mut all = manager_definitions();
    all.push(ring_definition());
    all
}

/// The definitions of `ControllerManagerType` and `ControllerManager`: what [`Manager::managed`](crate::Manager::managed)
/// needs.
pub fn manager_definitions() -> Vec<Value> {
    vec![manager_type(), manager()]
}

/// The definition of `ControllerRing`. Who writes a ring also writes `status.instanceCount` and `status.epoch` (the
/// highest one), which only exist for the columns of `kubectl get`.
pub fn ring_definition() -> Value {
    let names = Names { kind: "ControllerRing", plural: "controllerrings", short: "ring" };
    let columns = json!([
        column("Locked", "boolean", ".status.locked"),
        column("Instances", "integer", ".status.instanceCount"),
        column("Epoch", "integer", ".status.epoch"),
    ]);
    definition(names, ring_spec(), Some(ring_status()), columns)
}

/// How a kind is called.
struct Names {
    kind: &'static str,
    plural: &'static str,
    short: &'static str,
}

fn definition(names: Names, spec: Value, status: Option<Value>, columns: Value) -> Value {
    let Names { kind, plural, short } = names;
    let mut version = json!({
        "name": VERSION, "served": true, "storage": true,
        "additionalPrinterColumns": columns,
        "schema": { "openAPIV3Schema": {
            "type": "object", "required": ["spec"], "properties": { "spec": spec },
        } },
    });
    if let Some(status) = status {
        version["schema"]["openAPIV3Schema"]["properties"]["status"] = status;
        version["subresources"] = json!({ "status": {} });
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{GROUP}") },
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {
                "kind": kind, "listKind": format!("{kind}List"),
                "plural": plural, "singular": kind.to_lowercase(), "shortNames": [short],
            },
            "versions": [version],
        },
    })
}

fn column(name: &str, of: &str, path: &str) -> Value {
    json!({ "name": name, "type": of, "jsonPath": path })
}

fn manager_type() -> Value {
    let names = Names { kind: "ControllerManagerType", plural: "controllermanagertypes", short: "cmtype" };
    let spec = json!({
        "type": "object",
        "required": ["controllers"],
        "properties": { "controllers": worker_counts("Which controllers the managers of this type run.") },
    });
    definition(names, spec, None, json!([column("Age", "date", ".metadata.creationTimestamp")]))
}

fn manager() -> Value {
    let names = Names { kind: "ControllerManager", plural: "controllermanagers", short: "cmgr" };
    let overrides =
        "Worker counts of this manager alone. A controller that is not listed has those of the type.";
    let spec = json!({
        "type": "object",
        "required": ["controllerManagerType"],
        "properties": {
            "controllerManagerType": {
                "type": "string", "minLength": 1, "description": "The name of a ControllerManagerType.",
            },
            "controllers": worker_counts(overrides),
        },
    });
    let columns = json!([
        column("Type", "string", ".spec.controllerManagerType"),
        column("Alive", "boolean", ".status.isAlive"),
        column("Last-Healthprobe", "date", ".status.lastHealthprobeAt"),
        column("Controllers", "string", ".status.controllerSummary"),
    ]);
    definition(names, spec, Some(manager_status()), columns)
}

fn manager_status() -> Value {
    let controller = json!({
        "type": "object",
        "required": ["type", "workers", "active"],
        "properties": { "type": controller_type(), "workers": count(), "active": count() },
    });
    json!({
        "type": "object",
        "description": "For people: no decision reads it. The heartbeat is the Lease.",
        "properties": {
            "isAlive": { "type": "boolean" },
            "lastHealthprobeAt": { "type": "string", "format": "date-time" },
            "lease": { "type": "string" },
            "leaseNamespace": { "type": "string" },
            "controllerSummary": { "type": "string", "description": "Workers and active reconciles of each controller." },
            "controllers": by_type(controller, ""),
        },
    })
}

/// A list of controllers with their numbers of workers.
fn worker_counts(description: &str) -> Value {
    let controller = json!({
        "type": "object",
        "required": ["type", "workers"],
        "properties": { "type": controller_type(), "workers": count() },
    });
    by_type(controller, description)
}

/// A list in which each controller occurs once.
fn by_type(items: Value, description: &str) -> Value {
    let mut list = json!({
        "type": "array", "items": items,
        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
    });
    if !description.is_empty() {
        list["description"] = description.into();
    }
    list
}

fn controller_type() -> Value {
    json!({ "type": "string", "minLength": 1, "description": "The name of a controller." })
}

fn count() -> Value {
    json!({ "type": "integer", "format": "int32", "minimum": 0 })
}

fn ring_spec() -> Value {
    let milliseconds = json!({ "type": "integer", "format": "int64", "minimum": 1 });
    json!({
        "type": "object",
        "required": ["controllerType"],
        "properties": {
            "controllerType": controller_type(),
            "slots": {
                "type": "integer", "format": "int32", "minimum": 1, "maximum": 32_768, "default": 4096,
                "description": "Number of slots: a power of two.",
            },
            "key": {
                "type": "string", "enum": ["uid", "namespace"], "default": "uid",
                "description": "What the slot of an object is computed from.",
            },
            "times": {
                "type": "object",
                "description": "The times that all instances have in common, in milliseconds.",
                "required": ["leaseMs", "renewMs", "requestMs"],
                "properties": { "leaseMs": milliseconds, "renewMs": milliseconds, "requestMs": milliseconds },
            },
            "leaseNamespace": {
                "type": "string", "minLength": 1, "description": "The namespace of the Leases.",
            },
            "namespaces": {
                "type": "array", "items": { "type": "string", "minLength": 1 }, "x-kubernetes-list-type": "set",
                "maxItems": 1_000,
                "description": "The namespaces of the objects. Default: all.",
            },
        },
        "x-kubernetes-validations": [{
            "rule": "self == oldSelf",
            "message": "the spec of a ring cannot change: delete the ring when no instance runs, and create another",
        }],
    })
}

fn ring_status() -> Value {
    let number = json!({ "type": "integer", "format": "int64", "minimum": 0 });
    let from_one = json!({ "type": "integer", "format": "int64", "minimum": 1 });
    let instance = json!({
        "type": "object",
        "required": ["instanceId", "incarnation"],
        "properties": {
            "instanceId": { "type": "string", "minLength": 1 },
            "incarnation": from_one,
            "lastHealthprobeAt": { "type": "string", "format": "date-time" },
            "leaving": { "type": "boolean" },
        },
    });
    let run = json!({
        "type": "object",
        "required": ["from", "to", "owner", "epoch", "phase"],
        "properties": {
            "from": number, "to": number, "owner": number, "epoch": from_one, "target": number,
            "phase": { "type": "string", "enum": ["Owned", "Draining"] },
            "clean": { "type": "boolean" },
        },
    });
    let condition = json!({
        "type": "object",
        "required": ["type", "status"],
        "properties": {
            "type": { "type": "string" }, "status": { "type": "string" }, "reason": { "type": "string" },
            "message": { "type": "string" }, "lastTransitionTime": { "type": "string", "format": "date-time" },
        },
    });
    json!({
        "type": "object",
        "properties": {
            "conditions": {
                "type": "array", "items": condition,
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
            },
            "locked": { "type": "boolean" },
            "lockHolder": { "type": "string" },
            "instances": {
                "type": "array", "items": instance,
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["instanceId"],
            },
            "slots": { "type": "array", "items": run, "x-kubernetes-list-type": "atomic" },
            "instanceCount": number,
            "epoch": number,
        },
    })
}
