//! How changes and objects are laid out in the file.

use std::sync::Arc;

use bytes::Bytes;
use windlass_model::Key;

use crate::store::object::StoredObject;
use crate::store::record::Record;

/// Some changes that were made durable together.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Batch {
    /// The version that the changes were made to.
    pub(super) previous: u64,
    /// When they were made, in milliseconds since 1970.
    pub(super) time_ms: u64,
    pub(super) changes: Vec<Entry>,
}

/// A change in the log: what the object became.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: Key,
    pub(super) version: u64,
    pub(super) after: Option<StoredObject>,
}

/// The bytes do not mean anything.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Undecodable;

/// The bytes of a batch of changes.
pub(super) fn encode_batch(previous: u64, records: &[Arc<Record>]) -> Vec<u8> {
    let texts = records.iter().filter_map(|record| record.after.as_ref()).map(|after| after.text().len());
    let mut out = Vec::with_capacity(texts.sum::<usize>() + 160 * (records.len() + 1));
    out.extend(previous.to_le_bytes());
    out.extend(records.first().map_or(0, |record| record.time_ms).to_le_bytes());
    out.extend(length(records.len()));
    for record in records {
        out.extend(record.version.to_le_bytes());
        put_key(&mut out, &record.key);
        out.push(u8::from(record.after.is_some()));
        if let Some(after) = &record.after {
            put(&mut out, after.text());
        }
    }
    out
}

/// Reads a batch back.
pub(super) fn decode_batch(bytes: &[u8]) -> Result<Batch, Undecodable> {
    let mut reader = Reader(bytes);
    let (previous, time_ms) = (reader.number()?, reader.number()?);
    let count = reader.length()?;
    // The count is not believed before that many changes are seen.
    let mut changes = Vec::new();
    for _ in 0..count {
        let version = reader.number()?;
        let key = reader.key()?;
        let after = match reader.take(1)? {
            [0] => None,
            [1] => Some(object(reader.block()?, version)?),
            _ => return Err(Undecodable),
        };
        changes.push(Entry { key, version, after });
    }
    reader.end()?;
    Ok(Batch { previous, time_ms, changes })
}

/// The bytes of a key. Objects of one resource are neighbours.
pub(super) fn encode_key(key: &Key) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    put_key(&mut out, key);
    out
}

/// Reads a key back.
pub(super) fn decode_key(bytes: &[u8]) -> Result<Key, Undecodable> {
    let mut reader = Reader(bytes);
    let key = reader.key()?;
    reader.end()?;
    Ok(key)
}

/// The bytes of an object.
pub(super) fn encode_object(object: &StoredObject) -> Vec<u8> {
    let mut out = Vec::with_capacity(8 + object.text().len());
    out.extend(object.version().to_le_bytes());
    out.extend_from_slice(object.text());
    out
}

/// Reads an object back.
pub(super) fn decode_object(bytes: &[u8]) -> Result<StoredObject, Undecodable> {
    let mut reader = Reader(bytes);
    let version = reader.number()?;
    object(reader.0, version)
}

fn object(text: &[u8], version: u64) -> Result<StoredObject, Undecodable> {
    StoredObject::from_text(Bytes::copy_from_slice(text), version).map_err(|_| Undecodable)
}

fn length(length: usize) -> [u8; 4] {
    u32::try_from(length).expect("no object has four gigabytes, and no batch that many changes").to_le_bytes()
}

fn put(out: &mut Vec<u8>, block: &[u8]) {
    out.extend(length(block.len()));
    out.extend_from_slice(block);
}

fn put_key(out: &mut Vec<u8>, key: &Key) {
    for part in [&key.group, &key.plural, &key.namespace, &key.name] {
        put(out, part.as_bytes());
    }
}

/// What is left to be read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Undecodable> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Undecodable)?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u64, Undecodable> {
        let bytes = self.take(8)?.try_into().map_err(|_| Undecodable)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn length(&mut self) -> Result<usize, Undecodable> {
        let bytes = self.take(4)?.try_into().map_err(|_| Undecodable)?;
        usize::try_from(u32::from_le_bytes(bytes)).map_err(|_| Undecodable)
    }

    fn block(&mut self) -> Result<&'a [u8], Undecodable> {
        let length = self.length()?;
        self.take(length)
    }

    fn text(&mut self) -> Result<Arc<str>, Undecodable> {
        Ok(std::str::from_utf8(self.block()?).map_err(|_| Undecodable)?.into())
    }

    fn key(&mut self) -> Result<Key, Undecodable> {
        Ok(Key { group: self.text()?, plural: self.text()?, namespace: self.text()?, name: self.text()? })
    }

    fn end(&self) -> Result<(), Undecodable> {
        if self.0.is_empty() { Ok(()) } else { Err(Undecodable) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn records() -> Vec<Arc<Record>> {
        let key = |name: &str| Arc::new(Key::new("apps", "deployments", "ns", name));
        let object = StoredObject::of(&json!({ "a": "ä" }), 7);
        vec![
            Arc::new(Record::new(key("a"), None, Some(object.clone()), 7, 5)),
            Arc::new(Record::new(key("b\0"), Some(object), None, 8, 5)),
        ]
    }

    #[test]
    fn a_batch_is_read_back() {
        let batch = decode_batch(&encode_batch(6, &records())).unwrap();
        assert_eq!((batch.previous, batch.time_ms, batch.changes.len()), (6, 5, 2));
        for (entry, record) in batch.changes.iter().zip(records()) {
            assert_eq!((&entry.key, entry.version), (&*record.key, record.version));
            assert_eq!(entry.after, record.after);
        }
    }

    #[test]
    fn every_cut_and_every_flip_is_read_or_refused() {
        let whole = encode_batch(6, &records());
        for end in 0..whole.len() {
            assert_eq!(decode_batch(&whole[..end]), Err(Undecodable), "{end}");
            let mut flipped = whole.clone();
            flipped[end] ^= 0x80;
            // Nothing to compare with: it only must not panic, nor reserve what the lengths promise.
            drop(decode_batch(&flipped));
        }
        let key = encode_key(&records()[0].key);
        assert_eq!(decode_key(&key).as_ref(), Ok(&*records()[0].key));
        assert_eq!(decode_key(&key[..key.len() - 1]), Err(Undecodable));
    }
}
