//! A divider: it passes packets between the networks of a VPC.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass::MachineStatus;

use super::phase::Phase;

/// Passes packets between the networks of a VPC: it knows the bouncers of each. The VPC operator creates it.
#[derive(CustomResource, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "mizar.com",
    version = "v1",
    kind = "Divider",
    namespaced,
    shortname = "divd",
    status = "DividerStatus",
    derive = "PartialEq",
    selectable = ".spec.vpc",
    printcolumn = r#"{"name":"Vpc","type":"string","jsonPath":".spec.vpc"}"#,
    printcolumn = r#"{"name":"Droplet","type":"string","jsonPath":".status.droplet"}"#,
    printcolumn = r#"{"name":"Ip","type":"string","jsonPath":".status.ip"}"#,
    printcolumn = r#"{"name":"Vni","type":"integer","jsonPath":".status.vni"}"#,
    printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase"}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].reason"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct DividerSpec {
    /// The VPC that it belongs to.
    pub vpc: String,
    /// Ignored. Mizar kept its state here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

/// What the operators know of a divider.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DividerStatus {
    /// What the framework keeps.
    #[serde(flatten)]
    pub machine: MachineStatus,
    /// What the operators keep.
    #[serde(flatten)]
    pub state: DividerState,
}

/// What the operators keep of a divider: the droplet operator where it is, the bouncer operator the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DividerState {
    /// Whether it works.
    #[serde(default)]
    pub phase: Phase,
    /// The VNI of its VPC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vni: Option<u32>,
    /// The droplet that it was placed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub droplet: Option<String>,
    /// The address of that droplet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip: Option<String>,
    /// The MAC address of that droplet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
    /// Where it was before, until nothing of it is left there.
    #[serde(default)]
    pub left: Vec<String>,
    /// The droplet on which it has all bouncers of its VPC, and they have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bouncers_on: Option<String>,
    /// The bouncers that knew it then.
    #[serde(default)]
    pub bouncers: Vec<String>,
}

impl Divider {
    /// What the operators keep.
    pub fn state(&self) -> DividerState {
        self.status.as_ref().map(|status| status.state.clone()).unwrap_or_default()
    }
}
