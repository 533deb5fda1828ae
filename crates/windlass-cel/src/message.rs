//! Messages that expressions make: the configurations and patches of mutating admission policies.
//!
//! `Object{...}` is a part of an object, `Object.spec{...}` what stands at its field `spec`; they take any fields. A
//! `JSONPatch{...}` is one operation of a patch.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::EvalError;
use crate::types::Type;
use crate::value::Value;

const OBJECT: &str = "Object";
const JSON_PATCH: &str = "JSONPatch";

/// A message.
#[derive(Clone, Debug)]
pub struct Message<'a> {
    type_name: Arc<str>,
    fields: Arc<BTreeMap<Arc<str>, Value<'a>>>,
}

/// Whether there are messages of this type.
pub(crate) fn is_type(name: &str) -> bool {
    name == JSON_PATCH
        || name.strip_prefix(OBJECT).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The type of a field; `None` if messages of this type have no such field.
pub(crate) fn field<'s>(type_name: &str, field: &str) -> Option<Type<'s>> {
    match (type_name, field) {
        (JSON_PATCH, "op" | "path" | "from") => Some(Type::String),
        (JSON_PATCH, field) => (field == "value").then_some(Type::Dynamic),
        _ => Some(Type::Dynamic),
    }
}

/// The name of a type without the path that `Object` may have.
pub(crate) fn base_name(type_name: &str) -> &'static str {
    if type_name == JSON_PATCH { JSON_PATCH } else { OBJECT }
}

impl<'a> Message<'a> {
    /// A message with these fields.
    ///
    /// # Errors
    /// A field of an operation is no text, though nothing said so before the expression ran.
    pub(crate) fn new(type_name: Arc<str>, fields: BTreeMap<Arc<str>, Value<'a>>) -> Result<Self, EvalError> {
        if &*type_name == JSON_PATCH {
            let texts = fields.iter().filter(|(name, _)| &***name != "value");
            for (name, value) in texts {
                if !matches!(value, Value::String(_)) {
                    let message =
                        format!("unexpected type {} for JSONPatchType '{name}' field", go_type(value));
                    return Err(EvalError::failed(message));
                }
            }
        }
        Ok(Message { type_name, fields: Arc::new(fields) })
    }

    /// The name of its type: `Object.spec`.
    pub(crate) fn type_name(&self) -> &str {
        &self.type_name
    }

    pub(crate) fn base_name(&self) -> &'static str {
        base_name(&self.type_name)
    }

    /// The value of a field.
    pub fn field(&self, name: &str) -> Option<&Value<'a>> {
        self.fields.get(name)
    }

    /// The fields that are set, by their names.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, &Value<'a>)> {
        self.fields.iter().map(|(name, value)| (&**name, value))
    }

    /// Messages inside whose type does not match their field: the type at a field is named after it.
    pub fn misnamed(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.check_names(&self.type_name, &mut found);
        found
    }

    fn check_names(&self, expected: &str, found: &mut Vec<String>) {
        if *self.type_name != *expected {
            found.push(format!(
                "unexpected type name {:?}, expected {expected:?}, which matches field name path from root Object \
                 type",
                self.type_name
            ));
        }
        for (name, value) in self.fields() {
            check_names(value, &format!("{expected}.{name}"), found);
        }
    }
}

/// Lists and maps have no names: what they hold is named as they would be.
fn check_names(value: &Value<'_>, expected: &str, found: &mut Vec<String>) {
    match value {
        Value::Message(message) => message.check_names(expected, found),
        Value::List(list) => list.iter().for_each(|item| check_names(&item, expected, found)),
        Value::Map(map) => map.iter().for_each(|(_, item)| check_names(&item, expected, found)),
        _ => {}
    }
}

/// The Go type of a value, as Kubernetes shows it.
fn go_type(value: &Value<'_>) -> &'static str {
    match value {
        Value::Null => "structpb.NullValue",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Uint(_) => "uint64",
        Value::Double(_) => "float64",
        Value::String(_) => "string",
        Value::Bytes(_) => "[]uint8",
        Value::List(_) => "[]interface {}",
        _ => "map[string]interface {}",
    }
}
