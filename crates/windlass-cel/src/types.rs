//! The types that the type checker of expressions reasons with. The signatures of functions are in `signatures.rs`.

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use crate::declared::DeclaredType;
use crate::json::escape;
use crate::message;
use crate::parser::is_reserved;
use crate::schema::{Schema, Shape};

/// How many parts a type may have before it counts as dynamic.
const MAX_PARTS: usize = 128;

/// A type, as far as it is known before the expression runs.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each variant is the type of that name")]
pub enum Type<'s> {
    /// Known only when the expression runs.
    Dynamic,
    /// A type variable that is not resolved yet: the items of `[]`, or a variable without a schema.
    Open,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Timestamp,
    Duration,
    List(Rc<Type<'s>>),
    Map(Rc<Type<'s>>, Rc<Type<'s>>),
    Object(Object<'s>),
    /// A message that the expression makes, by the name of its type.
    Message(Arc<str>),
    /// A type as a value.
    Meta(Rc<Type<'s>>),
    Optional(Rc<Type<'s>>),
    /// A type of a Kubernetes library.
    Opaque(&'static str),
    /// A type parameter of a signature.
    Parameter(char),
}

/// An object with known fields; that of a resource has the fields of every resource.
#[derive(Clone, Copy, Debug)]
pub enum Object<'s> {
    /// What a schema describes.
    Fields {
        /// The schema.
        schema: &'s Schema,
        /// Whether it is that of a whole resource.
        resource: bool,
    },
    /// `metadata` of a resource: rules see two of its fields.
    Metadata,
    /// An object with a name and fields of its own.
    Declared(&'static DeclaredType),
}

impl PartialEq for Object<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Object::Fields { schema: a, .. }, Object::Fields { schema: b, .. }) => std::ptr::eq(*a, *b),
            (Object::Metadata, Object::Metadata) => true,
            (Object::Declared(a), Object::Declared(b)) => a.name == b.name,
            _ => false,
        }
    }
}

impl<'s> Object<'s> {
    /// The type of a field by its escaped name; `None` if rules cannot see such a field.
    pub(crate) fn field(self, name: &str) -> Option<Type<'s>> {
        match self {
            Object::Metadata => matches!(name, "name" | "generateName").then_some(Type::String),
            Object::Declared(declared) => declared.field(name),
            Object::Fields { resource: true, .. } if matches!(name, "apiVersion" | "kind") => {
                Some(Type::String)
            }
            Object::Fields { resource: true, .. } if name == "metadata" => {
                Some(Type::Object(Object::Metadata))
            }
            Object::Fields { .. } => {
                let found = self.schema_of(name)?;
                Type::of(found, found.embedded_resource)
            }
        }
    }

    /// The schema of a field by its escaped name, if it has one of its own.
    pub(crate) fn schema_of(self, name: &str) -> Option<&'s Schema> {
        let Object::Fields { schema, .. } = self else { return None };
        let Shape::Object { fields, .. } = &schema.shape else { return None };
        // Most names are their own escaped form, and reserved words may be selected as they are.
        let plain = is_reserved(name) || escape(name).as_deref() == Some(name);
        let direct = fields.get(name).filter(|_| plain);
        let escaped =
            || fields.iter().find(|(known, _)| escape(known).as_deref() == Some(name)).map(|(_, it)| it);
        direct.or_else(escaped).map(std::sync::Arc::as_ref)
    }
}

impl<'s> Type<'s> {
    /// The type of values of a schema; `None` where rules cannot see them, as their type is unknown.
    pub(crate) fn of(schema: &'s Schema, resource: bool) -> Option<Self> {
        let format = schema.constraints.as_ref().and_then(|constraints| constraints.format.as_deref());
        Some(match &schema.shape {
            Shape::Any => return None,
            Shape::Boolean => Type::Bool,
            Shape::Integer => Type::Int,
            Shape::Number => Type::Double,
            Shape::IntOrString => Type::Dynamic,
            Shape::String => match format {
                Some("byte") => Type::Bytes,
                Some("duration") => Type::Duration,
                Some("date" | "date-time") => Type::Timestamp,
                _ => Type::String,
            },
            Shape::Object { .. } => Type::Object(Object::Fields { schema, resource }),
            Shape::Map { values, .. } => {
                Type::Map(Rc::new(Type::String), Rc::new(Type::of(values, values.embedded_resource)?))
            }
            Shape::List { items, .. } => Type::List(Rc::new(Type::of(items, items.embedded_resource)?)),
        })
    }

    /// Whether it has very many parts: `{x: x}` doubles the type of `x`, and macros can nest that.
    pub(crate) fn is_huge(&self) -> bool {
        fn count(found: &Type<'_>, room: usize) -> Option<usize> {
            let room = room.checked_sub(1)?;
            match found {
                Type::List(inner) | Type::Optional(inner) | Type::Meta(inner) => count(inner, room),
                Type::Map(key, value) => count(value, count(key, room)?),
                _ => Some(room),
            }
        }
        count(self, MAX_PARTS).is_none()
    }

    /// The type in the notation of the result of an expression, which names some types by their messages.
    pub fn as_result(&self) -> String {
        match self {
            Type::List(item) => format!("list({})", item.as_result()),
            Type::Map(key, value) => format!("map({}, {})", key.as_result(), value.as_result()),
            Type::Optional(inner) => format!("optional_type({})", inner.as_result()),
            Type::Meta(inner) => format!("type({})", inner.as_result()),
            Type::Object(_) | Type::Message(_) => self.to_string(),
            other => other.runtime_name().to_owned(),
        }
    }

