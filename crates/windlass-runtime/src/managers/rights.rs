//! What managed processes must be allowed to do, besides the work of their controllers.

use windlass::KindInfo;
use windlass::model::ResourceId;
use windlass::permissions::Permission;

use crate::allowed::allowed;

use super::ManagerConfig;
use super::kinds::{manager_types, managers};

impl ManagerConfig {
    /// What a process with this configuration must be allowed to do, besides the work of its controllers. `namespace` is
    /// that of the process.
    pub fn permissions(&self, namespace: &str) -> Vec<Permission> {
        match self {
            ManagerConfig::ConfigMap(config_map) => {
                let namespace = config_map.namespace.as_deref().unwrap_or(namespace);
                allowed(&ResourceId::new("", "v1", "configmaps"), "", Some(namespace), &["get"])
            }
            ManagerConfig::Api(identity) => {
                let namespace = identity.namespace.as_deref().unwrap_or(namespace);
                let (KindInfo { resource: managers, .. }, types) = (managers(), manager_types().resource);
                let events = ResourceId::new("events.k8s.io", "v1", "events");
                let leases = ResourceId::new("coordination.k8s.io", "v1", "leases");
                [
                    allowed(&types, "", None, &["get", "list", "watch"]),
                    allowed(&managers, "", None, &["get", "list", "watch", "create"]),
                    allowed(&managers, "status", None, &["patch"]),
                    // Events about what has no namespace are in this one.
                    allowed(&events, "", Some("default"), &["create", "patch"]),
                    allowed(&leases, "", Some(namespace), &["get", "create", "update"]),
                ]
                .concat()
            }
        }
    }
}
