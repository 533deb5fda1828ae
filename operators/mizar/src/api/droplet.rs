//! A droplet: a node with a daemon that keeps tables.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass::MachineStatus;

use super::phase::Phase;

/// The annotation of a node or droplet that says where its daemon listens, `HOST:PORT`. Default: its address, and port
/// 50051.
pub const ADDRESS_ANNOTATION: &str = "mizar.com/droplet-address";
/// The port of daemons.
const DAEMON_PORT: u16 = 50051;

/// A node with a daemon that keeps the tables of whatever is placed on it.
#[derive(CustomResource, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "mizar.com",
    version = "v1",
    kind = "Droplet",
    namespaced,
    shortname = "drp",
    status = "DropletStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Ip","type":"string","jsonPath":".spec.ip"}"#,
    printcolumn = r#"{"name":"Mac","type":"string","jsonPath":".spec.mac"}"#,
    printcolumn = r#"{"name":"Itf","type":"string","jsonPath":".spec.itf"}"#,
    printcolumn = r#"{"name":"Load","type":"integer","jsonPath":".status.load"}"#,
    printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase"}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].reason"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
pub struct DropletSpec {
    /// The address by which users know the node. Mizar's manifests have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub main_ip: Option<String>,
    /// The address of the node in the network that carries the packets of all VPCs.
    pub ip: String,
    /// The MAC address of that interface.
    pub mac: String,
    /// The name of that interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub itf: Option<String>,
    /// Ignored. Mizar kept its state here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

/// What the droplet operator knows of a droplet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DropletStatus {
    /// What the framework keeps.
    #[serde(flatten)]
    pub machine: MachineStatus,
    /// What the droplet operator keeps.
    #[serde(flatten)]
    pub state: DropletState,
}

/// What the droplet operator keeps of a droplet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DropletState {
    /// Whether its daemon answers, and has all tables that it is to have.
    #[serde(default)]
    pub phase: Phase,
    /// What the daemon called itself when it was started; another name means that it has lost its tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
    /// Whether the daemon has been away for too long: nothing is placed on it, and what was is placed elsewhere.
    #[serde(default)]
    pub lost: bool,
    /// Since when the daemon does not answer, in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreachable_since: Option<String>,
    /// The dividers and bouncers that are placed on it, as `divider/vpc0-d-1`.
    #[serde(default)]
    pub placed: Vec<String>,
    /// How many there are.
    #[serde(default)]
    pub load: u32,
}

impl Droplet {
    /// What the droplet operator keeps.
    pub fn state(&self) -> DropletState {
        self.status.as_ref().map(|status| status.state.clone()).unwrap_or_default()
    }

    /// Where its daemon listens.
    pub fn address(&self) -> String {
        let annotations = self.metadata.annotations.as_ref();
        match annotations.and_then(|annotations| annotations.get(ADDRESS_ANNOTATION)) {
            Some(address) => address.clone(),
            None => format!("{}:{DAEMON_PORT}", self.spec.ip),
        }
    }
}
