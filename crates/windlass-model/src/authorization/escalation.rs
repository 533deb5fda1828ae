//! Privilege escalation prevention: a user cannot grant rights that they do not have by writing roles and bindings.

use serde_json::Value;

use super::GROUP;
use super::attributes::ResourceAttributes;
use super::authorizer::{Authorizer, everything};
use super::roles::{RoleKind, RoleReference, Roles};
use super::rule::{Rule, missing, quoted_list};
use crate::authentication::User;
use crate::field::quoted;
use crate::object;
use crate::request::{Request, Verb};
use crate::response::Response;
use crate::status::Status;
use crate::store::{Key, Store};

/// What a write to metadata by the garbage collector may change; versions and managers change with any write.
const COLLECTED: [&str; 4] = ["ownerReferences", "finalizers", "managedFields", "resourceVersion"];

/// Refuses a write to a role or binding that would give rights which its writer does not have.
///
/// To be asked after [`handle`](crate::handle), before its changes are committed. Writers pass who may do all
/// that the role allows, or may `escalate` the role, or `bind` it. `None` allows the write.
pub fn escalation<S: Store + ?Sized>(
    store: &S,
    roles: &dyn Roles,
    user: &User,
    request: &Request,
    response: &Response,
) -> Option<Status> {
    let plural = request.resource.plural.as_str();
    let writes = matches!(request.verb, Verb::Create | Verb::Update | Verb::Patch(_));
    if request.resource.group != GROUP || !writes {
        return None;
    }
    let after = resulting_object(request, response)?;
    let name = match request.verb {
        Verb::Create => object::name(request.body.as_ref()?),
        _ => object::name(after),
    };
    let namespace = request.namespace.as_deref().unwrap_or_default();
    let before =
        store.get(&Key::new(GROUP, plural, namespace, name)).filter(|_| request.verb != Verb::Create);
    if before.as_deref().is_some_and(|before| settled(before) == settled(after)) {
        return None;
    }
    let writer = Writer { roles, user, namespace };
    let refusal = match plural {
        "roles" => writer.refuse_role(request, after, false),
        "clusterroles" => {
            let aggregates = gathers(after) || before.as_deref().is_some_and(gathers);
            writer.refuse_role(request, after, aggregates)
        }
        "rolebindings" | "clusterrolebindings" => match writer.refuse_binding(plural, after) {
            Ok(refusal) => refusal,
            Err(status) => return Some(status),
        },
        _ => None,
    };
    refusal.map(|why| Status::forbidden(GROUP, plural, name, &why))
}

/// The object that the write results in. Escalation is reported before a name that is taken or an invalid field.
fn resulting_object<'a>(request: &'a Request, response: &'a Response) -> Option<&'a Value> {
    match response.failure() {
        None => response.as_object().map(|object| &**object),
        Some(status) => {
            request.body.as_ref().filter(|_| request.verb == Verb::Create && matches!(status.code, 409 | 422))
        }
    }
}

/// The writer of a role or binding.
struct Writer<'a> {
    roles: &'a dyn Roles,
    user: &'a User,
    namespace: &'a str,
}

impl Writer<'_> {
    /// To aggregate roles, which may gather anything, one must have everything.
    fn refuse_role(&self, request: &Request, role: &Value, aggregates: bool) -> Option<String> {
        let name = request.name.as_deref().unwrap_or_default();
        if self.may("escalate", &request.resource.plural, name) {
            return None;
        }
        self.refuse_rules(&Rule::all_of(role)).or_else(|| {
            (aggregates && self.refuse_rules(&everything()).is_some())
                .then(|| "must have cluster-admin privileges to use the aggregationRule".to_owned())
        })
    }

    /// Kubernetes says of a role that does not exist that the binding does not.
    fn refuse_binding(&self, plural: &str, binding: &Value) -> Result<Option<String>, Status> {
        let role = RoleReference::of(&binding["roleRef"]);
        let resource = match role.kind {
            RoleKind::ClusterRole => "clusterroles",
            RoleKind::Role | RoleKind::Unknown(_) => "roles",
        };
        if self.may("bind", resource, &role.name) {
            return Ok(None);
        }
        let rules = role.rules(self.roles, self.namespace);
        let rules = rules.map_err(|_| Status::not_found(GROUP, plural, &role.name))?;
        Ok(self.refuse_rules(&rules))
    }

    fn may(&self, verb: &str, resource: &str, name: &str) -> bool {
        let wanted = ResourceAttributes {
            verb: verb.to_owned(),
            group: GROUP.to_owned(),
            version: "*".to_owned(),
            resource: resource.to_owned(),
            subresource: String::new(),
            namespace: self.namespace.to_owned(),
            name: name.to_owned(),
        };
        Authorizer::Rbac(self.roles).authorize(self.user, &wanted.into()).allowed
    }

    fn refuse_rules(&self, rules: &[Rule]) -> Option<String> {
        let own = Authorizer::Rbac(self.roles).grants(self.user, self.namespace);
        let missing = missing(&own.rules, rules);
        if missing.is_empty() {
            return None;
        }
        let errors = match own.error.as_str() {
            "" => String::new(),
            error => format!("; resolution errors: [{error}]"),
        };
        Some(format!(
            "user {} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}{errors}",
            quoted(&self.user.name),
            quoted_list(&self.user.groups),
            missing.join("\n")
        ))
    }
}

/// Whether a ClusterRole has the rules of others.
fn gathers(role: &Value) -> bool {
    let selectors = role["aggregationRule"]["clusterRoleSelectors"].as_array();
    selectors.is_some_and(|selectors| !selectors.is_empty())
}

/// An object without what the garbage collector may change.
fn settled(object: &Value) -> Value {
    let mut object = object.clone();
    for field in COLLECTED {
        object::remove_meta(&mut object, field);
    }
    object
}
