//! `metadata.managedFields`: which manager owns which fields since when.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::field_set::FieldSet;
use crate::field::quoted;
use crate::object;
use crate::time::Timestamp;

/// Updaters beyond this many are merged into one entry per version.
const MAX_UPDATERS: usize = 10;
const BUCKET: &str = "ancient-changes";

/// Objects are read back by a JSON parser that stops at 128 levels; the entries stand four levels down.
const MAX_DEPTH: usize = 120;

/// How a manager came to own fields. Appliers come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    Apply,
    Update,
}

impl Operation {
    fn as_str(self) -> &'static str {
        match self {
            Operation::Apply => "Apply",
            Operation::Update => "Update",
        }
    }
}

/// Identifies an entry: no two entries of one object have the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Manager {
    pub(super) name: String,
    pub(super) operation: Operation,
    /// Empty for appliers: one applier has one entry, whichever version it uses.
    pub(super) api_version: String,
    pub(super) subresource: String,
}

impl Manager {
    pub(super) fn new(
        operation: Operation,
        name: &str,
        api_version: &str,
        subresource: Option<&str>,
    ) -> Self {
        let api_version = if operation == Operation::Apply { "" } else { api_version };
        Manager {
            name: if name.is_empty() { "unknown" } else { name }.to_owned(),
            operation,
            api_version: api_version.to_owned(),
            subresource: subresource.unwrap_or_default().to_owned(),
        }
    }

    /// What Kubernetes sorts managers by: the entry as JSON, without time and fields.
    pub(super) fn identifier(&self) -> String {
        let member = |name: &str, value: &str| match value {
            "" => String::new(),
            value => format!(",{name:?}:{}", Value::from(value)),
        };
        format!(
            "{{\"manager\":{}{}{}{}}}",
            Value::from(self.name.as_str()),
            member("operation", self.operation.as_str()),
            member("apiVersion", &self.api_version),
            member("subresource", &self.subresource),
        )
    }

    /// As conflicts name it: `"kubectl" using apps/v1`.
    pub(super) fn shown(&self) -> String {
        let mut shown = quoted(&self.name);
        if !self.subresource.is_empty() {
            shown.push_str(&format!(" with subresource {}", quoted(&self.subresource)));
        }
        if self.operation == Operation::Update {
            shown.push_str(&format!(" using {}", self.api_version));
        }
        shown
    }
}

/// What one manager owns.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Owned {
    pub(super) api_version: String,
    pub(super) fields: FieldSet,
    /// As it is written; absent if the manager never changed the object.
    pub(super) time: Option<String>,
}

impl Owned {
    fn seconds(&self) -> i64 {
        self.time.as_deref().and_then(Timestamp::parse).map_or(0, Timestamp::unix_seconds)
    }
}

/// All entries of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Managed {
    pub(super) owners: BTreeMap<Manager, Owned>,
}

impl Managed {
    /// Reads the entries of an object, or says why they cannot be read.
    pub(super) fn of(object: &Value) -> Result<Self, String> {
        let mut managed = Managed::default();
        let entries = object["metadata"]["managedFields"].as_array().map_or(&[][..], Vec::as_slice);
        for (i, entry) in entries.iter().enumerate() {
            let (manager, owned) = read_entry(i, entry)?;
            managed.owners.insert(manager, owned);
        }
        Ok(managed)
    }

    /// Writes the entries into an object; the field is removed if there are none.
    ///
    /// Fails on fields that are nested deeper than an object can be.
    pub(super) fn write_to(&self, object: &mut Value) -> Result<(), String> {
        if self.owners.values().any(|owned| owned.fields.depth() > MAX_DEPTH) {
            return Err("fields are nested too deeply".to_owned());
        }
        if self.owners.is_empty() {
            object::remove_meta(object, "managedFields");
        } else {
            object::set_meta(object, "managedFields", self.entries());
        }
        Ok(())
    }

    fn entries(&self) -> Vec<Value> {
        let mut entries: Vec<(&Manager, &Owned)> = self.owners.iter().collect();
        entries.sort_by_key(|(manager, owned)| {
            (manager.operation, owned.seconds(), &manager.name, &owned.api_version, &manager.subresource)
        });
        entries.into_iter().map(|(manager, owned)| write_entry(manager, owned)).collect()
    }

