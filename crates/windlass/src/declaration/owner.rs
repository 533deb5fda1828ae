//! How outputs name their parents, so that their changes trigger them.

use serde_json::Value;
use windlass_model::object;

use crate::kind::ObjectRef;

use super::Declaration;

/// On every output that can be found again: its parent, as [`owner_label`] writes it.
pub const OWNER_LABEL: &str = "windlass.dev/owner";
/// On every output that can be found again: the controller that made it.
pub const CONTROLLER_LABEL: &str = "windlass.dev/controller";
/// On outputs that have no owner reference: the controller and its parent, as `controller/namespace/name`, so
/// that events find the parent and the parent finds its output.
pub const OWNER_ANNOTATION: &str = "windlass.dev/owner";

impl Declaration {
    /// What an output without an owner reference says about its parent.
    pub(crate) fn owner_annotation(&self, parent: &ObjectRef) -> String {
        format!("{}/{parent}", self.name)
    }

    /// The parents that an output names, by owner reference or by annotation.
    pub(super) fn owners_of(&self, output: &Value) -> Vec<ObjectRef> {
        let owners = object::owner_references(output).iter().filter(|owner| self.is_parent_kind(owner));
        let namespace = if self.parent.namespaced { object::namespace(output) } else { "" };
        let named = owners.filter_map(|owner| Some(ObjectRef::new(namespace, owner["name"].as_str()?)));
        let annotated = object::annotation(output, OWNER_ANNOTATION)
            .and_then(|owner| owner.strip_prefix(self.name.as_str())?.strip_prefix('/'))
            .map(|parent| parent.split_once('/').unwrap_or(("", parent)))
            .map(|(namespace, name)| ObjectRef::new(namespace, name));
        named.chain(annotated).collect()
    }

    /// Whether an owner reference names an object of the parent's kind.
    pub(crate) fn is_parent_kind(&self, owner: &Value) -> bool {
        let (group, _) = object::split_api_version(owner["apiVersion"].as_str().unwrap_or(""));
        owner["kind"] == self.parent.kind.as_str() && group == self.parent.resource.group
    }
}

/// `namespace.name` of a parent as a label value. A namespace has no dot, so this is unambiguous. What is too long for a
/// label value is cut and ends with a hash.
pub fn owner_label(parent: &ObjectRef) -> String {
    const MAX_BYTES: usize = 63;
    let full = if parent.namespace.is_empty() {
        parent.name.clone()
    } else {
        format!("{}.{}", parent.namespace, parent.name)
    };
    if full.len() <= MAX_BYTES {
        return full;
    }
    let hash = full.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{}-{hash:016x}", full.get(..MAX_BYTES - 17).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owner_labels_fit_and_differ() {
        assert_eq!(owner_label(&ObjectRef::new("default", "a.b")), "default.a.b");
        assert_eq!(owner_label(&ObjectRef::new("", "a")), "a");
        let long = "x".repeat(200);
        let one = owner_label(&ObjectRef::new("ns", &format!("{long}1")));
        let two = owner_label(&ObjectRef::new("ns", &format!("{long}2")));
        assert_eq!(one.len(), 63);
        assert_ne!(one, two);
    }
}