    /// The type as a variable of a policy keeps it: what has no plain name is dynamic.
    pub fn of_variable(&self) -> Type<'static> {
        match self {
            Type::Null => Type::Null,
            Type::Bool => Type::Bool,
            Type::Int => Type::Int,
            Type::Uint => Type::Uint,
            Type::Double => Type::Double,
            Type::String => Type::String,
            Type::Bytes => Type::Bytes,
            Type::Timestamp => Type::Timestamp,
            Type::Duration => Type::Duration,
            Type::List(item) => Type::List(Rc::new(item.of_variable())),
            Type::Map(key, value) => Type::Map(Rc::new(key.of_variable()), Rc::new(value.of_variable())),
            _ => Type::Dynamic,
        }
    }

    /// The name that values of the type report when formatted.
    pub(crate) fn runtime_name(&self) -> &'static str {
        match self {
            Type::Null => "null_type",
            Type::Bool => "bool",
            Type::Int => "int",
            Type::Uint => "uint",
            Type::Double => "double",
            Type::String => "string",
            Type::Bytes => "bytes",
            Type::Timestamp => "google.protobuf.Timestamp",
            Type::Duration => "google.protobuf.Duration",
            Type::List(_) => "list",
            Type::Map(..) | Type::Object(_) => "map",
            Type::Message(name) => message::base_name(name),
            Type::Meta(_) => "type",
            Type::Optional(_) => "optional_type",
            Type::Opaque(name) => name,
            Type::Dynamic | Type::Open | Type::Parameter(_) => "dyn",
        }
    }
}

/// As Kubernetes shows types in errors.
impl fmt::Display for Type<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Null => f.write_str("null"),
            Type::Timestamp => f.write_str("timestamp"),
            Type::Duration => f.write_str("duration"),
            Type::List(item) => write!(f, "list({item})"),
            Type::Map(key, value) => write!(f, "map({key}, {value})"),
            Type::Object(Object::Declared(declared)) => f.write_str(declared.name),
            Type::Object(_) => f.write_str("object"),
            Type::Message(name) => f.write_str(name),
            Type::Meta(inner) => write!(f, "type({inner})"),
            Type::Optional(inner) => write!(f, "optional_type({inner})"),
            other => f.write_str(other.runtime_name()),
        }
    }
}

/// What type parameters stand for in one call.
type Bindings<'s> = Vec<(char, Type<'s>)>;

/// Whether a value of a type can be passed where a parameter type is wanted.
pub(crate) fn is_assignable<'s>(wanted: &Type<'s>, given: &Type<'s>, bindings: &mut Bindings<'s>) -> bool {
    match (wanted, given) {
        (Type::Parameter(name), given) => match bindings.iter().position(|(bound, _)| bound == name) {
            None => {
                bindings.push((*name, given.clone()));
                true
            }
            Some(index) => {
                let Some((_, bound)) = bindings.get_mut(index) else { return false };
                let fits = compatible(bound, given);
                if fits {
                    *bound = unified(bound, given);
                }
                fits
            }
        },
        (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => {
            is_assignable(a, b, bindings)
        }
        (Type::Map(a, b), Type::Map(c, d)) => is_assignable(a, c, bindings) && is_assignable(b, d, bindings),
        (wanted, given) => compatible(wanted, given),
    }
}

/// What is known of a type parameter that stands for both types: `[]` becomes a list of what the other one holds.
fn unified<'s>(bound: &Type<'s>, given: &Type<'s>) -> Type<'s> {
    match (bound, given) {
        (Type::Open | Type::Null, given) => given.clone(),
        (Type::List(a), Type::List(b)) => Type::List(Rc::new(unified(a, b))),
        (Type::Optional(a), Type::Optional(b)) => Type::Optional(Rc::new(unified(a, b))),
        (Type::Map(a, b), Type::Map(c, d)) => Type::Map(Rc::new(unified(a, c)), Rc::new(unified(b, d))),
        (bound, _) => bound.clone(),
    }
}

/// Whether values of the two types can be the same.
pub(crate) fn compatible(a: &Type<'_>, b: &Type<'_>) -> bool {
    match (a, b) {
        (Type::Dynamic | Type::Open, _) | (_, Type::Dynamic | Type::Open) => true,
        (Type::Null, other) | (other, Type::Null) => matches!(
            other,
            Type::Null
                | Type::Object(_)
                | Type::Message(_)
                | Type::Opaque(_)
                | Type::Timestamp
                | Type::Duration
                | Type::Optional(_)
        ),
        (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => compatible(a, b),
        (Type::Map(a, b), Type::Map(c, d)) => compatible(a, c) && compatible(b, d),
        (Type::Meta(_), Type::Meta(_)) => true,
        (a, b) => a == b,
    }
}

/// Whether the two types are one; what is still open takes any.
pub(crate) fn same(a: &Type<'_>, b: &Type<'_>) -> bool {
    match (a, b) {
        (Type::Open, _) | (_, Type::Open) => true,
        (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => same(a, b),
        (Type::Map(a, b), Type::Map(c, d)) => same(a, c) && same(b, d),
        (a, b) => a == b,
    }
}

/// A result type with its parameters replaced.
pub(crate) fn substitute<'s>(of: &Type<'s>, bindings: &Bindings<'s>) -> Type<'s> {
    match of {
        Type::Parameter(name) => {
            let bound = bindings.iter().find(|(bound, _)| bound == name);
            bound.map_or(Type::Open, |(_, bound)| bound.clone())
        }
        Type::List(item) => Type::List(Rc::new(substitute(item, bindings))),
        Type::Optional(inner) => Type::Optional(Rc::new(substitute(inner, bindings))),
        Type::Map(key, value) => {
            Type::Map(Rc::new(substitute(key, bindings)), Rc::new(substitute(value, bindings)))
        }
        other => other.clone(),
    }
}