    /// Drops the entries that own nothing.
    pub(super) fn drop_empty(&mut self) {
        self.owners.retain(|_, owned| !owned.fields.is_empty());
    }

    /// Merges the oldest updaters of a version until few enough are left.
    pub(super) fn cap_updaters(&mut self) {
        let mut updaters: Vec<Manager> =
            self.owners.keys().filter(|manager| manager.operation == Operation::Update).cloned().collect();
        let mut count = updaters.len();
        if count <= MAX_UPDATERS {
            return;
        }
        updaters.sort_by_cached_key(|manager| {
            (self.owners.get(manager).map_or(0, Owned::seconds), manager.identifier())
        });
        let mut first_of_version: BTreeMap<String, Manager> = BTreeMap::new();
        for manager in updaters {
            if count <= MAX_UPDATERS {
                break;
            }
            match first_of_version.get(&manager.api_version).cloned() {
                None => {
                    first_of_version.insert(manager.api_version.clone(), manager);
                }
                Some(first) => {
                    self.move_to_bucket(&first);
                    self.move_to_bucket(&manager);
                    count -= 1;
                }
            }
        }
    }

    fn move_to_bucket(&mut self, manager: &Manager) {
        let bucket = Manager::new(Operation::Update, BUCKET, &manager.api_version, None);
        if *manager == bucket {
            return;
        }
        let Some(moved) = self.owners.remove(manager) else { return };
        match self.owners.get_mut(&bucket) {
            None => {
                self.owners.insert(bucket, moved);
            }
            Some(kept) => {
                kept.fields = kept.fields.union(&moved.fields);
                // What is moved later is more recent.
                kept.time = moved.time;
            }
        }
    }
}

/// Whether a client asks to forget all owners: an empty list, or a list of one empty entry.
pub(super) fn is_reset(object: &Value) -> bool {
    let blank = |value: &Value| value.is_null() || value.as_str() == Some("");
    match object["metadata"]["managedFields"].as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([Value::Object(entry)]) => entry.values().all(blank),
        _ => false,
    }
}

fn read_entry(i: usize, entry: &Value) -> Result<(Manager, Owned), String> {
    let text = |field: &str| match &entry[field] {
        Value::Null => Ok(""),
        Value::String(text) => Ok(text.as_str()),
        other => Err(format!("{field} must be a string, got {other}")),
    };
    let operation = match text("operation")? {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return Err("operation must be `Apply` or `Update`".to_owned()),
    };
    let api_version = text("apiVersion")?;
    if api_version.is_empty() {
        return Err("apiVersion must not be empty".to_owned());
    }
    match text("fieldsType")? {
        "FieldsV1" => {}
        "" => return Err(format!("missing fieldsType in managed fields entry {i}")),
        other => return Err(format!("invalid fieldsType {} in managed fields entry {i}", quoted(other))),
    }
    let time = match text("time")? {
        "" => None,
        time if Timestamp::parse(time).is_some() => Some(time.to_owned()),
        time => return Err(format!("invalid time {time:?} in managed fields entry {i}")),
    };
    let fields = FieldSet::from_fields_v1(&entry["fieldsV1"])
        .map_err(|error| format!("error decoding versioned set from entry {i}: {error}"))?;
    let manager = Manager {
        name: text("manager")?.to_owned(),
        operation,
        api_version: if operation == Operation::Apply { String::new() } else { api_version.to_owned() },
        subresource: text("subresource")?.to_owned(),
    };
    Ok((manager, Owned { api_version: api_version.to_owned(), fields, time }))
}

fn write_entry(manager: &Manager, owned: &Owned) -> Value {
    let mut entry = Map::new();
    let mut set = |field: &str, value: Value| {
        if value.as_str() != Some("") {
            entry.insert(field.to_owned(), value);
        }
    };
    set("manager", manager.name.as_str().into());
    set("operation", manager.operation.as_str().into());
    set("apiVersion", owned.api_version.as_str().into());
    set("time", owned.time.clone().unwrap_or_default().into());
    set("fieldsType", "FieldsV1".into());
    set("fieldsV1", owned.fields.to_fields_v1());
    set("subresource", manager.subresource.as_str().into());
    Value::Object(entry)
}
