//! From `openAPIV3Schema` to [`Schema`]. Takes anything; the checks report what is invalid.

use std::sync::Arc;

use serde_json::Value;

use super::keywords::{entries, flag, given, list, schema, text, texts};
use super::pattern::Allowance;
use super::{Constraints, ListKind, Pattern, Rule, Schema, Shape};
use crate::field::{FieldError, FieldPath};
use windlass_cel::Program;

/// The variables that a rule may name.
pub(super) const RULE_VARIABLES: [&str; 2] = ["self", "oldSelf"];

/// Builds a schema and notes the patterns that do not compile.
#[derive(Default)]
pub(super) struct Builder {
    allowance: Allowance,
    /// One error per bad pattern.
    pub(super) errors: Vec<FieldError>,
}

impl Builder {
    /// The schema of a node that stands at `path`.
    pub(super) fn build(&mut self, node: &Value, path: &FieldPath) -> Schema {
        let kind = text(node, "type");
        let (shape, type_unchecked) = self.shape(node, kind, path);
        let mut schema = Schema {
            shape,
            type_unchecked,
            nullable: flag(node, "nullable"),
            default: given(node, "default").cloned(),
            required: texts(node, "required").into_iter().map(str::to_owned).collect(),
            preserve_unknown: flag(node, "x-kubernetes-preserve-unknown-fields"),
            embedded_resource: flag(node, "x-kubernetes-embedded-resource"),
            constraints: self.constraints(node, path),
            ..Schema::default()
        };
        // Fields beside `additionalProperties: true` leave room for others.
        if matches!(schema.shape, Shape::Object { .. }) && flag(node, "additionalProperties") {
            schema.preserve_unknown = true;
        }
        schema.rules = list(node, "x-kubernetes-validations")
            .iter()
            .filter_map(|rule| build_rule(rule, &schema))
            .collect();
        schema
    }

    fn shape(&mut self, node: &Value, kind: &str, path: &FieldPath) -> (Shape, bool) {
        if flag(node, "x-kubernetes-int-or-string") {
            return (Shape::IntOrString, false);
        }
        let has_fields = given(node, "properties").is_some() || given(node, "additionalProperties").is_some();
        match kind {
            "boolean" => (Shape::Boolean, false),
            "integer" => (Shape::Integer, false),
            "number" => (Shape::Number, false),
            "string" => (Shape::String, false),
            "object" => (self.object(node, path), false),
            "array" => (self.list(node, path), false),
            _ if has_fields => (self.object(node, path), true),
            _ if given(node, "items").is_some() => (self.list(node, path), true),
            _ => (Shape::Any, false),
        }
    }

    fn object(&mut self, node: &Value, path: &FieldPath) -> Shape {
        let atomic = text(node, "x-kubernetes-map-type") == "atomic";
        let no_fields = entries(node, "properties").next().is_none();
        match given(node, "additionalProperties") {
            Some(values) if no_fields => {
                let values = match values {
                    Value::Object(_) => self.build(values, &path.child("additionalProperties")),
                    _ => Schema::default(),
                };
                Shape::Map { values: Arc::new(values), atomic }
            }
            _ => {
                let properties = path.child("properties");
                let fields = entries(node, "properties")
                    .map(|(name, field)| {
                        (name.as_str().into(), Arc::new(self.build(field, &properties.key(name))))
                    })
                    .collect();
                Shape::Object { fields, atomic }
            }
        }
    }

    fn list(&mut self, node: &Value, path: &FieldPath) -> Shape {
        let items =
            schema(node, "items").map(|items| self.build(items, &path.child("items"))).unwrap_or_default();
        let kind = match text(node, "x-kubernetes-list-type") {
            "set" => ListKind::Set,
            "map" => {
                ListKind::Map(texts(node, "x-kubernetes-list-map-keys").into_iter().map(Into::into).collect())
            }
            _ => ListKind::Atomic,
        };
        Shape::List { items: Arc::new(items), kind }
    }

    fn constraints(&mut self, node: &Value, path: &FieldPath) -> Option<Box<Constraints>> {
        let number = |keyword: &str| node.get(keyword).and_then(Value::as_f64);
        // A negative bound bounds nothing from below and everything from above.
        let count =
            |keyword: &str| node.get(keyword).and_then(Value::as_i64).map(|count| count.max(0) as u64);
        let string =
            |keyword: &str| Some(text(node, keyword)).filter(|text| !text.is_empty()).map(str::to_owned);
        let constraints = Constraints {
            format: string("format"),
            title: string("title"),
            maximum: number("maximum"),
            exclusive_maximum: flag(node, "exclusiveMaximum"),
            minimum: number("minimum"),
            exclusive_minimum: flag(node, "exclusiveMinimum"),
            multiple_of: number("multipleOf"),
            max_length: count("maxLength"),
            min_length: count("minLength"),
            pattern: self.pattern(text(node, "pattern"), path),
            max_items: count("maxItems"),
            min_items: count("minItems"),
            unique_items: flag(node, "uniqueItems"),
            max_properties: count("maxProperties"),
            min_properties: count("minProperties"),
            closed: node.get("additionalProperties") == Some(&Value::Bool(false)),
            allowed: list(node, "enum").to_vec(),
            all_of: self.nested(node, "allOf", path),
            any_of: self.nested(node, "anyOf", path),
            one_of: self.nested(node, "oneOf", path),
            not: schema(node, "not").map(|not| Box::new(self.build(not, &path.child("not")))),
        };
        (constraints != Constraints::default()).then(|| Box::new(constraints))
    }

    fn nested(&mut self, node: &Value, keyword: &str, path: &FieldPath) -> Vec<Schema> {
        let path = path.child(keyword);
        list(node, keyword)
            .iter()
            .enumerate()
            .map(|(index, branch)| self.build(branch, &path.index(index)))
            .collect()
    }

    fn pattern(&mut self, pattern: &str, path: &FieldPath) -> Option<Pattern> {
        if pattern.is_empty() {
            return None;
        }
        match self.allowance.compile(pattern) {
            Ok(regex) => Some(Pattern { source: pattern.into(), regex }),
            Err(why) => {
                let detail = format!("must be a valid regular expression, but isn't: {why}");
                self.errors.push(FieldError::invalid(&path.child("pattern"), pattern, detail));
                None
            }
        }
    }
}

/// A rule that compiles; the checks have said why another does not.
fn build_rule(rule: &Value, schema: &Schema) -> Option<Rule> {
    let compile = |source: &str| Program::compile(source, &RULE_VARIABLES).ok().map(Arc::new);
    let optional =
        |keyword: &str| Some(text(rule, keyword)).filter(|text| !text.is_empty()).map(str::to_owned);
    let message_expression = optional("messageExpression");
    let field_path = optional("fieldPath")
        .and_then(|path| super::field_paths::resolve(&path, schema, true).ok())
        .map(|(path, _)| path.as_str().to_owned());
    Some(Rule {
        source: text(rule, "rule").to_owned(),
        message: optional("message"),
        message_program: message_expression.as_deref().and_then(compile),
        message_expression,
        reason: optional("reason"),
        field_path,
        optional_old_self: flag(rule, "optionalOldSelf"),
        program: compile(text(rule, "rule"))?,
    })
}
