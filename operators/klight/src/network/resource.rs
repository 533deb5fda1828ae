//! The custom resource: what is known of a network, kept in the API and nowhere else.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass::MachineStatus;

use super::name::network_name;

/// A network of lightpeers. It is made when the first pod names it in its label `klight.networkId`.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "klight.windlass.dev",
    version = "v1alpha1",
    kind = "LightNetwork",
    namespaced,
    shortname = "lnet",
    status = "LightNetworkStatus",
    derive = "Default",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Network","type":"string","jsonPath":".spec.networkId"}"#,
    printcolumn = r#"{"name":"Members","type":"integer","jsonPath":".status.members"}"#,
    printcolumn = r#"{"name":"Contact","type":"string","jsonPath":".status.contact"}"#,
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].reason"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct LightNetworkSpec {
    /// What the pods of the network have as their label `klight.networkId`. The name of the object follows from it.
    pub network_id: String,
}

/// What is known of a network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LightNetworkStatus {
    /// What the framework keeps: conditions, and what it has seen.
    #[serde(flatten)]
    pub machine: MachineStatus,
    /// What the controller keeps.
    #[serde(flatten)]
    pub known: Known,
}

/// What the controller keeps of a network: the contacts that new pods join through, and who is not a member yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Known {
    /// The members, the newest first. A new pod joins through the first.
    #[serde(default)]
    pub stack: Vec<Contact>,
    /// How many members there are.
    #[serde(default)]
    pub members: u32,
    /// The pod that the next one joins through.
    // Written as null when there is none: what is not written would stay.
    #[serde(default)]
    pub contact: Option<String>,
    /// Pods with the label that are not members, and why; the first few.
    #[serde(default)]
    pub waiting: Vec<Waiting>,
}

/// A member, as others reach it. An address alone is not enough: another pod may get it later.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Contact {
    /// The name of the pod.
    pub pod: String,
    /// The uid of the pod.
    pub uid: String,
    /// `HOST:PORT`, with brackets around an IPv6 address.
    pub address: String,
    /// What the peer calls itself in its health check; lightpeers that do not say it are known by their pod alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
}

/// A pod that is not a member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Waiting {
    /// The name of the pod.
    pub pod: String,
    /// Why it is not.
    pub why: String,
}

impl LightNetwork {
    /// The network with this id, as yet without members.
    pub fn with_id(id: &str) -> Self {
        LightNetwork::new(&network_name(id), LightNetworkSpec { network_id: id.to_owned() })
    }

    /// The contacts, the newest first.
    pub fn stack(&self) -> &[Contact] {
        self.status.as_ref().map_or(&[], |status| &status.known.stack)
    }
}

impl Known {
    /// Maximum number of waiting pods that are listed; the rest are only counted.
    const MAX_WAITING: usize = 10;

    /// These members, and the first few of those that wait.
    pub(super) fn new(stack: Vec<Contact>, waiting: &[Waiting]) -> Self {
        Known {
            members: u32::try_from(stack.len()).unwrap_or(u32::MAX),
            contact: stack.first().map(|head| head.pod.clone()),
            stack,
            waiting: waiting.iter().take(Known::MAX_WAITING).cloned().collect(),
        }
    }
}
