//! What sharded processes must be allowed to do, besides the work of their controllers.

use windlass::model::ResourceId;
use windlass::permissions::Permission;

use crate::allowed::allowed;

use super::registry::ring_resource;

/// The permissions that sharding takes, with leases in a namespace.
pub(crate) fn permissions(namespace: &str) -> Vec<Permission> {
    let leases = ResourceId::new("coordination.k8s.io", "v1", "leases");
    [
        allowed(&ring_resource(), "", None, &["get", "list", "watch", "create"]),
        allowed(&ring_resource(), "status", None, &["update", "patch"]),
        allowed(&leases, "", Some(namespace), &["get", "list", "create", "patch"]),
    ]
    .concat()
}
