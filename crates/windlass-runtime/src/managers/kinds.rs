//! The objects that configure managers and show their state, as they are read and written.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass::KindInfo;
use windlass::model::{ResourceId, object};

/// The group of all kinds of controller managers.
pub const GROUP: &str = "windlass.dev";
/// Its version.
pub const VERSION: &str = "v1alpha1";

/// The kind `ControllerManagerType`: which controllers a type of managers runs. Its name is the type.
pub fn manager_types() -> KindInfo {
    kind("ControllerManagerType", "controllermanagertypes")
}

/// The kind `ControllerManager`: one manager. Its name is the id of the manager.
pub fn managers() -> KindInfo {
    kind("ControllerManager", "controllermanagers")
}

fn kind(kind: &str, plural: &str) -> KindInfo {
    let resource = ResourceId::new(GROUP, VERSION, plural);
    KindInfo { resource, kind: kind.to_owned(), namespaced: false }
}

/// How many workers a controller has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ControllerWorkers {
    /// The name of the controller.
    #[serde(rename = "type")]
    pub controller: String,
    /// Maximum number of concurrent reconciles; 0 pauses the controller.
    pub workers: u32,
}

/// The spec of a `ControllerManagerType`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ControllerManagerTypeSpec {
    /// Which controllers its managers run.
    pub controllers: Vec<ControllerWorkers>,
}

/// The spec of a `ControllerManager`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ControllerManagerSpec {
    /// The name of its `ControllerManagerType`.
    pub controller_manager_type: String,
    /// Worker counts of this manager alone. A controller that is not listed has those of the type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub controllers: Vec<ControllerWorkers>,
}

/// The status of a `ControllerManager`, for people: no decision reads it. The heartbeat is the Lease.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ControllerManagerStatus {
    /// Whether its Lease is renewed.
    pub is_alive: bool,
    /// When its Lease was last renewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_healthprobe_at: Option<String>,
    /// The name of its Lease.
    pub lease: String,
    /// The namespace of its Lease.
    pub lease_namespace: String,
    /// `deployment 5/2, scaleset 10/0`: workers and active reconciles of each controller, for a column of a table.
    pub controller_summary: String,
    /// Its controllers.
    pub controllers: Vec<ControllerStatus>,
}

/// A controller of a manager.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ControllerStatus {
    /// Its name.
    #[serde(rename = "type")]
    pub controller: String,
    /// Maximum number of concurrent reconciles.
    pub workers: u32,
    /// Number of active reconciles.
    pub active: u32,
}

impl ControllerManagerTypeSpec {
    /// Reads the spec of an object. What the CRD would reject is left out.
    pub(super) fn of(object: &Value) -> Self {
        serde_json::from_value(object["spec"].clone()).unwrap_or_default()
    }
}

/// A `ControllerManager`, as far as managers need it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ControllerManager {
    pub(super) id: String,
    pub(super) uid: String,
    pub(super) version: String,
    pub(super) spec: ControllerManagerSpec,
    pub(super) status: ControllerManagerStatus,
}

impl ControllerManager {
    /// Reads an object. What the CRD would reject is left out.
    pub(super) fn of(value: &Value) -> Self {
        ControllerManager {
            id: object::name(value).to_owned(),
            uid: object::uid(value).to_owned(),
            version: object::resource_version(value).to_owned(),
            spec: serde_json::from_value(value["spec"].clone()).unwrap_or_default(),
            status: serde_json::from_value(value["status"].clone()).unwrap_or_default(),
        }
    }
}

/// `deployment 5/2, scaleset 10/0`: the workers and the active reconciles of each controller.
pub fn controller_summary(controllers: &[ControllerStatus]) -> String {
    let one =
        |status: &ControllerStatus| format!("{} {}/{}", status.controller, status.workers, status.active);
    controllers.iter().map(one).collect::<Vec<_>>().join(", ")
}
