//! The values that expressions compute with.
//!
//! Lists and maps of an object under test are views of its JSON, made as far as an expression looks.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::json;
use crate::library::Opaque;
use crate::library::time::CelTimestamp;
use crate::message::Message;
use crate::schema::{ListKind, Schema};

/// A value of the Common Expression Language. The lifetime is that of the JSON it may borrow.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    Uint(u64),
    /// A floating-point number.
    Double(f64),
    /// Text.
    String(Text<'a>),
    /// Bytes.
    Bytes(Arc<[u8]>),
    /// A list.
    List(List<'a>),
    /// A map, or an object with fields.
    Map(Map<'a>),
    /// A message that the expression has made.
    Message(Message<'a>),
    /// A point in time.
    Timestamp(CelTimestamp),
    /// A span of time in nanoseconds.
    Duration(i64),
    /// A type, by its name.
    Type(&'static str),
    /// A value that may be missing.
    Optional(Option<Arc<Value<'a>>>),
    /// A value of a Kubernetes library: a quantity, an address, a URL, a version, a format.
    Opaque(Arc<Opaque>),
}

/// Text that is borrowed from JSON or shared.
#[derive(Clone, Debug)]
pub enum Text<'a> {
    /// Part of the JSON under test.
    Borrowed(&'a str),
    /// Made by an evaluation, or part of the expression.
    Shared(Arc<str>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Text::Borrowed(text) => text,
            Text::Shared(text) => text,
        }
    }
}

/// A list: a view of JSON, or built by an evaluation.
#[derive(Clone, Debug)]
pub struct List<'a> {
    items: Items<'a>,
    kind: Option<&'a ListKind>,
}

#[derive(Clone, Debug)]
enum Items<'a> {
    Json(&'a [Json], Option<&'a Schema>),
    Built(Arc<[Value<'a>]>),
}

/// A map: a view of JSON, or built by an evaluation.
#[derive(Clone, Debug)]
pub struct Map<'a>(Entries<'a>);

#[derive(Clone, Debug)]
enum Entries<'a> {
    Json(&'a serde_json::Map<String, Json>, Option<&'a Schema>),
    Built(Arc<BTreeMap<Key<'a>, Value<'a>>>),
}

/// The key of a map. Integers of both kinds are equal if their values are.
#[derive(Clone, Debug)]
pub(crate) enum Key<'a> {
    Bool(bool),
    Int(i64),
    Uint(u64),
    String(Text<'a>),
}

impl<'a> Value<'a> {
    /// A view of JSON. A schema says which strings are times, durations and bytes, which numbers are
    /// doubles, and which fields there are; without one the JSON type decides.
    pub fn from_json(json: &'a Json, schema: Option<&'a Schema>) -> Self {
        json::view(json, schema)
    }

    /// The value as JSON: bytes in base 64, times and durations as text, a missing optional as null.
    /// What lies beyond the first million values is null: sharing can make a small value look huge.
    pub fn to_json(&self) -> Json {
        json::render(self)
    }

    /// The value as an optional one, as rules with `optionalOldSelf` see `oldSelf`.
    pub fn optional(value: Option<Value<'a>>) -> Self {
        Value::Optional(value.map(Arc::new))
    }

    /// The boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The signed integer, if it is one.
    pub(crate) fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// The name of its type: `int`, `google.protobuf.Timestamp`, `kubernetes.Quantity`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null_type",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Uint(_) => "uint",
            Value::Double(_) => "double",
            Value::String(_) => "string",
            Value::Bytes(_) => "bytes",
            Value::List(_) => "list",
            Value::Map(_) => "map",
            Value::Message(message) => message.base_name(),
            Value::Timestamp(_) => "google.protobuf.Timestamp",
            Value::Duration(_) => "google.protobuf.Duration",
            Value::Type(_) => "type",
            Value::Optional(_) => "optional_type",
            Value::Opaque(opaque) => opaque.type_name(),
        }
    }

    pub(crate) fn list(items: Vec<Value<'a>>) -> Self {
        Value::List(List { items: Items::Built(items.into()), kind: None })
    }

    pub(crate) fn map(entries: BTreeMap<Key<'a>, Value<'a>>) -> Self {
        Value::Map(Map(Entries::Built(Arc::new(entries))))
    }

    pub(crate) fn opaque(opaque: Opaque) -> Self {
        Value::Opaque(Arc::new(opaque))
    }

    /// Characters, bytes or entries; 1 for what has no size.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Value::String(text) => text.chars().count() as u64,
            Value::Bytes(bytes) => bytes.len() as u64,
            Value::List(list) => list.len() as u64,
            Value::Map(map) => map.len() as u64,
            Value::Optional(Some(value)) => value.size(),
            Value::Opaque(opaque) => opaque.size(),
            _ => 1,
        }
    }

    /// The key that this value is in a map; `None` if no map can have it.
    pub(crate) fn to_key(&self) -> Option<Key<'a>> {
        Some(match self {
            Value::Bool(value) => Key::Bool(*value),
            Value::Int(value) => Key::Int(*value),
            Value::Uint(value) => Key::Uint(*value),
            Value::String(text) => Key::String(text.clone()),
            // A double that is a whole number finds the integer.
            Value::Double(value) if *value == (*value as i64) as f64 => Key::Int(*value as i64),
            Value::Double(value) if *value == (*value as u64) as f64 => Key::Uint(*value as u64),
            _ => return None,
        })
    }
}

