//! How server-side apply sees a schema: each node is a scalar, a map or a list, atomic or not.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::object_meta;
use super::path_element::PathElement;
use crate::schema::{ListKind, Schema, Shape};
use crate::types::{Origin, TypeInfo};

/// A reference to a node of a schema, with what it inherits from the nodes above.
///
/// Named after the `TypeRef` of structured-merge-diff.
#[derive(Clone, Copy, Debug)]
pub(super) struct TypeRef<'a> {
    pub(super) schema: &'a Schema,
    /// A node above preserves unknown fields, so this one has no undeclared fields either.
    tolerant: bool,
    /// The schema leaves out what all objects have.
    is_object: bool,
}

/// What a value is at a node.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form<'a> {
    Scalar,
    Map { atomic: bool },
    List(Items<'a>),
}

/// The type of the items of a list, and how they are identified.
#[derive(Clone, Copy, Debug)]
pub(super) struct Items<'a> {
    pub(super) type_ref: TypeRef<'a>,
    pub(super) kind: &'a ListKind,
}

/// A field of a map.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field<'a> {
    pub(super) type_ref: TypeRef<'a>,
    /// The schema names the field, so owning it says nothing that owning its content does not say.
    pub(super) named: bool,
    /// The schema allows the field.
    pub(super) declared: bool,
}

/// Anything: maps are granular, lists atomic.
static DEDUCED: LazyLock<Schema> = LazyLock::new(Schema::default);
static ATOMIC: ListKind = ListKind::Atomic;

impl<'a> TypeRef<'a> {
    /// The type of whole objects. Those of custom types have the metadata that all objects have.
    pub(super) fn of_objects(info: &'a TypeInfo) -> Self {
        TypeRef { is_object: info.origin == Origin::Custom, ..TypeRef::root(&info.schema) }
    }

    /// The type of a whole value.
    pub(super) fn root(schema: &'a Schema) -> Self {
        TypeRef { schema, tolerant: false, is_object: schema.embedded_resource }
    }

    fn deduced() -> Self {
        TypeRef { tolerant: true, ..TypeRef::root(&DEDUCED) }
    }

    fn below(self, schema: &'a Schema) -> Self {
        TypeRef { tolerant: self.tolerant || self.schema.preserve_unknown, ..TypeRef::root(schema) }
    }

    /// What a value is here. Where anything may stand, the value decides.
    pub(super) fn form(self, value: Option<&Value>) -> Form<'a> {
        match &self.schema.shape {
            Shape::Any if self.schema.is_raw() => Form::Scalar,
            Shape::Any => match value {
                Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) => Form::Scalar,
                Some(Value::Array(_)) => Form::List(Items { type_ref: TypeRef::deduced(), kind: &ATOMIC }),
                // Null fits everything; it is taken for a map without fields.
                Some(Value::Object(_) | Value::Null) | None => Form::Map { atomic: false },
            },
            Shape::Boolean | Shape::Integer | Shape::Number | Shape::String | Shape::IntOrString => {
                Form::Scalar
            }
            Shape::Object { atomic, .. } | Shape::Map { atomic, .. } => Form::Map { atomic: *atomic },
            Shape::List { items, kind } => Form::List(Items { type_ref: self.below(items), kind }),
        }
    }

    /// The type of a field of the map at this node.
    pub(super) fn field(self, name: &str) -> Field<'a> {
        match &self.schema.shape {
            Shape::Object { fields, .. } => self.object_field(fields, name),
            Shape::Map { values, .. } => Field { type_ref: self.below(values), named: false, declared: true },
            _ => Field { type_ref: TypeRef::deduced(), named: false, declared: true },
        }
    }

    fn object_field(self, fields: &'a BTreeMap<Box<str>, std::sync::Arc<Schema>>, name: &str) -> Field<'a> {
        if self.is_object
            && let Some(schema) = object_meta::field_of_any_object(name)
        {
            return Field { type_ref: TypeRef::root(schema), named: true, declared: true };
        }
        if let Some(schema) = fields.get(name) {
            return Field { type_ref: self.below(schema), named: true, declared: true };
        }
        let free_form = fields.is_empty() && !self.is_object;
        let declared = free_form || self.tolerant || self.schema.preserve_unknown;
        Field { type_ref: TypeRef::deduced(), named: false, declared }
    }

    /// The type that a step leads to, and whether the schema names it; `None` if it leads nowhere.
    pub(super) fn step(self, element: &PathElement) -> Option<Field<'a>> {
        match (element, &self.schema.shape) {
            (PathElement::Field(name), Shape::Any | Shape::Object { .. } | Shape::Map { .. }) => {
                Some(self.field(name))
            }
            (PathElement::Key(_), Shape::List { items, .. }) => {
                Some(Field { type_ref: self.below(items), named: false, declared: true })
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

    /// The path element of an item of an associative list, or why it has none.
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
        match &self.type_ref.schema.shape {
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
