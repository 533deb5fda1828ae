//! What a custom resource looks like when it is read: what its definition fills in today, in the version that is asked for.

use std::sync::Arc;

use serde_json::Value;

use crate::object;
use crate::schema::{self, Schema, Shape};

/// How stored objects are read. Objects are kept as they were written, and a definition may have changed since.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reading {
    /// The schema of the version that objects are kept in.
    stored: Arc<Schema>,
    /// Whether that schema has any default.
    fills: bool,
    /// The schema of the version that is shown.
    shown: Arc<Schema>,
}

impl Reading {
    /// How to read objects; `None` if what is stored can be shown as it is.
    pub(crate) fn of(stored: Arc<Schema>, shown: &Arc<Schema>, same_version: bool) -> Option<Arc<Self>> {
        let fills = has_default(&stored);
        let needed = fills || !same_version;
        needed.then(|| Arc::new(Reading { stored, fills, shown: Arc::clone(shown) }))
    }

    /// A stored object in this version.
    pub(crate) fn show(&self, object: &Arc<Value>, group: &str, version: &str) -> Arc<Value> {
        let same_version = object["apiVersion"] == object::api_version(group, version);
        if same_version && !(self.fills && lacks_default(&self.stored, object)) {
            return Arc::clone(object);
        }
        let mut shown = (**object).clone();
        // A definition that has come to fill in more than an object may have is shown as far as that goes.
        let _ = schema::fill_defaults(&self.stored, &mut shown);
        if !same_version {
            super::convert(&mut shown, group, version);
            schema::prune(&self.shown, &mut shown);
        }
        Arc::new(shown)
    }

    /// An object of the version that is shown, as it is kept.
    pub(crate) fn keep(&self, object: &mut Value, group: &str, version: &str) {
        super::convert(object, group, version);
        schema::prune(&self.stored, object);
    }
}

fn has_default(schema: &Schema) -> bool {
    schema.default.is_some()
        || match &schema.shape {
            Shape::Object { fields, .. } => fields.values().any(|field| has_default(field)),
            Shape::Map { values, .. } => has_default(values),
            Shape::List { items, .. } => has_default(items),
            _ => false,
        }
}

/// Whether filling in defaults would change anything. Most objects lack none, and are then not copied.
fn lacks_default(schema: &Schema, value: &Value) -> bool {
    match value {
        Value::Object(map) => {
            let missing = |name: &str, field: &Schema| {
                field.default.is_some()
                    && map.get(name).is_none_or(|value| value.is_null() && !field.nullable)
            };
            let here = match &schema.shape {
                Shape::Object { fields, .. } => fields.iter().any(|(name, field)| missing(name, field)),
                _ => false,
            };
            here || map
                .iter()
                .any(|(key, value)| schema.child(key).is_some_and(|below| lacks_default(below, value)))
        }
        Value::Array(items) => {
            schema.items().is_some_and(|below| items.iter().any(|item| lacks_default(below, item)))
        }
        Value::Null => schema.default.is_some() && !schema.nullable,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema_of(open_api: Value) -> Arc<Schema> {
        Arc::new(schema::parse(&open_api, &crate::field::FieldPath::root()).unwrap())
    }

    #[test]
    fn defaults_show_and_versions_differ() {
        let stored =
            schema_of(json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "a": {"type": "string"}, "n": {"type": "integer", "default": 1}}}}}));
        let other =
            schema_of(json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "a": {"type": "string"}}}}}));
        let same = Reading::of(Arc::clone(&stored), &stored, true).unwrap();
        let object = |spec: Value| Arc::new(json!({"apiVersion": "g/v1", "kind": "K", "spec": spec}));
        let whole = object(json!({"a": "x", "n": 2}));
        assert!(Arc::ptr_eq(&same.show(&whole, "g", "v1"), &whole));
        assert_eq!(same.show(&object(json!({"a": "x"})), "g", "v1")["spec"], json!({"a": "x", "n": 1}));
        let elsewhere = Reading::of(stored, &other, false).unwrap();
        let shown = elsewhere.show(&whole, "g", "v2");
        assert_eq!((&shown["apiVersion"], &shown["spec"]), (&json!("g/v2"), &json!({"a": "x"})));
        assert_eq!(Reading::of(Arc::clone(&other), &other, true), None);
    }
}
