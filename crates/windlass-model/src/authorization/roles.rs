//! Roles and bindings as the decision reads them, and where it reads them from.

use std::sync::Arc;

use serde_json::Value;

use super::GROUP;
use super::rule::Rule;
use crate::authentication::{User, service_account_name};
use crate::field::quoted;
use crate::object;
use crate::store::{Key, Store};

/// A RoleBinding or ClusterRoleBinding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// `metadata.name`
    pub(crate) name: String,
    /// Empty for a ClusterRoleBinding.
    pub(crate) namespace: String,
    /// What is given.
    pub(crate) role: RoleReference,
    /// To whom.
    pub(crate) subjects: Vec<Subject>,
}

/// The role of a binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RoleReference {
    /// Where to look for it.
    pub kind: RoleKind,
    /// `metadata.name`
    pub name: String,
}

/// The two kinds of roles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RoleKind {
    /// In the namespace of the binding.
    Role,
    /// Outside namespaces.
    ClusterRole,
    /// Anything else, which no valid binding has.
    Unknown(String),
}

/// Somebody that a binding gives a role to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    /// `User`, `Group` or `ServiceAccount`.
    pub kind: String,
    /// The name.
    pub name: String,
    /// Of a service account; empty for that of the binding.
    pub namespace: String,
}

/// Where roles and bindings are read from.
pub trait Roles {
    /// The bindings of a namespace in the order of their names; those outside namespaces for the empty text.
    fn bindings<'a>(&'a self, namespace: &str) -> Box<dyn Iterator<Item = Arc<Binding>> + 'a>;

    /// The rules of a Role, or of a ClusterRole if the namespace is empty; `None` if there is no such role.
    fn rules(&self, namespace: &str, name: &str) -> Option<Arc<[Rule]>>;
}

/// The roles and bindings of a store, read at each question.
pub(super) struct StoredRoles<'a, S: Store + ?Sized> {
    store: &'a S,
}

impl<'a, S: Store + ?Sized> StoredRoles<'a, S> {
    /// Those of this store.
    pub(super) fn of(store: &'a S) -> Self {
        StoredRoles { store }
    }
}

impl<S: Store + ?Sized> Roles for StoredRoles<'_, S> {
    fn bindings<'a>(&'a self, namespace: &str) -> Box<dyn Iterator<Item = Arc<Binding>> + 'a> {
        let plural = if namespace.is_empty() { "clusterrolebindings" } else { "rolebindings" };
        let bindings = self.store.scan(GROUP, plural, Some(namespace), None);
        Box::new(bindings.map(|(_, object)| Arc::new(Binding::of(&object))))
    }

    fn rules(&self, namespace: &str, name: &str) -> Option<Arc<[Rule]>> {
        let plural = if namespace.is_empty() { "clusterroles" } else { "roles" };
        let role = self.store.get(&Key::new(GROUP, plural, namespace, name))?;
        Some(Rule::all_of(&role).into())
    }
}

impl Binding {
    /// Reads a binding.
    pub(crate) fn of(object: &Value) -> Self {
        let subjects = object["subjects"].as_array().into_iter().flatten();
        Binding {
            name: object::name(object).to_owned(),
            namespace: object::namespace(object).to_owned(),
            role: RoleReference::of(&object["roleRef"]),
            subjects: subjects.map(Subject::of).collect(),
        }
    }

    /// The first subject that is this user.
    pub(super) fn subject_for(&self, user: &User) -> Option<&Subject> {
        self.subjects.iter().find(|subject| subject.is(user, &self.namespace))
    }

    /// `RoleBinding "a/default" of Role "r" to User "u"`
    pub(super) fn description(&self, subject: &Subject) -> String {
        let (kind, name) = if self.namespace.is_empty() {
            ("ClusterRoleBinding", quoted(&self.name))
        } else {
            ("RoleBinding", quoted(&format!("{}/{}", self.name, self.namespace)))
        };
        let RoleReference { kind: role_kind, name: role } = &self.role;
        let subject = subject.description(&self.namespace);
        format!("{kind} {name} of {} {} to {subject}", role_kind.name(), quoted(role))
    }
}

impl RoleReference {
    /// Reads a `roleRef`.
    pub(crate) fn of(value: &Value) -> Self {
        let kind = match value["kind"].as_str().unwrap_or_default() {
            "Role" => RoleKind::Role,
            "ClusterRole" => RoleKind::ClusterRole,
            other => RoleKind::Unknown(other.to_owned()),
        };
        RoleReference { kind, name: value["name"].as_str().unwrap_or_default().to_owned() }
    }

    /// The rules of the role, or why there are none.
    pub(super) fn rules(&self, roles: &dyn Roles, binding_namespace: &str) -> Result<Arc<[Rule]>, String> {
        let (namespace, resource) = match &self.kind {
            RoleKind::Role => (binding_namespace, "role"),
            RoleKind::ClusterRole => ("", "clusterrole"),
            RoleKind::Unknown(kind) => {
                return Err(format!("unsupported role reference kind: {}", quoted(kind)));
            }
        };
        let found = roles.rules(namespace, &self.name);
        found.ok_or_else(|| format!("{resource}.{GROUP} {} not found", quoted(&self.name)))
    }
}

impl RoleKind {
    fn name(&self) -> &str {
        match self {
            RoleKind::Role => "Role",
            RoleKind::ClusterRole => "ClusterRole",
            RoleKind::Unknown(kind) => kind,
        }
    }
}

impl Subject {
    /// Reads a subject of a binding.
    fn of(value: &Value) -> Self {
        let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
        Subject { kind: text("kind"), name: text("name"), namespace: text("namespace") }
    }

    fn is(&self, user: &User, binding_namespace: &str) -> bool {
        match self.kind.as_str() {
            "User" => user.name == self.name,
            "Group" => user.groups.contains(&self.name),
            "ServiceAccount" => {
                let named = Some((self.namespace_in(binding_namespace), self.name.as_str()));
                service_account_name(&user.name) == named
            }
            _ => false,
        }
    }

    fn namespace_in<'a>(&'a self, binding_namespace: &'a str) -> &'a str {
        if self.namespace.is_empty() { binding_namespace } else { &self.namespace }
    }

    fn description(&self, binding_namespace: &str) -> String {
        let name = match self.kind.as_str() {
            "ServiceAccount" => format!("{}/{}", self.name, self.namespace_in(binding_namespace)),
            _ => self.name.clone(),
        };
        format!("{} {}", self.kind, quoted(&name))
    }
}
