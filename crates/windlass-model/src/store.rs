//! Where objects live: the trait that the rules read through, and a persistent map that forks in O(1).

use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use imbl::OrdMap;
use serde_json::Value;

use crate::object;

/// Names an object, whatever version it is read in.
///
/// Keys are ordered as Kubernetes lists them: by group and plural, then by the text `namespace/name`. So
/// namespace `a-b` comes before namespace `a`, since `-` comes before `/`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Empty for the core group.
    pub group: Arc<str>,
    /// `configmaps`.
    pub plural: Arc<str>,
    /// Empty for cluster-scoped objects.
    pub namespace: Arc<str>,
    /// `metadata.name`.
    pub name: Arc<str>,
}

impl Key {
    /// A key from its four parts.
    pub fn new(group: &str, plural: &str, namespace: &str, name: &str) -> Self {
        Key { group: group.into(), plural: plural.into(), namespace: namespace.into(), name: name.into() }
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        let resource = self.group.cmp(&other.group).then_with(|| self.plural.cmp(&other.plural));
        resource.then_with(|| self.cmp_in_resource(other))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Key {
    fn cmp_in_resource(&self, other: &Self) -> Ordering {
        if self.namespace == other.namespace {
            return self.name.cmp(&other.name);
        }
        // No valid name has a slash, but a key from elsewhere may; its namespace then decides.
        self.path().cmp(other.path()).then_with(|| self.namespace.cmp(&other.namespace))
    }

    /// `namespace/name`, or the name alone if the object is in no namespace.
    fn path(&self) -> impl Iterator<Item = u8> {
        let slash = if self.namespace.is_empty() { "" } else { "/" };
        self.namespace.bytes().chain(slash.bytes()).chain(self.name.bytes())
    }
}

/// One object before and after a write. `before` is absent on create, `after` on removal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Change {
    /// The object.
    pub key: Key,
    /// As it was.
    pub before: Option<Arc<Value>>,
    /// As it is now.
    pub after: Option<Arc<Value>>,
    /// The version of this write; a removal has one too.
    pub version: u64,
}

/// What the rules need to read, and how versions are given out.
///
/// Objects are kept in their storage version. The rules never write through this trait: they
/// return [`Change`]s, and whoever called them commits these.
pub trait Store {
    /// The object of this key.
    fn get(&self, key: &Key) -> Option<Arc<Value>>;

    /// The objects of a resource in key order, of one namespace or of all, after a key if one is given.
    fn scan<'a>(
        &'a self,
        group: &str,
        plural: &str,
        namespace: Option<&str>,
        after: Option<&Key>,
    ) -> Box<dyn Iterator<Item = (Key, Arc<Value>)> + 'a>;

    /// All objects of all resources in key order.
    fn all<'a>(&'a self) -> Box<dyn Iterator<Item = (Key, Arc<Value>)> + 'a>;

    /// The objects that name this uid as an owner, in key order. A store that has many objects needs an index.
    fn dependents(&self, uid: &str) -> Vec<Key> {
        let refers =
            |object: &Value| object::owner_references(object).iter().any(|reference| reference["uid"] == uid);
        self.all().filter(|(_, object)| refers(object)).map(|(key, _)| key).collect()
    }

    /// The version that the `nth` write (from 0) of the request at hand gets, if it is to this key.
    fn next_version(&self, key: &Key, nth: u64) -> u64;

    /// The version that a list of this resource shows.
    fn list_version(&self, group: &str, plural: &str) -> u64;

    /// 128 bits for a uid or a generated name, which this store has not given out before.
    ///
    /// `salt` distinguishes the numbers that one request needs.
    fn entropy(&self, key: &Key, salt: u64) -> u128;
}

/// A store that clones in O(1), for the checker and for tests.
///
/// Versions count the writes **to each key**, not to the whole store, and go on counting after a
/// delete. Kubernetes promises only that versions of one object differ and grow, so this is
/// allowed; and it makes stores equal that differ only in the order of unrelated writes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct MemoryStore {
    entries: OrdMap<Key, Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    /// How many writes this key has seen.
    version: u64,
    /// How many objects have had this key.
    incarnation: u64,
    /// The hash of the object: stores are hashed much more often than objects are written.
    object_hash: u64,
    /// Absent once it is deleted.
    object: Option<Arc<Value>>,
}

impl Entry {
    fn new(version: u64, incarnation: u64, object: Option<Arc<Value>>) -> Self {
        let mut hasher = DefaultHasher::new();
        object.hash(&mut hasher);
        Entry { version, incarnation, object_hash: hasher.finish(), object }
    }
}

impl Hash for Entry {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.version, self.incarnation, self.object_hash).hash(state);
    }
}

impl MemoryStore {
    /// Makes a change visible.
    pub fn commit(&mut self, change: &Change) {
        let known = self.entries.get(&change.key).map_or(0, |entry| entry.incarnation);
        let incarnation = known + u64::from(change.before.is_none());
        let entry = Entry::new(change.version, incarnation, change.after.clone());
        self.entries.insert(change.key.clone(), entry);
    }

    /// Every key that has ever been written, and what is known of it.
    pub fn history(&self) -> impl Iterator<Item = (&Key, History<'_>)> {
        self.entries.iter().map(|(key, entry)| {
            let object = entry.object.as_ref();
            (key, History { version: entry.version, incarnation: entry.incarnation, object })
        })
    }

