//! All roles and bindings, read once and then kept up to date by the writes.

use std::sync::Arc;

use imbl::OrdMap;
use serde_json::Value;

use super::GROUP;
use super::roles::{Binding, Roles};
use super::rule::Rule;
use crate::store::{Change, Key, Store};

/// By namespace, the empty one for objects outside namespaces, and name.
type ByName<T> = OrdMap<Arc<str>, OrdMap<Arc<str>, T>>;

/// The roles and bindings of a store, so that a decision parses nothing. Clones in O(1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    roles: ByName<Arc<[Rule]>>,
    bindings: ByName<Arc<Binding>>,
}

impl Policy {
    /// Reads all roles and bindings.
    pub fn of<S: Store + ?Sized>(store: &S) -> Self {
        let mut policy = Policy::default();
        for plural in ["clusterroles", "roles", "clusterrolebindings", "rolebindings"] {
            for (key, object) in store.scan(GROUP, plural, None, None) {
                policy.set(&key, Some(&object));
            }
        }
        policy
    }

    /// Takes a write over. Says whether it was to a role or binding.
    pub fn commit(&mut self, change: &Change) -> bool {
        &*change.key.group == GROUP && self.set(&change.key, change.after.as_deref())
    }

    fn set(&mut self, key: &Key, object: Option<&Value>) -> bool {
        match &*key.plural {
            "clusterroles" | "roles" => {
                replace(&mut self.roles, key, object.map(|role| Rule::all_of(role).into()));
            }
            "clusterrolebindings" | "rolebindings" => {
                replace(&mut self.bindings, key, object.map(|binding| Arc::new(Binding::of(binding))));
            }
            _ => return false,
        }
        true
    }
}

fn replace<T: Clone>(map: &mut ByName<T>, key: &Key, value: Option<T>) {
    let mut names = map.get(&key.namespace).cloned().unwrap_or_default();
    match value {
        Some(value) => drop(names.insert(key.name.clone(), value)),
        None => drop(names.remove(&key.name)),
    }
    if names.is_empty() {
        map.remove(&key.namespace);
    } else {
        map.insert(key.namespace.clone(), names);
    }
}

impl Roles for Policy {
    fn bindings<'a>(&'a self, namespace: &str) -> Box<dyn Iterator<Item = Arc<Binding>> + 'a> {
        let names = self.bindings.get(namespace);
        Box::new(names.into_iter().flat_map(|names| names.values().cloned()))
    }

    fn rules(&self, namespace: &str, name: &str) -> Option<Arc<[Rule]>> {
        self.roles.get(namespace)?.get(name).cloned()
    }
}
