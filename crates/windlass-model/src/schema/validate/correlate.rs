//! Which part of the old object a part of the new object has come from.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use serde_json::Value;

use crate::schema::{ListKind, Schema, Shape};

/// A new value, the old value at the same path, and the schema of both.
#[derive(Clone, Debug)]
pub(super) struct Correlated<'a> {
    pub(super) schema: &'a Schema,
    pub(super) new: &'a Value,
    old: &'a Value,
    /// The old items by their keys, once they have been asked for.
    old_items: OnceCell<BTreeMap<String, &'a Value>>,
    equal: OnceCell<bool>,
}

impl<'a> Correlated<'a> {
    /// Two whole objects.
    pub(super) fn root(schema: &'a Schema, new: &'a Value, old: &'a Value) -> Self {
        Correlated { schema, new, old, old_items: OnceCell::new(), equal: OnceCell::new() }
    }

    /// What stands under a key in both.
    pub(super) fn key(&self, key: &str) -> Option<Correlated<'a>> {
        let below = self.schema.child(key).filter(|below| !below.is_unspecified())?;
        Some(Correlated::root(below, self.new.get(key)?, self.old.get(key)?))
    }

    /// The item of the new list at an index, with the old item of the same keys.
    pub(super) fn index(&self, index: usize) -> Option<Correlated<'a>> {
        let Shape::List { items, kind: ListKind::Map(keys) } = &self.schema.shape else { return None };
        let new = self.new.get(index)?;
        let old_items = self.old_items.get_or_init(|| by_keys(keys, self.old));
        let old = old_items.get(&item_key(keys, new)?)?;
        Some(Correlated::root(items, new, old))
    }

    /// Whether nothing has changed. Items of lists with keys may have been reordered.
    pub(super) fn equal(&self) -> bool {
        *self.equal.get_or_init(|| match (self.new, self.old) {
            (Value::Object(new), Value::Object(old)) => {
                new.len() == old.len()
                    && new.keys().all(|key| self.key(key).is_some_and(|below| below.equal()))
            }
            (Value::Array(new), Value::Array(old)) => match &self.schema.shape {
                Shape::List { kind: ListKind::Map(_), .. } => {
                    new.len() == old.len()
                        && (0..new.len()).all(|index| self.index(index).is_some_and(|below| below.equal()))
                }
                _ => new == old,
            },
            (new, old) => new == old,
        })
    }
}

/// The items of a list by their keys; of several with the same keys the first.
pub(super) fn by_keys<'a>(keys: &[Box<str>], list: &'a Value) -> BTreeMap<String, &'a Value> {
    let mut items = BTreeMap::new();
    for item in list.as_array().into_iter().flatten() {
        if let Some(key) = item_key(keys, item) {
            items.entry(key).or_insert(item);
        }
    }
    items
}

/// The values of an item's keys, all of which must be scalars.
pub(super) fn item_key(keys: &[Box<str>], item: &Value) -> Option<String> {
    let mut composite = String::new();
    for key in keys {
        match item.get(&**key)? {
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
            scalar => {
                composite.push_str(&scalar.to_string());
                composite.push('\0');
            }
        }
    }
    Some(composite)
}
