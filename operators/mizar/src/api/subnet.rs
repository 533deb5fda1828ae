//! A network: a range within a VPC, whose endpoints reach each other through its bouncers.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass::MachineStatus;

use super::number::{Count, Prefix, Vni};
use super::phase::Phase;

/// A network within a VPC, and bouncers that pass packets between its endpoints.
#[derive(CustomResource, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "mizar.com",
    version = "v1",
    kind = "Subnet",
    namespaced,
    shortname = "subnet",
    status = "SubnetStatus",
    derive = "PartialEq",
    selectable = ".spec.vpc",
    printcolumn = r#"{"name":"Vpc","type":"string","jsonPath":".spec.vpc"}"#,
    printcolumn = r#"{"name":"Ip","type":"string","jsonPath":".spec.ip"}"#,
    printcolumn = r#"{"name":"Prefix","type":"string","jsonPath":".spec.prefix"}"#,
    printcolumn = r#"{"name":"Bouncers","type":"string","jsonPath":".spec.bouncers"}"#,
    printcolumn = r#"{"name":"Available","type":"integer","jsonPath":".status.available"}"#,
    printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase"}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].reason"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "self.ip == oldSelf.ip && self.prefix == oldSelf.prefix && self.vpc == oldSelf.vpc",
    "message": "ip, prefix and vpc cannot be changed; delete the subnet and create another",
}]))]
pub struct SubnetSpec {
    /// The first address of the range.
    #[schemars(extend("format" = "ipv4", "maxLength" = 15))]
    pub ip: String,
    /// The length of the range's prefix.
    pub prefix: Prefix,
    /// The VPC that the network is a part of.
    #[schemars(extend("minLength" = 1, "maxLength" = 63))]
    pub vpc: String,
    /// How many bouncers pass its packets.
    #[serde(default)]
    pub bouncers: Count,
    /// Addresses and ranges (`10.0.0.16/28`) that no endpoint gets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("maxItems" = 64))]
    pub exclude_ips: Vec<String>,
    /// Ignored: the VNI is that of the VPC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vni: Option<Vni>,
    /// Ignored. Mizar kept its state here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

/// What the operators know of a network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubnetStatus {
    /// What the framework keeps.
    #[serde(flatten)]
    pub machine: MachineStatus,
    /// What the network operator keeps.
    #[serde(flatten)]
    pub state: SubnetState,
}

/// What the network operator keeps of a network.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubnetState {
    /// Whether it works.
    #[serde(default)]
    pub phase: Phase,
    /// The VNI of its VPC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vni: Option<u32>,
    /// The address of its gateway, the first of the range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
    /// How many addresses endpoints have. Brought up to date every few seconds.
    #[serde(default)]
    pub used: u32,
    /// How many addresses are free. Brought up to date every few seconds.
    #[serde(default)]
    pub available: u32,
}

impl Subnet {
    /// What the network operator keeps.
    pub fn state(&self) -> SubnetState {
        self.status.as_ref().map(|status| status.state.clone()).unwrap_or_default()
    }
}
