//! Reading everything in a file, and refusing what does not belong together.

use std::collections::HashSet;
use std::sync::Arc;

use redb::{Database, ReadableDatabase, ReadableTable, ReadableTableMetadata, TableError};
use windlass_model::{Key, Types};

use super::encoding::{Entry, Undecodable, decode_batch, decode_key, decode_object};
use super::{COMPACTED_MARK, FORMAT, FORMAT_MARK, LOG, MARKS, OBJECTS, Refusal, refusal_of};
use crate::store::record::Record;
use crate::store::state::State;

/// What is in a file.
pub(crate) struct Loaded {
    /// All objects.
    pub(crate) state: State,
    /// The changes since the compacted version, in order.
    pub(crate) records: Vec<Arc<Record>>,
    /// The changes up to this version are forgotten.
    pub(crate) compacted: u64,
}

/// Reads everything.
pub(super) fn load(database: &Database) -> Result<Loaded, Refusal> {
    let compacted = read_marks(database)?;
    let mut loader = Loader { state: State::new(Types::built_in()), texts: HashSet::new() };
    loader.read_objects(database, compacted)?;
    let records = loader.replay(database, compacted)?;
    let Loader { mut state, .. } = loader;
    state.reserved = state.version;
    state.serve_definitions();
    Ok(Loaded { state, records, compacted })
}

/// The compacted version, if this is a store at all, and one of a known format.
fn read_marks(database: &Database) -> Result<u64, Refusal> {
    let marks = match database.begin_read().map_err(|error| refusal_of(&error.into()))?.open_table(MARKS) {
        Err(TableError::TableDoesNotExist(_)) => {
            return Err(Refusal::Damaged("it is the database of another program".to_owned()));
        }
        marks => marks.map_err(|error| refusal_of(&error.into()))?,
    };
    let mark = |name: &str| -> Result<u64, Refusal> {
        let found = marks.get(name)?.ok_or_else(|| Refusal::Damaged(format!("it has no mark {name:?}")))?;
        Ok(found.value())
    };
    match mark(FORMAT_MARK)? {
        FORMAT => mark(COMPACTED_MARK),
        newer @ FORMAT.. => Err(Refusal::Newer(newer)),
        other => Err(Refusal::Damaged(format!("there is no format {other}"))),
    }
}

struct Loader {
    state: State,
    /// Groups, plurals and namespaces: the same few texts again and again.
    texts: HashSet<Arc<str>>,
}

impl Loader {
    fn read_objects(&mut self, database: &Database, compacted: u64) -> Result<(), Refusal> {
        let transaction = database.begin_read().map_err(|error| refusal_of(&error.into()))?;
        let objects = transaction.open_table(OBJECTS).map_err(|error| refusal_of(&error.into()))?;
        let mut count = 0;
        for entry in objects.iter()? {
            let (key, object) = entry?;
            let key = decode_key(key.value()).map_err(|Undecodable| damaged("an unreadable key"))?;
            let object = decode_object(object.value()).map_err(|Undecodable| unreadable(&key))?;
            if object.version() > compacted {
                return Err(unreadable(&key));
            }
            let key = self.shared_key(key);
            self.state.set(&key, Some(object));
            count += 1;
        }
        if count != objects.len()? {
            return Err(damaged("a wrong number of objects"));
        }
        self.state.version = compacted;
        Ok(())
    }

    /// Makes the changes of the log.
    fn replay(&mut self, database: &Database, compacted: u64) -> Result<Vec<Arc<Record>>, Refusal> {
        let transaction = database.begin_read().map_err(|error| refusal_of(&error.into()))?;
        let log = transaction.open_table(LOG).map_err(|error| refusal_of(&error.into()))?;
        let mut records = Vec::new();
        for entry in log.iter()? {
            let (version, batch) = entry?;
            let version = version.value();
            let batch = decode_batch(batch.value()).map_err(|Undecodable| damaged("an unreadable change"))?;
            // The log begins in the midst of a batch if part of it has been folded.
            if batch.previous.max(compacted) != self.state.version {
                return Err(damaged(&format!("a gap between versions {} and {version}", self.state.version)));
            }
            for change in batch.changes {
                if change.version > compacted {
                    records.push(self.make(change, batch.time_ms)?);
                }
            }
            if self.state.version != version {
                return Err(damaged(&format!("changes under the wrong version {version}")));
            }
        }
        Ok(records)
    }

    fn make(&mut self, change: Entry, time_ms: u64) -> Result<Arc<Record>, Refusal> {
        let Entry { key, version, after } = change;
        if version <= self.state.version {
            return Err(unreadable(&key));
        }
        let key = self.shared_key(key);
        let before = self.state.set(&key, after.clone());
        self.state.version = version;
        Ok(Arc::new(Record::new(key, before, after, version, time_ms)))
    }

    fn shared_key(&mut self, key: Key) -> Arc<Key> {
        let known = self.state.resource(&key.group, &key.plural);
        if let Some((known, _)) = known.and_then(|resource| resource.objects.get_key_value(&key)) {
            return known.clone();
        }
        let Key { group, plural, namespace, name } = key;
        let [group, plural, namespace] = [group, plural, namespace].map(|text| self.shared_text(text));
        Arc::new(Key { group, plural, namespace, name })
    }

    fn shared_text(&mut self, text: Arc<str>) -> Arc<str> {
        if let Some(known) = self.texts.get(&text) {
            return known.clone();
        }
        self.texts.insert(text.clone());
        text
    }
}

fn unreadable(key: &Key) -> Refusal {
    let Key { group, plural, namespace, name } = key;
    damaged(&format!("an unreadable object: {plural}.{group} {namespace}/{name}"))
}

fn damaged(problem: &str) -> Refusal {
    Refusal::Damaged(format!("it has {problem}"))
}
