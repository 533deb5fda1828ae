//! Whether a configuration fits its schema well enough to be merged.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::path_element::PathElement;
use super::type_ref::{Form, Items, TypeRef};
use crate::go_format::{go_syntax, go_type, plain};
use crate::schema::{Schema, Shape};

/// Errors in a configuration, one line per finding; empty if it is valid.
pub(super) fn findings(type_ref: TypeRef<'_>, config: &Value) -> String {
    let mut check = Check { path: String::new(), found: Vec::new() };
    check.value(type_ref, config);
    match check.found.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        many => format!("errors:\n  {}", many.join("\n  ")),
    }
}

struct Check {
    path: String,
    found: Vec<String>,
}

impl Check {
    fn report(&mut self, message: impl std::fmt::Display) {
        let colon = if self.path.is_empty() { "" } else { ": " };
        self.found.push(format!("{}{colon}{message}", self.path));
    }

    fn below(&mut self, element: &PathElement, check: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push_str(&element.to_string());
        check(self);
        self.path.truncate(length);
    }

    fn value(&mut self, type_ref: TypeRef<'_>, value: &Value) {
        match (type_ref.form(Some(value)), value) {
            (_, Value::Null) => {}
            (Form::Map { .. }, Value::Object(map)) => self.map(type_ref, map),
            (Form::List(items), Value::Array(list)) => self.list(items, list),
            (Form::Map { .. }, other) => self.report(format_args!("expected map, got &{{{}}}", plain(other))),
            (Form::List(_), other) => self.report(format_args!("expected list, got &{{{}}}", plain(other))),
            (Form::Scalar, scalar) => self.scalar(type_ref.schema, scalar),
        }
    }

    fn map(&mut self, type_ref: TypeRef<'_>, map: &Map<String, Value>) {
        for (name, value) in map {
            let field = type_ref.field(name);
            self.below(&PathElement::field(name), |check| {
                if field.declared {
                    check.value(field.type_ref, value);
                } else {
                    check.report("field not declared in schema");
                }
            });
            // Kubernetes looks no further in this map, and goes through it in any order.
            if !field.declared {
                return;
            }
        }
    }

    fn list(&mut self, items: Items<'_>, list: &[Value]) {
        let mut seen = BTreeSet::new();
        for (i, item) in list.iter().enumerate() {
            let element = if items.is_atomic() {
                PathElement::Index(i64::try_from(i).unwrap_or(i64::MAX))
            } else {
                match items.element(item) {
                    Ok(element) => element,
                    Err(why) => return self.report(format_args!("element {i}: {why}")),
                }
            };
            self.below(&element, |check| check.value(items.type_ref, item));
            if !items.is_atomic() && seen.contains(&element) {
                self.report(format_args!("duplicate entries for key {element}"));
            }
            seen.insert(element);
        }
    }

    fn scalar(&mut self, schema: &Schema, value: &Value) {
        match (&schema.shape, value) {
            (Shape::Integer | Shape::Number, Value::Number(_)) | (Shape::Boolean, Value::Bool(_)) => {}
            (Shape::String, Value::String(_)) => {}
            (Shape::Integer | Shape::Number, other) => {
                self.report(format_args!("expected numeric (int or float), got {}", go_type(other)));
            }
            (Shape::Boolean, other) => {
                self.report(format_args!("expected boolean, got &{{{}}}", plain(other)));
            }
            (Shape::String, other) if is_plain_string(schema) => self.report(format_args!(
                "expected string, got &value.valueUnstructured{{Value:{}}}",
                go_syntax(other)
            )),
            (_, other @ (Value::Object(_) | Value::Array(_))) => {
                self.report(format_args!("expected any scalar, got &{{{}}}", plain(other)));
            }
            _ => {}
        }
    }
}

/// Strings with a format are quantities, times and the like, which have other forms as well.
fn is_plain_string(schema: &Schema) -> bool {
    let format = schema.constraints.as_ref().and_then(|constraints| constraints.format.as_deref());
    matches!(format, None | Some("" | "byte"))
}
