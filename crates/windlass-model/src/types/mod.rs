//! Which types the API serves, and what the rules must know about each.

pub(crate) mod builtin;
pub(crate) mod columns;
pub(crate) mod defaults;
pub(crate) mod events;
mod feature_gates;
#[cfg(test)]
pub(crate) mod fixtures;
pub(crate) mod reading;
mod resources;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::object;
use crate::policies::Policies;
use crate::request::ResourceId;
use crate::schema::Schema;
pub use feature_gates::{FeatureGateError, FeatureGates};
use reading::Reading;

/// What the rules must know about one served version of one type.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeInfo {
    /// Group, version and plural.
    pub resource: ResourceId,
    /// `Deployment`
    pub kind: String,
    /// `DeploymentList`
    pub list_kind: String,
    /// `deployment`
    pub singular: String,
    /// `deploy`
    pub short_names: Vec<String>,
    /// `all`
    pub categories: Vec<String>,
    /// Whether objects live in a namespace.
    pub namespaced: bool,
    /// Whether there is a status subresource: writes to the object then leave status alone, and the reverse.
    pub has_status: bool,
    /// Whether there is a scale subresource, and where it looks.
    pub scale: Option<Scale>,
    /// The shape of the whole object.
    pub(crate) schema: Arc<Schema>,
    /// The `openAPIV3Schema` of a CRD as its author wrote it, with descriptions.
    pub open_api: Option<Arc<Value>>,
    /// Whether the type is built in or made by a CRD.
    pub origin: Origin,
    /// The version that objects are stored in.
    pub storage_version: String,
    /// What is to be done when objects are read, if anything.
    pub(crate) reading: Option<Arc<Reading>>,
    /// What `kubectl get` shows.
    pub(crate) columns: Vec<Column>,
    /// Paths beyond metadata.name and metadata.namespace that field selectors may use (`spec.nodeName`).
    pub selectable_fields: Vec<String>,
    /// Whether `metadata.generation` counts changes outside metadata and status.
    pub(crate) has_generation: bool,
    /// Shown as a warning on each use, if the version is deprecated.
    pub deprecation: Option<String>,
}

impl TypeInfo {
    /// Whether objects of this type are kept. Reviews are not: creating one asks a question; nor are bindings:
    /// creating one changes a pod. That is all that can be done with them.
    pub fn is_stored(&self) -> bool {
        self.origin != Origin::BuiltIn || !(self.is_review() || self.kind == "Binding")
    }

    /// Whether creating an object of this type asks a question.
    pub(crate) fn is_review(&self) -> bool {
        let asked = matches!(self.resource.group.as_str(), "authentication.k8s.io" | "authorization.k8s.io");
        asked && self.origin == Origin::BuiltIn
    }
}

impl TypeInfo {
    /// The group that objects of this type are kept in. Nearly always its own; but events have two.
    pub fn storage_group(&self) -> &str {
        let group = self.resource.group.as_str();
        let events = group == events::NEW_GROUP && self.origin == Origin::BuiltIn;
        if events { "" } else { group }
    }

    /// Shows an object in the words of this type, if it is in others.
    pub(crate) fn convert(&self, object: &mut Value) {
        let resource = &self.resource;
        convert(object, &resource.group, &resource.version);
    }

    /// A stored object in the words of this type.
    pub(crate) fn show(&self, stored: &Arc<Value>) -> Arc<Value> {
        let resource = &self.resource;
        if let Some(reading) = &self.reading {
            return reading.show(stored, &resource.group, &resource.version);
        }
        if stored["apiVersion"] == object::api_version(&resource.group, &resource.version) {
            return Arc::clone(stored);
        }
        let mut shown = (**stored).clone();
        self.convert(&mut shown);
        Arc::new(shown)
    }

    /// An object of this type as it is kept.
    pub(crate) fn keep(&self, object: &Arc<Value>) -> Arc<Value> {
        if self.is_storage_form() {
            return Arc::clone(object);
        }
        let mut kept = (**object).clone();
        match &self.reading {
            Some(reading) => reading.keep(&mut kept, self.storage_group(), &self.storage_version),
            None => convert(&mut kept, self.storage_group(), &self.storage_version),
        }
        Arc::new(kept)
    }

    /// Whether writing an object as it is shown would store what is stored already.
    pub(crate) fn is_stored_as_shown(&self, stored: &Arc<Value>, shown: &Arc<Value>) -> bool {
        Arc::ptr_eq(stored, shown) || *self.keep(shown) == **stored
    }

