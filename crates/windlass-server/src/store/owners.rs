//! An index of objects by owner, so that the garbage collector need not scan everything.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use imbl::OrdSet;
use windlass_model::Key;

use super::object::StoredObject;

/// What the garbage collector looks for. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnerIndex {
    dependents: OrdSet<Dependent>,
    deleting: OrdSet<Arc<Key>>,
}

/// An object and one of its owners.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Dependent {
    /// A hash of the owner's uid. Two uids may share one, so it only says where to look.
    owner: u64,
    key: Arc<Key>,
}

impl OwnerIndex {
    /// Follows what becomes of an object.
    pub(crate) fn change(
        &mut self,
        key: &Arc<Key>,
        before: Option<&StoredObject>,
        after: Option<&StoredObject>,
    ) {
        let owners = |object: Option<&StoredObject>| {
            let uids = object.map(StoredObject::owners).unwrap_or_default();
            let mut owners: Vec<u64> = uids.iter().map(|uid| hash(uid)).collect();
            owners.sort_unstable();
            owners
        };
        let (old, new) = (owners(before), owners(after));
        if old != new {
            for owner in old {
                self.dependents.remove(&Dependent { owner, key: key.clone() });
            }
            for owner in new {
                self.dependents.insert(Dependent { owner, key: key.clone() });
            }
        }
        match (before.is_some_and(StoredObject::is_deleting), after.is_some_and(StoredObject::is_deleting)) {
            (false, true) => drop(self.deleting.insert(key.clone())),
            (true, false) => drop(self.deleting.remove(key)),
            _ => {}
        }
    }

    /// At least the objects that name this uid as an owner, in key order.
    pub(crate) fn dependents(&self, uid: &str) -> impl Iterator<Item = &Arc<Key>> {
        let owner = hash(uid);
        let first = Dependent { owner, key: Arc::new(Key::new("", "", "", "")) };
        let found = self.dependents.range(first..).take_while(move |dependent| dependent.owner == owner);
        found.map(|dependent| &dependent.key)
    }

    /// Every object that has an owner or is being deleted, some of them more than once.
    pub(crate) fn collectable(&self) -> impl Iterator<Item = &Arc<Key>> {
        self.dependents.iter().map(|dependent| &dependent.key).chain(&self.deleting)
    }
}

fn hash(uid: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    uid.hash(&mut hasher);
    hasher.finish()
}
