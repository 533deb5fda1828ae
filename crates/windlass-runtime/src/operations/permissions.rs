//! What controllers must be allowed to do: one list, from which both the preflight and the roles are made.

use std::collections::{BTreeMap, BTreeSet};

use windlass::model::ResourceId;
use windlass::model::authorization::Rule;
use windlass::{Controller, KindInfo};

const READ: [&str; 3] = ["get", "list", "watch"];

/// One thing that a controller must be allowed to do.
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
///
/// What a state reads or writes by itself, of kinds that the machine neither declares as output nor watches, is not
/// known and not in it.
pub fn permissions(controllers: &[Controller], scope: &Scope) -> Vec<Permission> {
    let mut needs = Needs { scope, found: BTreeSet::new() };
    controllers.iter().for_each(|controller| needs.add_controller(controller));
    if let Some(namespace) = &scope.lease_namespace {
        let lease = ResourceId::new("coordination.k8s.io", "v1", "leases");
        needs.add_in(Some(namespace), &lease, "", &["get", "create", "update"]);
    }
    needs.found.into_iter().collect()
}

/// The roles that allow just this, by namespace; `None` stands for a ClusterRole.
pub fn roles(permissions: &[Permission]) -> BTreeMap<Option<String>, Vec<Rule>> {
    // First all verbs of each resource, then all resources of a group with the same verbs: one rule each.
    let mut verbs: BTreeMap<(Place<'_>, String), Vec<&str>> = BTreeMap::new();
    for permission in permissions {
        let place = Place { namespace: permission.namespace.as_deref(), group: &permission.group };
        verbs.entry((place, permission.combined())).or_default().push(&permission.verb);
    }
    let mut resources: BTreeMap<(Place<'_>, Vec<&str>), Vec<String>> = BTreeMap::new();
    for ((place, resource), verbs) in verbs {
        resources.entry((place, in_usual_order(verbs))).or_default().push(resource);
    }
    let mut roles: BTreeMap<Option<String>, Vec<Rule>> = BTreeMap::new();
    for ((Place { namespace, group }, verbs), resources) in resources {
        let verbs = verbs.into_iter().map(str::to_owned).collect();
        let rule = Rule { verbs, api_groups: vec![group.to_owned()], resources, ..Rule::default() };
        roles.entry(namespace.map(str::to_owned)).or_default().push(rule);
    }
    roles
}

/// A group in a namespace, or in all.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place<'a> {
    namespace: Option<&'a str>,
    group: &'a str,
}

/// The order in which people write verbs.
fn in_usual_order(mut verbs: Vec<&str>) -> Vec<&str> {
    const ORDER: [&str; 7] = ["get", "list", "watch", "create", "update", "patch", "delete"];
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

struct Needs<'a> {
    scope: &'a Scope,
    found: BTreeSet<Permission>,
}

impl Needs<'_> {
    fn add_controller(&mut self, controller: &Controller) {
        let declaration = controller.declaration();
        let parent = declaration.parent();
        self.add(parent, "", &READ);
        if declaration.keeps_status() {
            self.add(parent, "status", &["patch"]);
        }
        let cleans_up = declaration.outputs().iter().any(|output| output.anywhere);
        if controller.finalizer_graph().is_some() || cleans_up {
            self.add(parent, "", &["patch"]);
        }
        if declaration.creates_missing() {
            self.add(parent, "", &["create"]);
        }
        if !declaration.outputs().is_empty() {
            // Owner references that block the owner's deletion need this, where a cluster enforces it.
            self.add(parent, "finalizers", &["update"]);
        }
        for output in declaration.outputs() {
            self.add(&output.kind, "", &READ);
            // An apply is a patch, and a create where there is nothing to patch yet.
            self.add(&output.kind, "", &["create", "patch", "delete"]);
        }
        for watch in declaration.watched() {
            self.add(&watch.kind, "", &READ);
        }
        self.add_events(parent);
    }

    fn add_events(&mut self, parent: &KindInfo) {
        let events = ResourceId::new("events.k8s.io", "v1", "events");
        let verbs = ["create", "patch"];
        if parent.namespaced {
            self.add(&KindInfo { resource: events, kind: "Event".to_owned(), namespaced: true }, "", &verbs);
        } else {
            // Those of objects without a namespace are kept there.
            self.add_in(Some("default"), &events, "", &verbs);
        }
    }

    /// What must be allowed wherever objects of a kind are.
    fn add(&mut self, kind: &KindInfo, subresource: &str, verbs: &[&str]) {
        if !kind.namespaced || self.scope.namespaces.is_empty() {
            return self.add_in(None, &kind.resource, subresource, verbs);
        }
        for namespace in &self.scope.namespaces {
            self.add_in(Some(namespace.as_str()), &kind.resource, subresource, verbs);
        }
    }

    fn add_in(&mut self, namespace: Option<&str>, resource: &ResourceId, subresource: &str, verbs: &[&str]) {
        self.found.extend(verbs.iter().map(|verb| Permission {
            namespace: namespace.map(str::to_owned),
            group: resource.group.clone(),
            resource: resource.plural.clone(),
            subresource: subresource.to_owned(),
            verb: (*verb).to_owned(),
        }));
    }
}
