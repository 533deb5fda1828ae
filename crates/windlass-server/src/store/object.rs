//! An object as it is stored: its JSON text, ready to be sent.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use windlass_model::object;
use windlass_model::selector::shard_hash;

const TYPE_FIELDS: [&str; 2] = ["apiVersion", "kind"];

/// The text of an object, the version of the write that made it, and the hash of its uid. A clone shares the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredObject {
    text: Bytes,
    /// The version, and two marks in the lowest bits: a store has many of these.
    stamp: u64,
    /// Here so that lists and watches of shards read only what they select.
    uid_hash: u64,
}

/// It has owners.
const OWNED: u64 = 1;
/// It is being deleted.
const DELETING: u64 = 2;
const MARK_BITS: u32 = 2;

impl StoredObject {
    /// The text of a value, without white space. It begins with `apiVersion` and `kind`, if these are there, so
    /// that its type can be found, or left out, without parsing the rest.
    pub(crate) fn of(value: &Value, version: u64) -> Self {
        let text =
            serde_json::to_vec(&TypeFirst(value)).expect("a JSON value has text: its keys are strings");
        // The text lives long, so it must not keep the room that it grew in.
        let (text, seen) = (Bytes::from(text.into_boxed_slice()), Seen::of(value));
        StoredObject { text, stamp: seen.stamp(version), uid_hash: seen.uid_hash() }
    }

    /// Text that was stored before.
    pub(crate) fn from_text(text: Bytes, version: u64) -> Result<Self, serde_json::Error> {
        let (stamp, uid_hash) = match serde_json::from_slice::<Seen<'_>>(&text) {
            Ok(seen) => (seen.stamp(version), seen.uid_hash()),
            // Some field is of an unexpected type.
            Err(_) => {
                let value = serde_json::from_slice(&text)?;
                let seen = Seen::of(&value);
                (seen.stamp(version), seen.uid_hash())
            }
        };
        Ok(StoredObject { text, stamp, uid_hash })
    }

    /// The JSON text.
    pub fn text(&self) -> &Bytes {
        &self.text
    }

    /// The version of the write that made it: its `metadata.resourceVersion`.
    pub fn version(&self) -> u64 {
        self.stamp >> MARK_BITS
    }

    /// The object as a value; each call parses it again.
    pub fn parse(&self) -> Arc<Value> {
        Arc::new(serde_json::from_slice(&self.text).expect("only JSON is stored, and it is read when opened"))
    }

    /// The hash of its uid, by which shards are selected.
    pub(crate) fn uid_hash(&self) -> u64 {
        self.uid_hash
    }

    /// Whether it is being deleted.
    pub(crate) fn is_deleting(&self) -> bool {
        self.stamp & DELETING != 0
    }

    /// Whether it has owners.
    pub(crate) fn is_owned(&self) -> bool {
        self.stamp & OWNED != 0
    }

    /// The uids of its owners.
    pub(crate) fn owners(&self) -> Vec<String> {
        if !self.is_owned() {
            return Vec::new();
        }
        let uids = |seen: Seen<'_>| {
            let references = seen.metadata.owner_references.into_iter();
            references.map(|reference| reference.uid.into_owned()).collect()
        };
        serde_json::from_slice(&self.text).map_or_else(|_| uids(Seen::of(&self.parse())), uids)
    }
}

/// What the store itself looks at.
#[derive(Deserialize)]
struct Seen<'a> {
    #[serde(borrow, default)]
    metadata: SeenMetadata<'a>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SeenMetadata<'a> {
    #[serde(borrow, default)]
    owner_references: Vec<SeenReference<'a>>,
    #[serde(borrow)]
    deletion_timestamp: Option<Cow<'a, str>>,
    #[serde(borrow)]
    uid: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct SeenReference<'a> {
    #[serde(borrow, default)]
    uid: Cow<'a, str>,
}

impl<'a> Seen<'a> {
    fn of(value: &'a Value) -> Self {
        let uid = |reference: &'a Value| reference["uid"].as_str().unwrap_or("").into();
        let references = object::owner_references(value).iter();
        let owner_references = references.map(|reference| SeenReference { uid: uid(reference) }).collect();
        let deletion_timestamp = object::is_deleting(value).then_some("".into());
        let uid = Some(object::uid(value).into());
        Seen { metadata: SeenMetadata { owner_references, deletion_timestamp, uid } }
    }

    fn stamp(&self, version: u64) -> u64 {
        let owned = if self.metadata.owner_references.is_empty() { 0 } else { OWNED };
        let deleting = if self.metadata.deletion_timestamp.is_some() { DELETING } else { 0 };
        version << MARK_BITS | owned | deleting
    }

    fn uid_hash(&self) -> u64 {
        shard_hash(self.metadata.uid.as_deref().unwrap_or_default())
    }
}

/// An object with its type before everything else.
struct TypeFirst<'a>(&'a Value);

impl Serialize for TypeFirst<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Value::Object(fields) = self.0 else { return self.0.serialize(serializer) };
        let mut map = serializer.serialize_map(Some(fields.len()))?;
        let is_type = |name: &str| TYPE_FIELDS.contains(&name);
        for name in TYPE_FIELDS {
            if let Some(value) = fields.get(name) {
                map.serialize_entry(name, value)?;
            }
        }
        for (name, value) in fields.iter().filter(|(name, _)| !is_type(name)) {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_read_is_what_was_written() {
        for value in [
            json!({}),
            json!({ "metadata": {} }),
            json!({ "metadata": { "ownerReferences": [], "name": "a" } }),
            json!({ "metadata": { "ownerReferences": [{ "uid": "a\nb" }, { "name": "no uid" }] } }),
            json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } }),
            json!({ "metadata": { "deletionTimestamp": null } }),
            json!({ "metadata": { "deletionTimestamp": 5, "ownerReferences": [{ "uid": "a" }] } }),
            json!({ "metadata": { "deletionTimestamp": "x", "ownerReferences": null } }),
            json!({ "metadata": { "ownerReferences": [{ "uid": 7 }, { "uid": "a" }] } }),
            json!({ "metadata": { "uid": "a\nb" } }),
            json!({ "metadata": { "uid": 7 } }),
            json!({ "metadata": { "uid": null } }),
            json!({ "metadata": 7 }),
            json!([]),
            json!({ "metadata": { "deletionTimestamp": "x", "ownerReferences": [{ "uid": "a" }] }, "x": [1, {}] }),
        ] {
            let written = StoredObject::of(&value, 5);
            let read = StoredObject::from_text(written.text().clone(), 5).unwrap();
            assert_eq!(read, written, "{value}");
            assert_eq!((read.version(), &*read.parse()), (5, &value));
            assert_eq!(read.uid_hash(), shard_hash(object::uid(&value)));
            assert_eq!(read.is_deleting(), object::is_deleting(&value));
            let uids = object::owner_references(&value).iter();
            let uids: Vec<&str> = uids.map(|reference| reference["uid"].as_str().unwrap_or("")).collect();
            assert_eq!(read.owners(), uids);
        }
        assert!(StoredObject::from_text(Bytes::from_static(b"{\"a\":"), 1).is_err());
    }
}
