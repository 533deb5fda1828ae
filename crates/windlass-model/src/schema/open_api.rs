//! The rules for `openAPIV3Schema` that go beyond structure: forbidden keywords, list types, CEL rules.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::build::RULE_VARIABLES;
use super::keywords::{entries, flag, given, list, schema, text, texts};
use super::rule_costs::{RuleCosts, cardinality_below, for_all};
use super::{Schema, field_paths};
use crate::field::{FieldError, FieldPath};
use windlass_cel::{Program, RuleContext};

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// Errors in a schema, those of its CEL rules last. `schema` is what was built from the node; without
/// it, rules are not compiled. A schema that is unchanged may have expressions that are too expensive by themselves.
pub(super) fn check(
    node: &Value,
    schema: Option<&Schema>,
    path: &FieldPath,
    is_unchanged: bool,
) -> Vec<FieldError> {
    let mut checker = Checker::default();
    checker.costs.is_unchanged = is_unchanged;
    let root = Position { is_root: true, cardinality: Some(1), ..Position::default() };
    checker.node(node, schema, path, &root);
    checker.errors.append(&mut checker.rule_errors);
    checker.errors.extend(checker.costs.errors(path));
    checker.errors
}

/// What the position of a node in the schema forbids.
#[derive(Clone, Default)]
struct Position {
    is_root: bool,
    /// Why defaults are forbidden, if they are.
    no_defaults: Option<String>,
    /// Below apiVersion, kind or metadata of a resource.
    inside_meta: bool,
    /// The outermost path below which old and new values cannot be correlated.
    uncorrelatable: Option<FieldPath>,
    /// The most values that a request can have here; `None` if only its size bounds them.
    cardinality: Option<u64>,
}

#[derive(Default)]
struct Checker {
    errors: Vec<FieldError>,
    rule_errors: Vec<FieldError>,
    costs: RuleCosts,
}

impl Checker {
    fn required(&mut self, path: &FieldPath, detail: &str) {
        self.errors.push(FieldError::required(path, detail));
    }

    fn forbidden(&mut self, path: &FieldPath, detail: &str) {
        self.errors.push(FieldError::forbidden(path, detail));
    }

    fn invalid(&mut self, path: &FieldPath, value: impl Into<Value>, detail: &str) {
        self.errors.push(FieldError::invalid(path, value, detail));
    }

    /// The type must be there and be `wanted`.
    fn needs_type(&mut self, node: &Value, path: &FieldPath, wanted: &str, because: &str) {
        let (kind, path) = (text(node, "type"), path.child("type"));
        let detail = format!("must be {wanted} if {because} is specified");
        if kind.is_empty() { self.required(&path, &detail) } else { self.invalid(&path, kind, &detail) }
    }

    fn node(&mut self, node: &Value, built: Option<&Schema>, path: &FieldPath, position: &Position) {
        let before = self.errors.len();
        self.keywords(node, path, position);
        let cardinality = cardinality_below(node, position.cardinality);
        let below = Position { is_root: false, cardinality, ..position.clone() };
        self.below(node, built, path, &below, position.is_root);
        self.map_type(node, path);
        self.list_type(node, path);
        self.map_keys(node, path);
        self.items_of_sets_and_maps(node, path);
        let rules = list(node, "x-kubernetes-validations");
        for (index, rule) in rules.iter().enumerate() {
            self.rule_texts(rule, built, &path.child("x-kubernetes-validations").index(index));
        }
        // A broken schema has no types to check rules against.
        if let (Some(built), true) = (built, self.errors.len() == before && !rules.is_empty()) {
            self.rules(rules, built, path, position);
        }
    }

