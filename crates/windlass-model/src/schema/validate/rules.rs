//! The CEL rules of a schema.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::correlate::{Correlated, by_keys, item_key};
use crate::field::{FieldError, FieldErrorKind, FieldPath};
use crate::schema::{ListKind, Rule, Schema, Shape};
use windlass_cel::{self as cel, Budget, EvalError, Program, RUNTIME_COST_BUDGET};

/// What a message expression may say at most, in bytes.
const MAX_MESSAGE_BYTES: usize = 5 * 1024;

/// Whether there is a rule anywhere in a schema.
pub(super) fn has_rules(schema: &Schema) -> bool {
    !schema.rules.is_empty()
        || match &schema.shape {
            Shape::Object { fields, .. } => fields.values().any(|field| has_rules(field)),
            Shape::Map { values, .. } => has_rules(values),
            Shape::List { items, .. } => has_rules(items),
            _ => false,
        }
}

/// Which rules a value breaks. Rules that compare with the old value run where there is one.
pub(in crate::schema) fn check(
    schema: &Schema,
    new: &Value,
    old: Option<&Value>,
    path: &FieldPath,
    is_root: bool,
) -> Vec<FieldError> {
    let correlated = old.map(|old| Correlated::root(schema, new, old));
    let history = History { old, current: correlated.as_ref(), parent: None };
    let mut runner = Runner { remaining: Some(RUNTIME_COST_BUDGET), stopped: false, errors: Vec::new() };
    runner.value(schema, new, &history, path, is_root);
    runner.errors
}

/// A schema with the fields that every resource has, whether its CRD lists them or not.
pub(in crate::schema) fn with_meta_fields(schema: &Schema) -> Schema {
    let text = || Arc::new(Schema { shape: Shape::String, ..Schema::default() });
    let Shape::Object { fields, atomic } = &schema.shape else { return schema.clone() };
    let mut fields = fields.clone();
    let names = BTreeMap::from([("name".into(), text()), ("generateName".into(), text())]);
    let metadata = Schema { shape: Shape::Object { fields: names, atomic: false }, ..Schema::default() };
    fields.insert("apiVersion".into(), text());
    fields.insert("kind".into(), text());
    fields.insert("metadata".into(), Arc::new(metadata));
    Schema { shape: Shape::Object { fields, atomic: *atomic }, ..schema.clone() }
}

/// What a value was before.
struct History<'a, 'b> {
    /// The value that `oldSelf` names.
    old: Option<&'a Value>,
    /// The old value, if it can be correlated with the new one.
    current: Option<&'b Correlated<'a>>,
    /// The nearest enclosing value that can be correlated, where there is no `current`.
    parent: Option<&'b Correlated<'a>>,
}

impl History<'_, '_> {
    /// Whether a violation was there before and is tolerated.
    fn is_unchanged(&self) -> bool {
        self.current.or(self.parent).is_some_and(Correlated::equal)
    }
}

struct Runner {
    /// What the rules may still cost together; nothing once they have cost more.
    remaining: Option<u64>,
    stopped: bool,
    errors: Vec<FieldError>,
}

impl Runner {
    fn value(
        &mut self,
        schema: &Schema,
        value: &Value,
        history: &History<'_, '_>,
        path: &FieldPath,
        is_root: bool,
    ) {
        if value.is_null() || self.stopped {
            return;
        }
        if !schema.rules.is_empty() {
            self.rules(schema, value, history, path, is_root);
        }
        match value {
            Value::Object(map) => self.object(schema, map, history, path, is_root),
            Value::Array(items) => self.list(schema, items, history, path),
            _ => {}
        }
    }

    fn object(
        &mut self,
        schema: &Schema,
        map: &Map<String, Value>,
        history: &History<'_, '_>,
        path: &FieldPath,
        is_root: bool,
    ) {
        for (key, value) in map {
            let (below, path) = match schema.field(key) {
                Some(field) => (field, path.child(key)),
                None => match schema.values() {
                    Some(values) => (values, path.key(key)),
                    None => continue,
                },
            };
            let old = history.old.and_then(|old| old.get(key));
            // Both objects have been converted to the same version, so these do not indicate a change.
            let hidden = is_root && (key == "apiVersion" || key == "kind");
            let current = history.current.filter(|_| !hidden).and_then(|current| current.key(key));
            let parent = if hidden { None } else { history.current.or(history.parent) };
            self.value(
                below,
                value,
                &History { old, current: current.as_ref(), parent },
                &path,
                below.embedded_resource,
            );
        }
    }

    fn list(&mut self, schema: &Schema, items: &[Value], history: &History<'_, '_>, path: &FieldPath) {
        let Shape::List { items: below, kind } = &schema.shape else { return };
        // Only items with keys can be found again.
        let keys: &[Box<str>] = if let ListKind::Map(keys) = kind { keys } else { &[] };
        let old_items = history.old.filter(|_| !keys.is_empty()).map(|old| by_keys(keys, old));
        for (index, item) in items.iter().enumerate() {
            let find = |old_items: &BTreeMap<String, _>| old_items.get(&item_key(keys, item)?).copied();
            let old = old_items.as_ref().and_then(find);
            let current = history.current.and_then(|current| current.index(index));
            let parent = history.current.or(history.parent);
            let history = History { old, current: current.as_ref(), parent };
            self.value(below, item, &history, &path.index(index), below.embedded_resource);
        }
    }

