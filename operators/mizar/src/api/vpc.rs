//! A virtual private cloud: an address range of its own, identified in packets by a VNI.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass::MachineStatus;

use super::number::{Count, Prefix, Vni};
use super::phase::Phase;

/// A virtual private cloud: an address range of its own, and dividers that connect its networks.
#[derive(CustomResource, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "mizar.com",
    version = "v1",
    kind = "Vpc",
    namespaced,
    shortname = "vpc",
    status = "VpcStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Ip","type":"string","jsonPath":".spec.ip"}"#,
    printcolumn = r#"{"name":"Prefix","type":"string","jsonPath":".spec.prefix"}"#,
    printcolumn = r#"{"name":"Vni","type":"integer","jsonPath":".status.vni"}"#,
    printcolumn = r#"{"name":"Dividers","type":"integer","jsonPath":".status.dividers"}"#,
    printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase"}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].reason"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "self.ip == oldSelf.ip && self.prefix == oldSelf.prefix",
    "message": "ip and prefix cannot be changed; delete the VPC and create another",
}]))]
pub struct VpcSpec {
    /// The first address of the range.
    #[schemars(extend("format" = "ipv4", "maxLength" = 15))]
    pub ip: String,
    /// The length of the range's prefix.
    pub prefix: Prefix,
    /// How many dividers connect the networks of the VPC.
    #[serde(default)]
    pub dividers: Count,
    /// The VNI to use if it is free. Default: any that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vni: Option<Vni>,
    /// Ignored. Mizar kept its state here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

/// What the operators know of a VPC.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VpcStatus {
    /// What the framework keeps.
    #[serde(flatten)]
    pub machine: MachineStatus,
    /// What the VPC operator keeps.
    #[serde(flatten)]
    pub state: VpcState,
}

/// What the VPC operator keeps of a VPC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VpcState {
    /// Whether it works.
    #[serde(default)]
    pub phase: Phase,
    /// Its VNI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vni: Option<u32>,
    /// How many dividers work.
    #[serde(default)]
    pub dividers: u32,
}

impl Vpc {
    /// What the VPC operator keeps.
    pub fn state(&self) -> VpcState {
        self.status.as_ref().map(|status| status.state.clone()).unwrap_or_default()
    }
}
