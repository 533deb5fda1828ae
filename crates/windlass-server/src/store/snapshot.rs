//! A consistent view of all objects, which later writes do not change.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::{Arc, Mutex, PoisonError};

use ring::rand::{SecureRandom, SystemRandom};
use serde_json::Value;
use windlass_model::{Key, Store, Types};

use super::object::StoredObject;
use super::parsed::ParsedCache;
use super::reads::Reads;
use super::record::Record;
use super::state::{Resource, State};

/// All objects at one version. A clone is cheap and blocks no writer.
#[derive(Clone, Debug)]
pub struct Snapshot {
    state: Arc<State>,
    parsed: Arc<ParsedCache>,
    /// Records what is read while a write is evaluated.
    reads: Option<Arc<Mutex<Reads>>>,
}

impl Snapshot {
    pub(crate) fn new(state: State, parsed: Arc<ParsedCache>) -> Self {
        Snapshot { state: Arc::new(state), parsed, reads: None }
    }

    /// The same snapshot, which records everything that is read from now on.
    pub(crate) fn recording(mut self) -> Self {
        self.reads = Some(Arc::default());
        self
    }

    /// Whether everything that was read is the same in a newer state.
    pub(crate) fn is_same_for_reader(&self, newer: &State) -> bool {
        let reads = self.reads.as_ref().map(|reads| reads.lock().unwrap_or_else(PoisonError::into_inner));
        reads.is_some_and(|reads| reads.are_same(&self.state, newer))
    }

    fn record(&self, read: impl FnOnce(&mut Reads)) {
        if let Some(reads) = &self.reads {
            read(&mut reads.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// To change it; copies what others still look at.
    pub(crate) fn state_mut(&mut self) -> &mut State {
        Arc::make_mut(&mut self.state)
    }

    /// The state at an older version: without the changes since then, newest first.
    pub(crate) fn undone(&self, newer: &[Arc<Record>], version: u64) -> Snapshot {
        let mut older = self.clone();
        older.state_mut().undo(newer, version);
        older
    }

    /// The version of the newest change in it.
    pub fn version(&self) -> u64 {
        self.record(Reads::everything);
        self.state.version
    }

    /// The types that are served.
    pub fn types(&self) -> &Types {
        self.record(Reads::types);
        &self.state.types
    }

    /// The object of this key, as it is stored.
    pub fn raw(&self, key: &Key) -> Option<StoredObject> {
        self.record(|reads| reads.key(key));
        self.state.get(key).cloned()
    }

    /// The objects of a resource in key order, of one namespace or of all, after a key if one is given.
    pub fn scan_raw<'a>(
        &'a self,
        group: &str,
        plural: &str,
        namespace: Option<&str>,
        after: Option<&Key>,
    ) -> impl Iterator<Item = (&'a Key, &'a StoredObject)> + use<'a> {
        self.record(|reads| reads.resource(group, plural));
        let only: Option<Arc<str>> = namespace.map(Into::into);
        let resource = self.state.resource(group, plural);
        resource
            .into_iter()
            .flat_map({
                let first = Key::new(group, plural, namespace.unwrap_or(""), "");
                let start = match after.filter(|after| **after >= first) {
                    Some(after) => Bound::Excluded(after.clone()),
                    None => Bound::Included(first),
                };
                move |resource: &'a Resource| resource.objects.range((start.clone(), Bound::Unbounded))
            })
            .map(|(key, object)| (&**key, object))
            .take_while(move |(key, _)| only.as_ref().is_none_or(|namespace| key.namespace == *namespace))
    }

    /// How many objects a resource has.
    pub fn count(&self, group: &str, plural: &str) -> usize {
        self.record(|reads| reads.resource(group, plural));
        self.state.resource(group, plural).map_or(0, |resource| resource.objects.len())
    }

    /// Every object that has an owner or is being deleted: all that the garbage collector may have to do with.
    pub fn collectable(&self) -> BTreeSet<Key> {
        self.record(Reads::everything);
        self.state.owners().collectable().map(|key| (**key).clone()).collect()
    }

    /// Each resource that has objects, by group and plural, with their number.
    pub fn resources(&self) -> impl Iterator<Item = (&str, &str, usize)> {
        self.record(Reads::everything);
        self.state
            .resources()
            .iter()
            .map(|resource| (&*resource.group, &*resource.plural, resource.objects.len()))
    }
}

impl Store for Snapshot {
    fn get(&self, key: &Key) -> Option<Arc<Value>> {
        self.record(|reads| reads.key(key));
        Some(self.parsed.parse(self.state.get(key)?))
    }

    fn scan<'a>(
        &'a self,
        group: &str,
        plural: &str,
        namespace: Option<&str>,
        after: Option<&Key>,
    ) -> Box<dyn Iterator<Item = (Key, Arc<Value>)> + 'a> {
        let objects = self.scan_raw(group, plural, namespace, after);
        Box::new(objects.map(|(key, object)| (key.clone(), object.parse())))
    }

    fn all<'a>(&'a self) -> Box<dyn Iterator<Item = (Key, Arc<Value>)> + 'a> {
        self.record(Reads::everything);
        let objects = self.state.resources().iter().flat_map(|resource| &resource.objects);
        Box::new(objects.map(|(key, object)| ((**key).clone(), object.parse())))
    }

    fn dependents(&self, uid: &str) -> Vec<Key> {
        self.record(Reads::everything);
        let refers = |key: &Key| {
            let found = self.state.get(key);
            found.is_some_and(|object| object.owners().iter().any(|owner| owner == uid))
        };
        let found = self.state.owners().dependents(uid).filter(|key| refers(key));
        found.map(|key| (**key).clone()).collect()
    }

    fn next_version(&self, _key: &Key, nth: u64) -> u64 {
        // Not recorded: if it has changed, the outcome gets later versions.
        self.state.next_version() + nth
    }

    fn list_version(&self, _group: &str, _plural: &str) -> u64 {
        self.version()
    }

    fn entropy(&self, _key: &Key, _salt: u64) -> u128 {
        let mut bits = [0; 16];
        SystemRandom::new().fill(&mut bits).expect("the operating system has random numbers");
        u128::from_ne_bytes(bits)
    }
}