    fn rules(
        &mut self,
        schema: &Schema,
        value: &Value,
        history: &History<'_, '_>,
        path: &FieldPath,
        is_root: bool,
    ) {
        let typed = if is_root { &with_meta_fields(schema) } else { schema };
        let old = history.old.filter(|old| !old.is_null());
        let old = old.map(|old| cel::Value::from_json(old, Some(typed)));
        let has_old = old.is_some();
        let mut plain = vec![("self", cel::Value::from_json(value, Some(typed)))];
        let mut optional = Vec::new();
        if schema.rules.iter().any(|rule| rule.optional_old_self) {
            optional.clone_from(&plain);
            optional.push(("oldSelf", cel::Value::optional(old.clone())));
        }
        plain.extend(old.map(|old| ("oldSelf", old)));
        for rule in &schema.rules {
            let transition = rule.program.uses("oldSelf");
            if self.stopped || transition && !has_old && !rule.optional_old_self {
                continue;
            }
            let bindings = if rule.optional_old_self { &optional } else { &plain };
            match self.evaluate(&rule.program, bindings) {
                Ok(result) if result.as_bool() == Some(true) && self.remaining.is_some() => {}
                Ok(_) if self.remaining.is_some() => {
                    let error = self.violation(rule, schema, value, bindings, path);
                    if transition || !history.is_unchanged() {
                        self.errors.push(error);
                    }
                }
                Ok(_) => self.out_of_budget(schema, path),
                Err(why) => self.failed(rule, schema, &why, path),
            }
        }
    }

    /// Evaluates an expression within the limit of one call, and takes its cost from what all may cost together.
    fn evaluate<'a>(
        &mut self,
        program: &Program,
        bindings: &[(&str, cel::Value<'a>)],
    ) -> Result<cel::Value<'a>, EvalError> {
        let mut budget = Budget::default();
        let result = program.evaluate(bindings, &mut budget);
        self.remaining = self.remaining.and_then(|remaining| remaining.checked_sub(budget.spent()));
        result
    }

    fn out_of_budget(&mut self, schema: &Schema, path: &FieldPath) {
        self.stopped = true;
        let detail =
            "validation failed due to running out of cost budget, no further validation rules will be run";
        self.errors.push(FieldError::invalid(path, schema.type_keyword(), detail));
    }

    /// The rule could not be evaluated, which counts as a violation.
    fn failed(&mut self, rule: &Rule, schema: &Schema, why: &EvalError, path: &FieldPath) {
        let shown = rule.message.as_deref().unwrap_or(&rule.source).trim();
        let detail = if why.is_cost_exceeded() {
            self.stopped = true;
            format!(
                "'{why}': no further validation rules will be run due to call cost exceeds limit for rule: {shown}"
            )
        } else if why.is_no_overload() {
            format!(
                "'{why}': call arguments did not match a supported operator, function or macro signature for rule: {shown}"
            )
        } else {
            format!("{why} evaluating rule: {shown}")
        };
        self.errors.push(FieldError::invalid(path, schema.type_keyword(), detail));
    }

    fn violation(
        &mut self,
        rule: &Rule,
        schema: &Schema,
        value: &Value,
        bindings: &[(&str, cel::Value)],
        path: &FieldPath,
    ) -> FieldError {
        let path = rule.field_path.as_deref().map_or_else(|| path.clone(), |below| path.child(below));
        let computed = rule.message_program.as_deref().and_then(|program| self.message(program, bindings));
        if self.remaining.is_none() {
            self.stopped = true;
            let detail = "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run";
            return FieldError::invalid(&path, schema.type_keyword(), detail);
        }
        let detail = computed.unwrap_or_else(|| match rule.message.as_deref() {
            Some(message) => message.trim().to_owned(),
            None => format!("failed rule: {}", rule.source.trim()),
        });
        // Objects and lists are too long to be shown.
        let shown = (!matches!(schema.type_keyword(), "object" | "array")).then(|| value.clone());
        match rule.reason.as_deref() {
            Some("FieldValueForbidden") => FieldError::forbidden(&path, detail),
            Some("FieldValueRequired") => FieldError::required(&path, detail),
            Some("FieldValueDuplicate") => FieldError::new(FieldErrorKind::Duplicate, &path, shown, ""),
            _ => FieldError::new(FieldErrorKind::Invalid, &path, shown, detail),
        }
    }

    /// The message that an expression makes, if it makes a usable one.
    fn message(&mut self, program: &Program, bindings: &[(&str, cel::Value)]) -> Option<String> {
        let result = self.evaluate(program, bindings).ok()?;
        let text = result.as_str()?.trim();
        let usable = !text.is_empty() && !text.contains('\n') && text.len() <= MAX_MESSAGE_BYTES;
        usable.then(|| text.to_owned())
    }
}
