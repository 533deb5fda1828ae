//! A claim of something that may be given out once: an address, or a VNI.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass::ObjectRef;

/// Something that may be given out once, by its name: `ip-7-10.20.0.5` is an address in the VPC with VNI 7, `vni-7` the VNI
/// itself. The API server admits one object of a name, so no two holders can have it, however many operators run, and
/// nothing is lost when they restart.
#[derive(CustomResource, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "mizar.com",
    version = "v1",
    kind = "Allocation",
    shortname = "alloc",
    derive = "PartialEq",
    selectable = ".spec.net",
    printcolumn = r#"{"name":"Kind","type":"string","jsonPath":".spec.holder.kind"}"#,
    printcolumn = r#"{"name":"Namespace","type":"string","jsonPath":".spec.holder.namespace"}"#,
    printcolumn = r#"{"name":"Holder","type":"string","jsonPath":".spec.holder.name"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct AllocationSpec {
    /// Who has it.
    pub holder: Holder,
    /// The network of an address, as `vpc0/net0`; absent for a VNI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub net: Option<String>,
    /// The address; absent for a VNI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

/// Who has something that may be given out once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Holder {
    /// Its kind: `Endpoint` or `Vpc`.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid: another object of this name is another holder.
    pub uid: String,
}

impl Holder {
    /// The holder as an object of its kind.
    pub fn object(&self) -> ObjectRef {
        ObjectRef::new(&self.namespace, &self.name)
    }
}
