//! All objects at one version, in maps that share what they have in common with older ones.

use std::cmp::Ordering;
use std::sync::Arc;

use imbl::OrdMap;
use windlass_model::{Change, Key, Types, resources_that_shape_types, shapes_types, types_after};

use super::object::StoredObject;
use super::owners::OwnerIndex;
use super::record::Record;

/// The objects of one resource.
#[derive(Clone, Debug)]
pub(crate) struct Resource {
    pub(crate) group: Arc<str>,
    pub(crate) plural: Arc<str>,
    pub(crate) objects: OrdMap<Arc<Key>, StoredObject>,
}

/// All objects at one version. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// The version of the newest change.
    pub(crate) version: u64,
    /// The highest version that was ever given out, also to a write that failed: none is given out twice.
    pub(crate) reserved: u64,
    pub(crate) types: Types,
    /// The version at which the types changed last.
    pub(crate) types_version: u64,
    /// By group and plural. There are few, and a look-up needs no owned key.
    resources: Vec<Arc<Resource>>,
    owners: OwnerIndex,
}

impl State {
    /// No objects, and some types.
    pub(crate) fn new(types: Types) -> Self {
        State { types, ..State::default() }
    }

    fn find(&self, group: &str, plural: &str) -> Result<usize, usize> {
        self.resources.binary_search_by(|resource| match (*resource.group).cmp(group) {
            Ordering::Equal => (*resource.plural).cmp(plural),
            unequal => unequal,
        })
    }

    pub(crate) fn resource(&self, group: &str, plural: &str) -> Option<&Resource> {
        self.find(group, plural).ok().map(|at| &*self.resources[at])
    }

    /// By group and plural; none of them is empty.
    pub(crate) fn resources(&self) -> &[Arc<Resource>] {
        &self.resources
    }

    pub(crate) fn get(&self, key: &Key) -> Option<&StoredObject> {
        self.resource(&key.group, &key.plural)?.objects.get(key)
    }

    fn objects_mut(&mut self, at: usize) -> &mut OrdMap<Arc<Key>, StoredObject> {
        &mut Arc::make_mut(&mut self.resources[at]).objects
    }

    /// The version that the next write gets.
    pub(crate) fn next_version(&self) -> u64 {
        self.version.max(self.reserved) + 1
    }

    pub(crate) fn owners(&self) -> &OwnerIndex {
        &self.owners
    }

    /// Puts an object in, or takes it out, without a trace in the version. Returns what was there.
    pub(crate) fn set(&mut self, key: &Arc<Key>, object: Option<StoredObject>) -> Option<StoredObject> {
        let found = self.find(&key.group, &key.plural);
        let after = object.clone();
        let before = match (found, object) {
            (Ok(at), Some(object)) => self.objects_mut(at).insert(key.clone(), object),
            (Ok(at), None) => {
                let before = self.objects_mut(at).remove(&**key);
                if self.resources[at].objects.is_empty() {
                    self.resources.remove(at);
                }
                before
            }
            (Err(at), Some(object)) => {
                let (group, plural) = (key.group.clone(), key.plural.clone());
                let resource = Resource { group, plural, objects: OrdMap::unit(key.clone(), object) };
                self.resources.insert(at, Arc::new(resource));
                None
            }
            (Err(_), None) => None,
        };
        self.owners.change(key, before.as_ref(), after.as_ref());
        before
    }

    /// Serves the types of all definitions that there are, with all admission policies.
    pub(crate) fn serve_definitions(&mut self) {
        let sources = resources_that_shape_types();
        let sources = sources.filter_map(|(group, plural)| self.resource(group, plural));
        let made = |(key, object): (&Arc<Key>, &StoredObject)| Change {
            key: (**key).clone(),
            before: None,
            after: Some(object.parse()),
            version: object.version(),
        };
        let made: Vec<Change> = sources.flat_map(|found| &found.objects).map(made).collect();
        if let Some(types) = types_after(&self.types, &made) {
            self.types = types;
        }
    }

    /// Makes the changes of one request, and says what became of the objects.
    pub(crate) fn apply(&mut self, changes: &[Change], time_ms: u64) -> Vec<Arc<Record>> {
        let records = changes.iter().map(|change| {
            let key = self.shared_key(&change.key);
            let after = change.after.as_deref().map(|after| StoredObject::of(after, change.version));
            let before = self.set(&key, after.clone());
            self.version = self.version.max(change.version);
            Arc::new(Record::new(key, before, after, change.version, time_ms))
        });
        let records = records.collect();
        self.reserved = self.reserved.max(self.version);
        if let Some(types) = types_after(&self.types, changes) {
            self.types = types;
            self.types_version = self.version;
        }
        records
    }

    /// Takes changes back, newest first.
    pub(crate) fn undo(&mut self, newer: &[Arc<Record>], version: u64) {
        for record in newer {
            self.set(&record.key, record.before.clone());
            if shapes_types(&record.key) {
                let Change { key, before, after, version } = record.to_change();
                let reverse = Change { key, before: after, after: before, version };
                self.types = types_after(&self.types, &[reverse]).unwrap_or_else(|| self.types.clone());
                self.types_version = self.version;
            }
        }
        self.version = version;
    }

    /// The same key, sharing its parts with what is stored already.
    fn shared_key(&self, key: &Key) -> Arc<Key> {
        let Some(resource) = self.resource(&key.group, &key.plural) else { return Arc::new(key.clone()) };
        if let Some((known, _)) = resource.objects.get_key_value(key) {
            return known.clone();
        }
        // The name of a namespace is stored with the namespace.
        let owner = Key::new("", "namespaces", "", &key.namespace);
        let namespace = self
            .resource("", "namespaces")
            .and_then(|namespaces| namespaces.objects.get_key_value(&owner))
            .map_or_else(|| key.namespace.clone(), |(namespace, _)| namespace.name.clone());
        let (group, plural) = (resource.group.clone(), resource.plural.clone());
        Arc::new(Key { group, plural, namespace, name: key.name.clone() })
    }
}
