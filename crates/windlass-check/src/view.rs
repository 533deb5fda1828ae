//! What properties see of a state: the objects, the clocks and the services.

use std::sync::Arc;

use serde_json::Value;
use windlass::{Kind, ObjectRef, from_value};
use windlass_model::{Cluster, Key, Store};

use crate::host::service::ServiceStates;

/// The abstract state of the world: the map from key to object, a clock per parent, and the services.
pub struct View<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) clocks: &'a [(ObjectRef, u32)],
    pub(crate) clock_limit: u32,
    pub(crate) services: &'a ServiceStates,
}

impl View<'_> {
    /// Whether an object exists. A name without a namespace (`cm1`) is looked up in `default`; `ns/cm1` in `ns`.
    pub fn has<K: Kind>(&self, name: &str) -> bool {
        self.raw::<K>(name).is_some()
    }

    /// An object; `None` if it does not exist.
    ///
    /// # Panics
    /// If the object does not have the type's shape.
    pub fn get<K: Kind>(&self, name: &str) -> Option<K> {
        let raw = self.raw::<K>(name)?;
        Some(from_value(&raw).unwrap_or_else(|error| panic!("{error}")))
    }

    /// An object as JSON.
    pub fn raw<K: Kind>(&self, name: &str) -> Option<Arc<Value>> {
        let kind = K::kind_info();
        let (namespace, name) = match name.split_once('/') {
            Some(split) => split,
            None if kind.namespaced => (crate::DEFAULT_NAMESPACE, name),
            None => ("", name),
        };
        self.cluster.store().get(&Key::new(&kind.resource.group, &kind.resource.plural, namespace, name))
    }

    /// All objects of a kind, in all namespaces.
    ///
    /// # Panics
    /// If an object does not have the type's shape.
    pub fn all<K: Kind>(&self) -> Vec<K> {
        let resource = K::kind_info().resource;
        let objects = self.cluster.store().scan(&resource.group, &resource.plural, None, None);
        objects.map(|(_, object)| from_value(&object).unwrap_or_else(|error| panic!("{error}"))).collect()
    }

    /// How many reconciles of a parent have ended with all states done, counted up to the check's clock limit. The parent is
    /// `name` (in the namespace `default`), `ns/name`, or `/name` if it is cluster-scoped.
    ///
    /// # Panics
    /// If the check counts no clocks: ask for it with `.clock(limit)`.
    pub fn clock(&self, parent: &str) -> u32 {
        assert!(self.clock_limit > 0, "this check counts no clocks: add .clock(limit)");
        let (namespace, name) = parent.split_once('/').unwrap_or((crate::DEFAULT_NAMESPACE, parent));
        let target = ObjectRef::new(namespace, name);
        self.clocks.iter().filter(|(known, _)| *known == target).map(|(_, clock)| *clock).max().unwrap_or(0)
    }

    /// The state of an external service.
    pub fn service(&self, name: &str) -> Option<&Value> {
        self.services.get(name)
    }
}