impl Value<'static> {
    /// Shared text.
    pub(crate) fn text(text: impl Into<Arc<str>>) -> Self {
        Value::String(Text::Shared(text.into()))
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Value::String(Text::Borrowed(text))
    }
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}

impl<'a> List<'a> {
    pub(crate) fn json(items: &'a [Json], schema: Option<&'a Schema>, kind: Option<&'a ListKind>) -> Self {
        List { items: Items::Json(items, schema), kind }
    }

    pub(crate) fn built(items: Vec<Value<'a>>, kind: Option<&'a ListKind>) -> Self {
        List { items: Items::Built(items.into()), kind }
    }

    /// How its items are identified, if a schema says so.
    pub(crate) fn kind(&self) -> Option<&'a ListKind> {
        self.kind
    }

    /// The number of items.
    pub(crate) fn len(&self) -> usize {
        match &self.items {
            Items::Json(items, _) => items.len(),
            Items::Built(items) => items.len(),
        }
    }

    /// The item at an index.
    pub(crate) fn get(&self, index: usize) -> Option<Value<'a>> {
        match &self.items {
            Items::Json(items, schema) => items.get(index).map(|item| json::view(item, *schema)),
            Items::Built(items) => items.get(index).cloned(),
        }
    }

    /// The items in order.
    pub fn iter(&self) -> impl Iterator<Item = Value<'a>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

impl<'a> Map<'a> {
    pub(crate) fn json(entries: &'a serde_json::Map<String, Json>, schema: Option<&'a Schema>) -> Self {
        Map(Entries::Json(entries, schema))
    }

    /// The number of entries, counting fields that the schema does not know.
    pub(crate) fn len(&self) -> usize {
        match &self.0 {
            Entries::Json(entries, _) => entries.len(),
            Entries::Built(entries) => entries.len(),
        }
    }

    /// The value of a key. Names of object fields are unescaped; a field that is null is absent.
    pub(crate) fn get(&self, key: &Key<'a>) -> Option<Value<'a>> {
        match (&self.0, key) {
            (Entries::Json(entries, schema), Key::String(name)) => json::field(entries, *schema, name),
            (Entries::Json(..), _) => None,
            (Entries::Built(entries), key) => entries.get(key).cloned(),
        }
    }

    /// Keys and values, in the order of the keys.
    pub(crate) fn iter(&self) -> Box<dyn Iterator<Item = (Key<'a>, Value<'a>)> + '_> {
        match &self.0 {
            Entries::Json(entries, schema) => json::fields(entries, *schema),
            Entries::Built(entries) => {
                Box::new(entries.iter().map(|(key, value)| (key.clone(), value.clone())))
            }
        }
    }
}

impl<'a> Key<'a> {
    pub(crate) fn to_value(&self) -> Value<'a> {
        match self {
            Key::Bool(value) => Value::Bool(*value),
            Key::Int(value) => Value::Int(*value),
            Key::Uint(value) => Value::Uint(*value),
            Key::String(text) => Value::String(text.clone()),
        }
    }

    /// The key as errors show it.
    pub(crate) fn show(&self) -> String {
        match self {
            Key::Bool(value) => value.to_string(),
            Key::Int(value) => value.to_string(),
            Key::Uint(value) => value.to_string(),
            Key::String(text) => text.to_string(),
        }
    }

    fn number(&self) -> Option<i128> {
        match self {
            Key::Int(value) => Some(i128::from(*value)),
            Key::Uint(value) => Some(i128::from(*value)),
            _ => None,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Key::Bool(_) => 0,
            Key::Int(_) | Key::Uint(_) => 1,
            Key::String(_) => 2,
        }
    }
}

impl Ord for Key<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Key::Bool(a), Key::Bool(b)) => a.cmp(b),
            (Key::String(a), Key::String(b)) => a.deref().cmp(b.deref()),
            _ => self.number().cmp(&other.number()).then(self.rank().cmp(&other.rank())),
        }
    }
}

impl PartialOrd for Key<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Key<'_> {}