    /// Replaces what is known of a key; without an object, versions and incarnations, it is forgotten. For
    /// callers that know that smaller numbers are equivalent.
    pub fn rewrite(&mut self, key: &Key, history: History<'_>) {
        if history == History::default() {
            self.entries.remove(key);
            return;
        }
        let History { version, incarnation, object } = history;
        self.entries.insert(key.clone(), Entry::new(version, incarnation, object.cloned()));
    }

    /// The uid of an object, given how many objects have had its key, itself included.
    pub fn uid(key: &Key, incarnation: u64) -> String {
        uid(entropy(key, incarnation, 0))
    }

    fn live_from<'a>(&'a self, start: &Key) -> impl Iterator<Item = (&'a Key, &'a Arc<Value>)> + use<'a> {
        self.entries.range(start.clone()..).filter_map(|(key, entry)| Some((key, entry.object.as_ref()?)))
    }
}

/// What a store knows of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History<'a> {
    /// How many writes it has seen.
    pub version: u64,
    /// How many objects have had it.
    pub incarnation: u64,
    /// The object, if there is one.
    pub object: Option<&'a Arc<Value>>,
}

impl Store for MemoryStore {
    fn get(&self, key: &Key) -> Option<Arc<Value>> {
        self.entries.get(key)?.object.clone()
    }

    fn scan<'a>(
        &'a self,
        group: &str,
        plural: &str,
        namespace: Option<&str>,
        after: Option<&Key>,
    ) -> Box<dyn Iterator<Item = (Key, Arc<Value>)> + 'a> {
        let first = Key::new(group, plural, namespace.unwrap_or(""), "");
        let start = after.filter(|after| **after > first).unwrap_or(&first).clone();
        let (group, plural) = (first.group.clone(), first.plural.clone());
        let only: Option<Arc<str>> = namespace.map(Into::into);
        let skip = after.cloned();
        Box::new(
            self.live_from(&start)
                .take_while(move |(key, _)| {
                    key.group == group
                        && key.plural == plural
                        && only.as_ref().is_none_or(|namespace| key.namespace == *namespace)
                })
                .filter(move |(key, _)| Some(*key) != skip.as_ref())
                .map(|(key, object)| (key.clone(), object.clone())),
        )
    }

    fn all<'a>(&'a self) -> Box<dyn Iterator<Item = (Key, Arc<Value>)> + 'a> {
        let objects = self.entries.iter();
        Box::new(objects.filter_map(|(key, entry)| Some((key.clone(), entry.object.clone()?))))
    }

    fn next_version(&self, key: &Key, _nth: u64) -> u64 {
        self.entries.get(key).map_or(0, |entry| entry.version) + 1
    }

    fn list_version(&self, group: &str, plural: &str) -> u64 {
        let start = Key::new(group, plural, "", "");
        let entries = self.entries.range(start.clone()..);
        entries
            .take_while(|(key, _)| key.group == start.group && key.plural == start.plural)
            .map(|(_, entry)| entry.version)
            .sum()
    }

    fn entropy(&self, key: &Key, salt: u64) -> u128 {
        // No two objects have the same key at the same time, so the next one is identified by its incarnation.
        entropy(key, self.entries.get(key).map_or(0, |entry| entry.incarnation) + 1, salt)
    }
}

/// A number for a key that is the same whenever it is asked for: where to begin to look for something that others may
/// have.
pub(crate) fn draw(key: &Key) -> u128 {
    entropy(key, 0, 0)
}

fn entropy(key: &Key, incarnation: u64, salt: u64) -> u128 {
    let text = format!("{}/{}/{}/{}", key.group, key.plural, key.namespace, key.name);
    fnv128(text.as_bytes(), incarnation, salt)
}

/// FNV-1a over the text and two numbers: not random, only different.
fn fnv128(text: &[u8], incarnation: u64, salt: u64) -> u128 {
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for byte in text.iter().copied().chain(incarnation.to_le_bytes()).chain(salt.to_le_bytes()) {
        hash = (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    hash
}

/// A uid as RFC 4122 writes a random one.
pub fn uid(bits: u128) -> String {
    let bits = bits & !(0xf << 76) | 0x4 << 76;
    let bits = bits & !(0x3 << 62) | 0x2 << 62;
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        bits >> 96,
        bits >> 80 & 0xffff,
        bits >> 64 & 0xffff,
        bits >> 48 & 0xffff,
        bits & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_ordered_as_kubernetes_lists_them() {
        let key = |namespace: &str, name: &str| Key::new("", "pods", namespace, name);
        let ordered = [
            Key::new("", "nodes", "", "z"),
            key("", ""),
            key("a-b", "x"),
            key("a.b", "x"),
            key("a", ""),
            key("a", "x"),
            key("a", "x-y"),
            key("a", "xy"),
            key("a0", "a"),
            key("b", "a"),
            Key::new("apps", "deployments", "a", "a"),
        ];
        for (at, left) in ordered.iter().enumerate() {
            for (other, right) in ordered.iter().enumerate() {
                assert_eq!(left.cmp(right), at.cmp(&other), "{left:?} {right:?}");
            }
        }
        assert_ne!(key("a", "b/c").cmp(&key("a/b", "c")), Ordering::Equal);
    }

    #[test]
    fn a_uid_is_a_random_rfc_4122_one() {
        assert_eq!(uid(0), "00000000-0000-4000-8000-000000000000");
        assert_eq!(uid(u128::MAX), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(uid(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef), "01234567-89ab-4def-8123-456789abcdef");
    }
}
