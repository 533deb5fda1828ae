//! What in a cluster comes from its own workload controllers, so that checks of other controllers can leave it out.

use serde_json::Value;

use super::deployments::REVISION_ANNOTATION;
use super::kubelet;
use super::writes::{CLAIMS, MANAGER};
use crate::store::Key;

/// Fields of a spec that binding sets.
const BINDING: [&str; 3] = ["f:claimRef", "f:nodeName", "f:volumeName"];
/// What the annotations of volumes and claims begin with.
const VOLUME_ANNOTATIONS: &str = "pv.kubernetes.io/";

/// Whether the workload controllers made this object.
pub fn is_made_by_cluster(object: &Value) -> bool {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    entries.into_iter().any(|entry| is_own(entry) && !wrote_only_bookkeeping(entry))
}

/// Whether an entry of `managedFields` says no more than that one of the workload controllers wrote a status, or bound
/// the object.
pub fn wrote_only_bookkeeping(entry: &Value) -> bool {
    if !is_own(entry) {
        return false;
    }
    let fields = &entry["fieldsV1"];
    let spec = fields["f:spec"].as_object().into_iter().flatten();
    let made =
        spec.into_iter().any(|(field, _)| !BINDING.contains(&field.as_str())) || !fields["f:data"].is_null();
    entry["subresource"].is_string() || !made
}

fn is_own(entry: &Value) -> bool {
    entry["manager"] == MANAGER || entry["manager"] == kubelet::MANAGER
}

/// Takes out of an object what the workload controllers have put beside what is wanted: how often it was rolled out,
/// and which volume it was given.
pub fn without_bookkeeping(key: &Key, object: &mut Value) {
    if key.group.is_empty()
        && *key.plural == *CLAIMS.plural
        && let Some(spec) = object["spec"].as_object_mut()
    {
        spec.remove("volumeName");
    }
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) else { return };
    annotations.retain(|name, _| name != REVISION_ANNOTATION && !name.starts_with(VOLUME_ANNOTATIONS));
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
}
