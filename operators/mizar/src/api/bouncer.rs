//! A bouncer: it passes packets between the endpoints of a network.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass::MachineStatus;

use super::number::Prefix;
use super::phase::Phase;

/// Passes packets between the endpoints of a network: it knows each of them, and the dividers of the VPC. The network
/// operator creates it.
#[derive(CustomResource, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "mizar.com",
    version = "v1",
    kind = "Bouncer",
    namespaced,
    shortname = "bncr",
    status = "BouncerStatus",
    derive = "PartialEq",
    selectable = ".spec.vpc",
    selectable = ".spec.net",
    printcolumn = r#"{"name":"Vpc","type":"string","jsonPath":".spec.vpc"}"#,
    printcolumn = r#"{"name":"Net","type":"string","jsonPath":".spec.net"}"#,
    printcolumn = r#"{"name":"Droplet","type":"string","jsonPath":".status.droplet"}"#,
    printcolumn = r#"{"name":"Ip","type":"string","jsonPath":".status.ip"}"#,
    printcolumn = r#"{"name":"Vni","type":"integer","jsonPath":".status.vni"}"#,
    printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase"}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].reason"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct BouncerSpec {
    /// The VPC of its network.
    pub vpc: String,
    /// Its network.
    pub net: String,
    /// The first address of the network.
    pub nip: String,
    /// The length of the network's prefix.
    pub prefix: Prefix,
    /// Ignored. Mizar kept its state here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

/// What the operators know of a bouncer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BouncerStatus {
    /// What the framework keeps.
    #[serde(flatten)]
    pub machine: MachineStatus,
    /// What the operators keep.
    #[serde(flatten)]
    pub state: BouncerState,
}

/// What the operators keep of a bouncer: the droplet operator where it is, the endpoint operator what concerns its
/// endpoints, the divider operator the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BouncerState {
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
    /// The droplet on which it has all endpoints of its network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoints_on: Option<String>,
    /// How many endpoints it knew when it was placed.
    #[serde(default)]
    pub endpoints: u32,
    /// The droplet on which it has all dividers of its VPC, and they have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dividers_on: Option<String>,
    /// The dividers that knew it then.
    #[serde(default)]
    pub dividers: Vec<String>,
    /// The droplet at which all endpoints of its network expect it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents_on: Option<String>,
}

impl Bouncer {
    /// What the operators keep.
    pub fn state(&self) -> BouncerState {
        self.status.as_ref().map(|status| status.state.clone()).unwrap_or_default()
    }
}
