//! What a controller keeps in its parent's status: conditions, the generation it has seen, its inventory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kind::{KindInfo, ObjectRef};
use crate::outcome::Error;

/// The status fields that the framework writes. Use it as a CRD's status, or flatten it into one:
/// a structural schema drops what it does not name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineStatus {
    /// The generation that the last finished reconcile saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// One per state that names one, and Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// One per controller that reconciles this object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub controllers: Vec<ControllerRecord>,
}

/// A condition in the shape of `metav1.Condition`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What it is about.
    pub r#type: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, for programs.
    pub reason: String,
    /// Why, for people.
    pub message: String,
    /// The generation that this is about.
    #[serde(default)]
    pub observed_generation: i64,
    /// When `status` last changed, in RFC 3339.
    pub last_transition_time: String,
}

/// What one controller remembers between reconciles.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControllerRecord {
    /// The controller.
    pub name: String,
    /// The generation that its last finished reconcile saw.
    #[serde(default)]
    pub observed_generation: i64,
    /// Whether all was as it should be then. The parent is Ready only if every controller says so.
    #[serde(default)]
    pub ready: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why not, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The condition types that it has written, so that those of removed states can be removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<String>,
    /// The inventory: the outputs that exist, or may exist, in the order in which they were made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<OutputRecord>,
}

/// One output in the inventory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputRecord {
    /// `v1`
    pub api_version: String,
    /// `ConfigMap`
    pub kind: String,
    /// `configmaps`
    pub resource: String,
    /// Absent for cluster-scoped objects.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// Absent while it is not known to have been created.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// No owner reference ties it to its parent, so the garbage collector leaves it alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unowned: bool,
    /// It carries no labels: only this record knows of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untied: bool,
}

impl OutputRecord {
    pub(crate) fn new(kind: &KindInfo, key: &ObjectRef, uid: &str) -> Self {
        OutputRecord {
            api_version: kind.api_version(),
            kind: kind.kind.clone(),
            resource: kind.resource.plural.clone(),
            namespace: key.namespace.clone(),
            name: key.name.clone(),
            uid: uid.to_owned(),
            unowned: false,
            untied: false,
        }
    }

    pub(crate) fn key(&self) -> ObjectRef {
        ObjectRef::new(&self.namespace, &self.name)
    }

    /// The kind; known even if the machine of today does not declare it any more.
    pub(crate) fn kind_info(&self) -> KindInfo {
        let (group, version) = windlass_model::object::split_api_version(&self.api_version);
        KindInfo {
            resource: windlass_model::ResourceId::new(group, version, &self.resource),
            kind: self.kind.clone(),
            namespaced: !self.namespace.is_empty(),
        }
    }

    /// Whether both name the same object, whatever version or incarnation of it.
    pub(crate) fn same_object(&self, other: &OutputRecord) -> bool {
        let group =
            |record: &OutputRecord| record.api_version.rsplit_once('/').map(|(group, _)| group.to_owned());
        self.resource == other.resource
            && self.namespace == other.namespace
            && self.name == other.name
            && group(self) == group(other)
    }
}

/// The record of one controller in a parent's status; empty if there is none.
///
/// # Errors
/// When there is one that cannot be read: starting with an empty one would forget what it lists.
pub(crate) fn read_record(parent: &Value, controller: &str) -> Result<ControllerRecord, Error> {
    match raw_record(parent, controller) {
        None => Ok(ControllerRecord { name: controller.to_owned(), ..ControllerRecord::default() }),
        Some(raw) => ControllerRecord::deserialize(raw).map_err(|error| Error::Terminal {
            reason: "UnreadableRecord".to_owned(),
            message: format!(
                "status.controllers of {controller:?} cannot be read ({error}); fix or remove that entry"
            ),
        }),
    }
}

/// The record of one controller as it stands in a parent's status.
pub(crate) fn raw_record<'a>(parent: &'a Value, controller: &str) -> Option<&'a Value> {
    parent["status"]["controllers"].as_array()?.iter().find(|record| record["name"] == controller)
}

/// The records of the other controllers of a parent; what cannot be read is left out.
pub(crate) fn other_records(parent: &Value, controller: &str) -> Vec<ControllerRecord> {
    let records = parent["status"]["controllers"].as_array().into_iter().flatten();
    let others = records.filter(|record| record["name"] != controller);
    others.filter_map(|record| ControllerRecord::deserialize(record).ok()).collect()
}

/// The `status.controllers` of a parent with one controller's record added or replaced.
pub(crate) fn with_record(parent: &Value, record: &ControllerRecord) -> Value {
    let mut records = parent["status"]["controllers"].as_array().cloned().unwrap_or_default();
    let written = serde_json::to_value(record).unwrap_or_default();
    match records.iter_mut().find(|known| known["name"] == record.name.as_str()) {
        Some(known) => *known = written,
        None => records.push(written),
    }
    records.into()
}