    fn keywords(&mut self, node: &Value, path: &FieldPath, position: &Position) {
        let kind = text(node, "type");
        if !kind.is_empty() && !TYPES.contains(&kind) {
            self.errors.push(FieldError::not_supported(&path.child("type"), kind, &TYPES));
        }
        if let (Some(reason), Some(_)) = (&position.no_defaults, given(node, "default")) {
            self.forbidden(&path.child("default"), &format!("must not be set {reason}"));
        }
        for keyword in ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"] {
            let set = given(node, keyword).is_some_and(|value| {
                value.as_object().is_none_or(|map| !map.is_empty() || keyword == "additionalItems")
                    && value.as_str().is_none_or(|text| !text.is_empty() || keyword == "$ref")
            });
            if set {
                self.forbidden(&path.child(keyword), &format!("{keyword} is not supported"));
            }
        }
        if kind == "null" {
            self.forbidden(&path.child("type"), "type cannot be set to null, use nullable as an alternative");
        }
        if node.get("items").and_then(Value::as_array).is_some_and(|items| !items.is_empty()) {
            self.forbidden(&path.child("items"), "items must be a schema object and not an array");
        }
        if position.inside_meta && flag(node, "x-kubernetes-embedded-resource") {
            let path = path.child("x-kubernetes-embedded-resource");
            self.forbidden(&path, "must not be used inside of resource meta");
        }
        if flag(node, "uniqueItems") {
            let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            self.forbidden(&path.child("uniqueItems"), detail);
        }
        if node.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
            self.invalid(
                &path.child("x-kubernetes-preserve-unknown-fields"),
                false,
                "must be true or undefined",
            );
        }
    }

    fn below(
        &mut self,
        node: &Value,
        built: Option<&Schema>,
        path: &FieldPath,
        position: &Position,
        is_root: bool,
    ) {
        if let Some(values) = given(node, "additionalProperties") {
            let path = path.child("additionalProperties");
            if entries(node, "properties").next().is_some() && *values != Value::Bool(true) {
                self.forbidden(&path, "additionalProperties and properties are mutual exclusive");
            }
            let mut position = position.clone();
            if position.inside_meta {
                position.no_defaults =
                    Some("inside additionalProperties applying to object metadata".to_owned());
            }
            if values.is_object() {
                self.node(values, built.and_then(Schema::values), &path, &position);
            }
        }
        let resource = is_root || flag(node, "x-kubernetes-embedded-resource");
        for (name, field) in entries(node, "properties") {
            let mut position = position.clone();
            if resource && ["metadata", "kind", "apiVersion"].contains(&name.as_str()) {
                position.inside_meta = true;
                if is_root {
                    position.no_defaults = Some(format!("in top-level {name}"));
                }
            }
            self.node(
                field,
                built.and_then(|built| built.field(name)),
                &path.child("properties").key(name),
                &position,
            );
        }
        if let Some(not) = schema(node, "not") {
            self.node(not, None, &path.child("not"), position);
        }
        for keyword in ["allOf", "oneOf", "anyOf"] {
            for (index, branch) in list(node, keyword).iter().enumerate() {
                self.node(branch, None, &path.child(keyword).index(index), position);
            }
        }
        if let Some(items) = schema(node, "items") {
            let mut position = position.clone();
            if text(node, "x-kubernetes-list-type") != "map" {
                position.uncorrelatable.get_or_insert_with(|| path.clone());
            }
            self.node(items, built.and_then(Schema::items), &path.child("items"), &position);
        }
    }

    fn map_type(&mut self, node: &Value, path: &FieldPath) {
        let Some(map_type) = given(node, "x-kubernetes-map-type").and_then(Value::as_str) else { return };
        if text(node, "type") != "object" {
            self.needs_type(node, path, "object", "x-kubernetes-map-type");
        }
        if map_type != "atomic" && map_type != "granular" {
            let path = path.child("x-kubernetes-map-type");
            self.errors.push(FieldError::not_supported(&path, map_type, &["atomic", "granular"]));
        }
    }

    fn list_type(&mut self, node: &Value, path: &FieldPath) {
        let Some(list_type) = given(node, "x-kubernetes-list-type").and_then(Value::as_str) else { return };
        if text(node, "type") != "array" {
            self.needs_type(node, path, "array", "x-kubernetes-list-type");
        } else if let ("set", Some(items)) = (list_type, schema(node, "items")) {
            let (keyword, allowed) = match text(items, "type") {
                "array" => ("x-kubernetes-list-type", ["", "atomic"]),
                "object" => ("x-kubernetes-map-type", ["atomic", "atomic"]),
                _ => ("", [""; 2]),
            };
            if !keyword.is_empty() && !allowed.contains(&text(items, keyword)) {
                let value = items.get("x-kubernetes-list-type").cloned().unwrap_or_default();
                let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
                self.invalid(&path.child("items").child(keyword), value, detail);
            }
        }
        if !["atomic", "set", "map"].contains(&list_type) {
            let path = path.child("x-kubernetes-list-type");
            self.errors.push(FieldError::not_supported(&path, list_type, &["atomic", "set", "map"]));
        }
    }

    fn map_keys(&mut self, node: &Value, path: &FieldPath) {
        let keys = texts(node, "x-kubernetes-list-map-keys");
        let list_type = given(node, "x-kubernetes-list-type").and_then(Value::as_str);
        let (type_path, keys_path) =
            (path.child("x-kubernetes-list-type"), path.child("x-kubernetes-list-map-keys"));
        const NEEDS_MAP: &str = "must be map if x-kubernetes-list-map-keys is non-empty";
        match list_type {
            None if !keys.is_empty() => self.required(&type_path, NEEDS_MAP),
            Some(other) if !keys.is_empty() && other != "map" => self.invalid(&type_path, other, NEEDS_MAP),
            _ => {}
        }
        if list_type != Some("map") {
            return;
        }
        if keys.is_empty() {
            self.required(&keys_path, "must not be empty if x-kubernetes-list-type is map");
        }
        let items_path = path.child("items");
        let Some(items) = schema(node, "items") else {
            return match given(node, "items") {
                None => self.required(&items_path, "must have a schema if x-kubernetes-list-type is map"),
                Some(other) => self.invalid(
                    &items_path,
                    other.clone(),
                    "must only have a single schema if x-kubernetes-list-type is map",
                ),
            };
        };
        let kind = text(items, "type");
        if kind != "object" {
            let detail = "must be object if parent array's x-kubernetes-list-type is map";
            return self.invalid(&items_path.child("type"), kind, detail);
        }
        for key in &keys {
            let property = items["properties"].get(key);
            if let Some("array" | "object") = property.map(|property| text(property, "type")) {
                let path = items_path.child("properties").key(key).child("type");
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                self.invalid(&path, kind, detail);
            }
        }
        // Each of these errors shows all keys, so one of a kind is enough.
        if keys.iter().any(|key| items["properties"].get(key).is_none()) {
            self.invalid(&keys_path, keys.as_slice(), "entries must all be names of item properties");
        }
        if keys.iter().collect::<BTreeSet<_>>().len() < keys.len() {
            self.invalid(&keys_path, keys.as_slice(), "must not contain duplicate entries");
        }
    }

    fn items_of_sets_and_maps(&mut self, node: &Value, path: &FieldPath) {
        let list_type = text(node, "x-kubernetes-list-type");
        let Some(items) = schema(node, "items").filter(|_| ["set", "map"].contains(&list_type)) else {
            return;
        };
        let path = path.child("items");
        if flag(items, "nullable") {
            let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
            self.forbidden(&path.child("nullable"), &detail);
        }
        if list_type != "map" {
            return;
        }
        let required: BTreeSet<&str> = texts(items, "required").into_iter().collect();
        for key in texts(node, "x-kubernetes-list-map-keys") {
            let Some(property) = items["properties"].get(key) else { continue };
            let path = path.child("properties").key(key);
            if !required.contains(&key) && given(property, "default").is_none() {
                let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
                self.required(&path.child("default"), detail);
            }
            if flag(property, "nullable") {
                let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
                self.forbidden(&path.child("nullable"), detail);
            }
        }
    }

    fn rule_texts(&mut self, rule: &Value, built: Option<&Schema>, path: &FieldPath) {
        let (source, message) = (text(rule, "rule").trim(), text(rule, "message"));
        let broken = |text: &str| text.contains(['\n', '\r']);
        if source.is_empty() {
            self.required(&path.child("rule"), "rule is not specified");
        } else if !message.is_empty() && message.trim().is_empty() {
            self.invalid(&path.child("message"), message, "must be non-empty if specified");
        } else if broken(message.trim()) {
            self.invalid(&path.child("message"), message, "must not contain line breaks");
        } else if broken(source) && message.trim().is_empty() {
            self.required(&path.child("message"), "message must be specified if rule contains line breaks");
        }
        let expression = text(rule, "messageExpression");
        if !expression.is_empty() && expression.trim().is_empty() {
            let detail = "messageExpression must be non-empty if specified";
            self.required(&path.child("messageExpression"), detail);
        }
        if let Some(reason) = given(rule, "reason").and_then(Value::as_str)
            && !REASONS.contains(&reason)
        {
            self.errors.push(FieldError::not_supported(&path.child("reason"), reason, &REASONS));
        }
        let field_path = text(rule, "fieldPath");
        let at = path.child("fieldPath");
        if !field_path.is_empty() && field_path.trim().is_empty() {
            self.invalid(&at, field_path, "must be non-empty if specified");
        }
        if broken(field_path) {
            self.invalid(&at, field_path, "must not contain line breaks");
        }
        let lost = |schema| field_paths::resolve(field_path, schema, true).is_err();
        if !field_path.is_empty() && built.is_some_and(lost) {
            self.invalid(&at, field_path, "must be a valid path");
        }
    }

    fn rules(&mut self, rules: &[Value], built: &Schema, path: &FieldPath, position: &Position) {
        for (index, rule) in rules.iter().enumerate() {
            let path = path.child("x-kubernetes-validations").index(index);
            let source = text(rule, "rule");
            let context = RuleContext {
                resource_root: position.is_root,
                optional_old_self: rule["optionalOldSelf"] == true,
                returns_text: false,
            };
            match compile(source, built, context) {
                Err(why) => {
                    self.rule_errors.push(FieldError::invalid(&path.child("rule"), shown_rule(rule), why))
                }
                Ok(program) => {
                    let cost = for_all(program.max_cost(built, context), position.cardinality, built);
                    self.rule_errors.extend(self.costs.add("estimated rule cost", &path.child("rule"), cost));
                    self.old_self(rule, &program, &path, position);
                }
            }
            self.message(rule, built, context, &path);
        }
    }

    /// Where `oldSelf` may be used, and where it must be.
    fn old_self(&mut self, rule: &Value, program: &Program, path: &FieldPath, position: &Position) {
        if !program.uses("oldSelf") {
            if let Some(optional) = given(rule, "optionalOldSelf") {
                let detail = "may not be set if oldSelf is not used in rule";
                let path = path.child("optionalOldSelf");
                self.rule_errors.push(FieldError::invalid(&path, optional.clone(), detail));
            }
        } else if let Some(ancestor) = &position.uncorrelatable {
            let detail = format!(
                "oldSelf cannot be used on the uncorrelatable portion of the schema within {ancestor}"
            );
            self.rule_errors.push(FieldError::invalid(&path.child("rule"), text(rule, "rule"), detail));
        }
    }

    fn message(&mut self, rule: &Value, built: &Schema, context: RuleContext, path: &FieldPath) {
        let expression = text(rule, "messageExpression").trim();
        if expression.is_empty() {
            return;
        }
        let (path, context) =
            (path.child("messageExpression"), RuleContext { returns_text: true, ..context });
        match compile(expression, built, context) {
            Err(why) => {
                let detail = format!("messageExpression {why}");
                self.rule_errors.push(FieldError::invalid(&path, shown_rule(rule), detail));
            }
            Ok(program) => {
                let cost = program.max_cost(built, context);
                self.rule_errors.extend(self.costs.add("estimated messageExpression cost", &path, cost));
            }
        }
    }
}

fn compile(source: &str, schema: &Schema, context: RuleContext) -> Result<Program, String> {
    let failed = |error: &dyn std::fmt::Display| format!("compilation failed: {error}");
    let program = Program::compile(source, &RULE_VARIABLES).map_err(|error| failed(&error))?;
    program.check_against(schema, context).map_err(|error| match error.to_string() {
        // This is found only after it has compiled.
        why if why.starts_with("cel expression must") => why,
        why => failed(&why),
    })?;
    Ok(program)
}

/// A rule as Kubernetes shows it: its internal type has other names.
fn shown_rule(rule: &Value) -> Value {
    json!({
        "Rule": text(rule, "rule"),
        "Message": text(rule, "message"),
        "MessageExpression": text(rule, "messageExpression"),
        "Reason": rule["reason"],
        "FieldPath": text(rule, "fieldPath"),
        "OptionalOldSelf": rule["optionalOldSelf"],
    })
}
