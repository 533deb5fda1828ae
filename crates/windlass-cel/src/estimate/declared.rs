//! How large values of a schema can get, and how small.

use super::size::Size;
use crate::schema::{Schema, Shape};
use crate::types::{Object, Type};

/// The bytes of the largest request that Kubernetes takes.
const MAX_REQUEST: u64 = 3 * 1024 * 1024;
/// The bytes of the smallest texts, with their quotes.
const MIN_TEXT: u64 = 2;
const MIN_DURATION: u64 = 3;
const DATE: u64 = 12;
const MIN_TIME: u64 = 21;
/// The bytes of the longest times and durations.
const MAX_TIME: u64 = 32;

/// A value that a schema declares.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Declared<'s> {
    /// By a schema of its own, which may be that of a whole resource.
    Schema { schema: &'s Schema, resource: bool },
    /// A text without bounds, as every resource has some.
    Text,
    /// The metadata of a resource.
    Metadata,
    /// A key of a map. Kubernetes has no bound for it, and takes it for empty.
    Key,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Origin<'s> {
    /// It is computed.
    #[default]
    Computed,
    /// It is a part of a variable that the schema does not declare.
    Undeclared,
    /// It is a variable, or a declared part of one.
    Declared(Declared<'s>),
}

impl<'s> Origin<'s> {
    pub(super) fn of(declared: Option<Declared<'s>>) -> Self {
        declared.map_or(Origin::Undeclared, Origin::Declared)
    }

    /// A part of the value. Kubernetes drops the first step of the way to a part, which mostly is the variable; so it
    /// takes a part of a computed value for the variable itself.
    pub(super) fn part(
        self,
        root: Option<Declared<'s>>,
        step: impl FnOnce(Declared<'s>) -> Option<Declared<'s>>,
    ) -> Self {
        match self {
            Origin::Computed => Origin::of(root),
            Origin::Undeclared => Origin::Undeclared,
            Origin::Declared(declared) => Origin::of(step(declared)),
        }
    }

    /// The bounds of its size, if they are declared.
    pub(super) fn size(self) -> Option<Size> {
        match self {
            Origin::Declared(declared) => Some(Size { min: 0, max: declared.max_elements() }),
            _ => None,
        }
    }
}

impl<'s> Declared<'s> {
    /// The value of a schema; `None` where rules cannot see it.
    pub(crate) fn of(schema: &'s Schema, resource: bool) -> Option<Self> {
        Type::of(schema, resource).map(|_| Declared::Schema { schema, resource })
    }

    pub(super) fn field(self, name: &str) -> Option<Self> {
        match self {
            Declared::Metadata => matches!(name, "name" | "generateName").then_some(Declared::Text),
            Declared::Schema { resource: true, .. } if matches!(name, "apiVersion" | "kind") => {
                Some(Declared::Text)
            }
            Declared::Schema { resource: true, .. } if name == "metadata" => Some(Declared::Metadata),
            Declared::Schema { schema, resource } => {
                let field = Object::Fields { schema, resource }.schema_of(name)?;
                Declared::of(field, field.embedded_resource)
            }
            Declared::Text | Declared::Key => None,
        }
    }

    /// An item of a list, or a value of a map.
    pub(super) fn element(self) -> Option<Self> {
        let Declared::Schema { schema, .. } = self else { return None };
        let element = schema.items().or_else(|| schema.values())?;
        Declared::of(element, element.embedded_resource)
    }

    pub(super) fn key(self) -> Option<Self> {
        let Declared::Schema { schema, .. } = self else { return None };
        schema.values().map(|_| Declared::Key)
    }

    /// The most characters, items or entries.
    pub(super) fn max_elements(self) -> u64 {
        let Declared::Schema { schema, .. } = self else {
            return if matches!(self, Declared::Text) { MAX_REQUEST - 2 } else { 0 };
        };
        let bounds = schema.constraints.as_deref();
        let longest = bounds.and_then(|bounds| bounds.max_length);
        match &schema.shape {
            Shape::IntOrString => longest.map_or(MAX_REQUEST - 2, |length| length.saturating_mul(4)),
            Shape::String => match bounds.and_then(|bounds| bounds.format.as_deref()) {
                Some("byte") => longest.unwrap_or(MAX_REQUEST - 2),
                Some("duration" | "date-time") => MAX_TIME,
                Some("date") => DATE,
                // A character takes up to four bytes.
                _ => longest
                    .map(|length| length.saturating_mul(4))
                    .or(longest_allowed(schema))
                    .unwrap_or(MAX_REQUEST - 2),
            },
            Shape::List { items, .. } => {
                let bound = bounds.and_then(|bounds| bounds.max_items);
                bound.unwrap_or_else(|| (MAX_REQUEST - 2) / (min_bytes(items) + 1))
            }
            Shape::Map { values, .. } => {
                let bound = bounds.and_then(|bounds| bounds.max_properties);
                bound.unwrap_or_else(|| (MAX_REQUEST - 2) / (min_bytes(values) + 6))
            }
            Shape::Any | Shape::Boolean | Shape::Integer | Shape::Number | Shape::Object { .. } => 0,
        }
    }
}

/// The bytes of the longest of the texts that are allowed, if there are only some.
fn longest_allowed(schema: &Schema) -> Option<u64> {
    let allowed = &schema.constraints.as_deref()?.allowed;
    let lengths = allowed.iter().map(|value| value.as_str().map_or(0, str::len));
    lengths.max().and_then(|length| u64::try_from(length).ok())
}

/// The bytes of the smallest value of a schema.
fn min_bytes(schema: &Schema) -> u64 {
    match &schema.shape {
        Shape::Boolean => 4,
        Shape::Any | Shape::Integer | Shape::Number | Shape::IntOrString => 1,
        Shape::String => match schema.constraints.as_deref().and_then(|bounds| bounds.format.as_deref()) {
            Some("duration") => MIN_DURATION,
            Some("date") => DATE,
            Some("date-time") => MIN_TIME,
            _ => MIN_TEXT,
        },
        Shape::List { .. } | Shape::Map { .. } => 2,
        Shape::Object { fields, .. } => {
            let needed = fields.iter().filter(|(name, field)| {
                field.default.is_none()
                    && schema.required.iter().any(|required| **required == ***name)
                    && Type::of(field, field.embedded_resource).is_some()
            });
            // Quotes, a colon and a comma.
            needed.fold(2, |bytes, (name, field)| bytes + name.len() as u64 + min_bytes(field) + 4)
        }
    }
}

/// The most values of a schema that a request can hold.
pub fn max_cardinality(schema: &Schema) -> u64 {
    MAX_REQUEST / (min_bytes(schema) + 1)
}
