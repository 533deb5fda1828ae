//! Who may do what: RBAC as Kubernetes evaluates it, and impersonation.
//!
//! Start with [`authorize`]: it reads roles and bindings from a [`Store`] and decides about one request of one
//! [`User`]. A server that asks for each request keeps a [`Policy`] instead, which follows the writes.

mod aggregate;
mod attributes;
mod authorizer;
mod bootstrap;
mod escalation;
mod impersonation;
mod policy;
mod roles;
mod rule;

pub use aggregate::next_requests;
pub use attributes::{Attributes, ResourceAttributes, attributes};
pub use authorizer::{Authorizer, Decision};
pub use bootstrap::bootstrap_requests;
pub use escalation::escalation;
pub use impersonation::impersonate;
pub use policy::Policy;
use roles::StoredRoles;
pub use roles::{Binding, Roles};
pub use rule::Rule;

use crate::authentication::User;

use crate::field::quoted;
use crate::status::Status;
use crate::store::Store;

/// The group of roles and bindings.
pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";

/// Decides by the roles and bindings of a store.
pub fn authorize<S: Store + ?Sized>(store: &S, user: &User, attributes: &Attributes) -> Decision {
    Authorizer::Rbac(&StoredRoles::of(store)).authorize(user, attributes)
}

/// 403, worded as Kubernetes words it. `reason` is that of the [`Decision`]; it may be empty.
pub fn forbidden(user: &User, attributes: &Attributes, reason: &str) -> Status {
    // Nothing that looks like HTML is sent back.
    let mut why = refusal(user, attributes).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    if !reason.is_empty() {
        why = format!("{why}: {reason}");
    }
    match attributes {
        Attributes::NonResource { .. } => Status::forbidden("", "", "", &why),
        Attributes::Resource(resource) => {
            Status::forbidden(&resource.group, &resource.resource, &resource.name, &why)
        }
    }
}

fn refusal(user: &User, attributes: &Attributes) -> String {
    let user = quoted(&user.name);
    match attributes {
        Attributes::NonResource { verb, path } => format!("User {user} cannot {verb} path {}", quoted(path)),
        Attributes::Resource(resource) => {
            let scope = if resource.namespace.is_empty() {
                "at the cluster scope".to_owned()
            } else {
                format!("in the namespace {}", quoted(&resource.namespace))
            };
            format!(
                "User {user} cannot {} resource {} in API group {} {scope}",
                resource.verb,
                quoted(&resource.combined()),
                quoted(&resource.group)
            )
        }
    }
}
