//! What controllers may do: computed once, here, for the roles of their manifests, the preflight and the checker.
//!
//! Start with [`Declaration::may`](crate::Declaration::may), which declares what a machine does beyond its parents,
//! outputs and watches, and with [`Controller::permits`], which says whether a request is within that.

mod right;
mod verb;

use std::collections::{BTreeMap, BTreeSet};

use windlass_model::authorization::Rule;

use crate::machine::Controller;

pub use right::{Missing, Right};
pub use verb::Verb;

/// One thing that a process must be allowed to do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Permission {
    /// `None` for all namespaces, and for what has none.
    pub namespace: Option<String>,
    /// Empty for the core group.
    pub group: String,
    /// `pairs`.
    pub resource: String,
    /// `status`; empty for the object itself.
    pub subresource: String,
    /// `patch`.
    pub verb: String,
}

/// Where controllers work, and what the process around them does besides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Namespaces to which the process is confined; empty for all.
    pub namespaces: Vec<String>,
    /// The namespace of the lease by which one of several processes leads, if there is one.
    pub lease_namespace: Option<String>,
}

/// All that some controllers, in one process, must be allowed to do, each thing once.
pub fn permissions(controllers: &[Controller], scope: &Scope) -> Vec<Permission> {
    let mut needed = BTreeSet::new();
    for right in controllers.iter().flat_map(Controller::rights) {
        let namespaces = match &right.namespace {
            Some(only) => vec![Some(only)],
            None if right.kind.namespaced && !scope.namespaces.is_empty() => {
                scope.namespaces.iter().map(Some).collect()
            }
            None => vec![None],
        };
        needed.extend(namespaces.into_iter().map(|namespace| permission(namespace, right)));
    }
    if let Some(namespace) = &scope.lease_namespace {
        needed.extend([Verb::Get, Verb::Create, Verb::Update].map(|verb| Permission {
            namespace: Some(namespace.clone()),
            group: "coordination.k8s.io".to_owned(),
            resource: "leases".to_owned(),
            subresource: String::new(),
            verb: verb.name().to_owned(),
        }));
    }
    needed.into_iter().collect()
}

fn permission(namespace: Option<&String>, right: &Right) -> Permission {
    Permission {
        namespace: namespace.cloned(),
        group: right.kind.resource.group.clone(),
        resource: right.kind.resource.plural.clone(),
        subresource: right.subresource.clone(),
        verb: right.verb.name().to_owned(),
    }
}

/// The roles that allow just this, by namespace; `None` stands for a ClusterRole.
pub fn roles(permissions: &[Permission]) -> BTreeMap<Option<String>, Vec<Rule>> {
    // First all verbs of each resource, then all resources of a group with the same verbs: one rule each.
    let mut verbs: BTreeMap<(RuleKey<'_>, String), Vec<&str>> = BTreeMap::new();
    for permission in permissions {
        let rule = RuleKey { namespace: permission.namespace.as_deref(), group: &permission.group };
        verbs.entry((rule, permission.combined())).or_default().push(&permission.verb);
    }
    let mut resources: BTreeMap<(RuleKey<'_>, Vec<&str>), Vec<String>> = BTreeMap::new();
    for ((rule, resource), verbs) in verbs {
        resources.entry((rule, in_usual_order(verbs))).or_default().push(resource);
    }
    let mut roles: BTreeMap<Option<String>, Vec<Rule>> = BTreeMap::new();
    for ((RuleKey { namespace, group }, verbs), resources) in resources {
        let verbs = verbs.into_iter().map(str::to_owned).collect();
        let rule = Rule { verbs, api_groups: vec![group.to_owned()], resources, ..Rule::default() };
        roles.entry(namespace.map(str::to_owned)).or_default().push(rule);
    }
    roles
}

/// A group in a namespace, or in all.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RuleKey<'a> {
    namespace: Option<&'a str>,
    group: &'a str,
}

/// The order in which people write verbs.
fn in_usual_order(mut verbs: Vec<&str>) -> Vec<&str> {
    const ORDER: [&str; 8] =
        ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
    verbs.sort_by_key(|verb| ORDER.iter().position(|usual| usual == verb));
    verbs
}

impl Permission {
    /// `pairs`, or `pairs/status`.
    pub fn combined(&self) -> String {
        match self.subresource.as_str() {
            "" => self.resource.clone(),
            subresource => format!("{}/{subresource}", self.resource),
        }
    }
}

/// `patch pairs/status (example.com) in the whole cluster`
impl std::fmt::Display for Permission {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.verb, self.combined())?;
        if !self.group.is_empty() {
            write!(f, " ({})", self.group)?;
        }
        match &self.namespace {
            Some(namespace) => write!(f, " in the namespace {namespace}"),
            None => f.write_str(" in the whole cluster"),
        }
    }
}