    /// Whether objects are kept in exactly this form.
    pub(crate) fn is_storage_form(&self) -> bool {
        self.resource.version == self.storage_version && self.storage_group() == self.resource.group
    }
}

/// Shows an object in another group or version. With the strategy `None`, versions of a custom resource differ in nothing
/// but their name.
pub(crate) fn convert(object: &mut Value, group: &str, version: &str) {
    let wanted = object::api_version(group, version);
    if object["apiVersion"] == *wanted {
        return;
    }
    if matches!(group, "" | events::NEW_GROUP) && object["kind"] == "Event" {
        events::convert(object, group);
    }
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".to_owned(), wanted.into());
    }
}

/// Where a type comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Origin {
    /// Part of Kubernetes: decoded into a fixed type, with rules of its own.
    BuiltIn,
    /// Made by a CRD: all rules are in the schema.
    Custom,
}

/// Where the scale subresource finds its numbers, as JSON paths such as `.spec.replicas`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scale {
    /// The wanted number.
    pub(crate) spec_replicas: String,
    /// The number there is.
    pub(crate) status_replicas: String,
    /// The selector of the pods, as a string, if there is one.
    pub(crate) label_selector: Option<String>,
}

/// One printer column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    /// The heading.
    pub name: String,
    /// `string`, `integer`, `number`, `boolean`, `date`.
    pub kind: String,
    /// OpenAPI format.
    pub format: String,
    /// For people.
    pub description: String,
    /// 0 is always shown; more only with `-o wide`.
    pub priority: i32,
    /// Where the value is.
    pub json_path: String,
}

/// The types that an API serves, and the policies that writes to them must keep. Cloning shares them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Types {
    by_resource: Arc<BTreeMap<ResourceId, Arc<TypeInfo>>>,
    policies: Arc<Policies>,
    gates: FeatureGates,
}

impl Types {
    /// No types at all.
    pub fn empty() -> Self {
        Types::default()
    }

    /// The types that every Kubernetes has.
    pub fn built_in() -> Self {
        builtin::types()
    }

    /// Serves what is behind feature gates that are open, too.
    pub fn open_gates(&mut self, gates: FeatureGates) {
        self.gates = gates;
        builtin::gated_types(gates).for_each(|info| self.insert(info));
    }

    /// Adds or replaces one version of one type.
    pub fn insert(&mut self, info: TypeInfo) {
        Arc::make_mut(&mut self.by_resource).insert(info.resource.clone(), Arc::new(info));
    }

    /// Removes all versions of a type.
    pub(crate) fn remove(&mut self, group: &str, plural: &str) {
        Arc::make_mut(&mut self.by_resource).retain(|id, _| id.group != group || id.plural != plural);
    }

    /// The type of a resource.
    pub fn get(&self, resource: &ResourceId) -> Option<&Arc<TypeInfo>> {
        self.by_resource.get(resource)
    }

    /// The type of a kind.
    pub fn by_kind(&self, group: &str, version: &str, kind: &str) -> Option<&Arc<TypeInfo>> {
        self.iter().find(|info| {
            info.kind == kind && info.resource.version == version && info.resource.group == group
        })
    }

    /// Any served version of a resource, the storage version if it is served.
    pub fn any_version(&self, group: &str, plural: &str) -> Option<&Arc<TypeInfo>> {
        let versions =
            || self.iter().filter(|info| info.resource.group == group && info.resource.plural == plural);
        versions().find(|info| info.storage_version == info.resource.version).or_else(|| versions().next())
    }

    /// Whether a group is part of Kubernetes. Its paths lead to built-in types alone, as in a kube-apiserver: what a CRD
    /// defines in it is never served, and touches no built-in object.
    pub(crate) fn is_built_in_group(&self, group: &str) -> bool {
        self.iter().any(|info| info.origin == Origin::BuiltIn && info.resource.group == group)
    }

    /// Which feature gates are open.
    pub(crate) fn gates(&self) -> FeatureGates {
        self.gates
    }

    /// The admission policies.
    pub(crate) fn policies(&self) -> &Policies {
        &self.policies
    }

    /// The same types with other policies.
    pub(crate) fn set_policies(&mut self, policies: Policies) {
        self.policies = Arc::new(policies);
    }

    /// Whether the two are one and the same, whatever the policies; types that are merely equal may not be.
    pub fn is_same(&self, other: &Types) -> bool {
        Arc::ptr_eq(&self.by_resource, &other.by_resource)
    }

    /// All types, by group, version and plural.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<TypeInfo>> {
        self.by_resource.values()
    }
}
