//! How server-side apply sees a schema: each place is a scalar, a map or a list, atomic or not.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::object_meta;
use super::path_element::PathElement;
use crate::schema::{ListKind, Schema, Shape};
use crate::types::{Origin, TypeInfo};

/// A schema at some place, with what it inherits from the places above.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) schema: &'a Schema,
    /// A place above preserves unknown fields, so this one has no undeclared fields either.
    tolerant: bool,
    /// The schema leaves out what all objects have.
    is_object: bool,
}

/// What a value is at a place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form<'a> {
    Scalar,
    Map { atomic: bool },
    List(Items<'a>),
}

/// How the items of a list are told apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Items<'a> {
    pub(super) place: Place<'a>,
    pub(super) kind: &'a ListKind,
}

/// A field of a map.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field<'a> {
    pub(super) place: Place<'a>,
    /// The schema names the field, so owning it says nothing that owning its content does not say.
    pub(super) named: bool,
    /// The schema allows the field.
    pub(super) declared: bool,
}

/// Anything: maps are granular, lists atomic.
static DEDUCED: LazyLock<Schema> = LazyLock::new(Schema::default);
static ATOMIC: ListKind = ListKind::Atomic;

impl<'a> Place<'a> {
    /// The place of whole objects of a type. Those of custom types have the metadata that all objects have.
    pub(super) fn of_objects(info: &'a TypeInfo) -> Self {
        Place { is_object: info.origin == Origin::Custom, ..Place::root(&info.schema) }
    }

    /// The place of a whole value.
    pub(super) fn root(schema: &'a Schema) -> Self {
        Place { schema, tolerant: false, is_object: schema.embedded_resource }
    }

    fn deduced() -> Self {
        Place { tolerant: true, ..Place::root(&DEDUCED) }
    }

    fn below(self, schema: &'a Schema) -> Self {
        Place { tolerant: self.tolerant || self.schema.preserve_unknown, ..Place::root(schema) }
    }

    /// What a value is here. Where anything may stand, the value decides.
    pub(super) fn form(self, value: Option<&Value>) -> Form<'a> {
        match &self.schema.shape {
            Shape::Any if self.schema.is_raw() => Form::Scalar,
            Shape::Any => match value {
                Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) => Form::Scalar,
                Some(Value::Array(_)) => Form::List(Items { place: Place::deduced(), kind: &ATOMIC }),
                // Null fits everything; it is taken for a map without fields.
                Some(Value::Object(_) | Value::Null) | None => Form::Map { atomic: false },
            },
            Shape::Boolean | Shape::Integer | Shape::Number | Shape::String | Shape::IntOrString => {
                Form::Scalar
            }
            Shape::Object { atomic, .. } | Shape::Map { atomic, .. } => Form::Map { atomic: *atomic },
            Shape::List { items, kind } => Form::List(Items { place: self.below(items), kind }),
        }
    }

    /// The place of a field of the map that stands here.
    pub(super) fn field(self, name: &str) -> Field<'a> {
        match &self.schema.shape {
            Shape::Object { fields, .. } => self.object_field(fields, name),
            Shape::Map { values, .. } => Field { place: self.below(values), named: false, declared: true },
            _ => Field { place: Place::deduced(), named: false, declared: true },
        }
    }

    fn object_field(self, fields: &'a BTreeMap<Box<str>, std::sync::Arc<Schema>>, name: &str) -> Field<'a> {
        if self.is_object
            && let Some(schema) = object_meta::field_of_any_object(name)
        {
            return Field { place: Place::root(schema), named: true, declared: true };
        }
        if let Some(schema) = fields.get(name) {
            return Field { place: self.below(schema), named: true, declared: true };
        }
        let free_form = fields.is_empty() && !self.is_object;
        let declared = free_form || self.tolerant || self.schema.preserve_unknown;
        Field { place: Place::deduced(), named: false, declared }
    }

    /// The place that a step leads to, and whether the schema names it; `None` if it leads nowhere.
    pub(super) fn step(self, element: &PathElement) -> Option<Field<'a>> {
        match (element, &self.schema.shape) {
            (PathElement::Field(name), Shape::Any | Shape::Object { .. } | Shape::Map { .. }) => {
                Some(self.field(name))
            }
            (PathElement::Key(_), Shape::List { items, .. }) => {
                Some(Field { place: self.below(items), named: false, declared: true })
            }
            _ => None,
        }
    }
}

impl Items<'_> {
    /// Whether the list is one value.
    pub(super) fn is_atomic(&self) -> bool {
        *self.kind == ListKind::Atomic
    }

    /// The path element of an item of a list whose items are told apart, or why it has none.
    pub(super) fn element(&self, item: &Value) -> Result<PathElement, String> {
        match self.kind {
            ListKind::Atomic => Err("invalid indexing of non-associative list".to_owned()),
            ListKind::Set => match item {
                Value::Object(_) => {
                    Err("associative list without keys has an element that's a map type".to_owned())
                }
                Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
                Value::Null => {
                    Err("associative list without keys has an element that's an explicit null".to_owned())
                }
                scalar => Ok(PathElement::Value(scalar.clone())),
            },
            ListKind::Map(keys) => match item {
                Value::Object(item) => self.keyed_element(keys, item),
                Value::Null => Err("associative list with keys may not have a null element".to_owned()),
                _ => Err("associative list with keys may not have non-map elements".to_owned()),
            },
        }
    }

    fn keyed_element(&self, keys: &[Box<str>], item: &Map<String, Value>) -> Result<PathElement, String> {
        let found: Vec<(Box<str>, Value)> = keys
            .iter()
            .filter_map(|key| {
                Some((key.clone(), item.get(&**key).or_else(|| self.key_default(key))?.clone()))
            })
            .collect();
        if found.is_empty() && !keys.is_empty() {
            let names: Vec<String> = keys.iter().map(|key| format!("{key:?}")).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] \
                 (and doesn't have default values for any key fields)",
                names.join(" ")
            ));
        }
        Ok(PathElement::key(found))
    }

    /// What an absent key stands for: `protocol` of a port is TCP.
    fn key_default(&self, key: &str) -> Option<&Value> {
        match &self.place.schema.shape {
            Shape::Object { fields, .. } => fields.get(key)?.default.as_ref(),
            _ => None,
        }
    }
}

/// The map, unless it is absent, empty or something else.
pub(super) fn filled_map(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object).filter(|map| !map.is_empty())
}

/// The list, unless it is absent, empty or something else.
pub(super) fn filled_list(value: Option<&Value>) -> Option<&[Value]> {
    value.and_then(Value::as_array).map(Vec::as_slice).filter(|list| !list.is_empty())
}
