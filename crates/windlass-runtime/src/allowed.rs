//! Permissions as rights on resources.

use windlass::model::ResourceId;
use windlass::permissions::Permission;

/// The permissions for some verbs on a resource, in a namespace or (`None`) everywhere.
pub(crate) fn allowed(
    resource: &ResourceId,
    subresource: &str,
    namespace: Option<&str>,
    verbs: &[&str],
) -> Vec<Permission> {
    let permission = |verb: &&str| Permission {
        namespace: namespace.map(str::to_owned),
        group: resource.group.clone(),
        resource: resource.plural.clone(),
        subresource: subresource.to_owned(),
        verb: (*verb).to_owned(),
    };
    verbs.iter().map(permission).collect()
}
