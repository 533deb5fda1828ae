//! The custom resource, and the objects that are made for it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::CustomResource;
use kube::core::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass::MachineStatus;

/// What the user asks for: a value that both ConfigMaps carry.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "example.windlass.dev",
    version = "v1",
    kind = "Pair",
    namespaced,
    status = "MachineStatus",
    derive = "Default",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].reason"}"#
)]
pub struct PairSpec {
    /// The value that both ConfigMaps carry.
    pub value: String,
}

/// A `Pair` in the namespace `default`.
pub fn pair(name: &str) -> Pair {
    let mut pair = Pair::new(name, PairSpec { value: "hello".to_owned() });
    pair.metadata.namespace = Some("default".to_owned());
    pair
}

/// One of the ConfigMaps of a `Pair`: `a-cm1` for the pair `a`.
pub fn config_map(suffix: &str, pair: &Pair) -> ConfigMap {
    let name = pair.metadata.name.clone().unwrap_or_default();
    ConfigMap {
        metadata: ObjectMeta { name: Some(format!("{name}-{suffix}")), ..ObjectMeta::default() },
        data: Some(BTreeMap::from([("value".to_owned(), pair.spec.value.clone())])),
        ..ConfigMap::default()
    }
}
