//! The walk over a value and its schema that collects what does not fit.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::correlate::Correlated;
use super::{combinators, constraints, types};
use crate::field::{FieldError, FieldErrorKind, FieldPath};
use crate::schema::{Schema, Shape};

/// What a check has found.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) errors: Vec<FieldError>,
    /// How many checks were made or passed; decides which failure of `anyOf` is shown.
    pub(super) matches: usize,
}

impl Findings {
    pub(super) fn is_valid(&self) -> bool {
        self.errors.is_empty()
    }

    pub(super) fn merge(&mut self, other: Findings) {
        self.errors.extend(other.errors);
        self.matches += other.matches;
    }
}

/// Checks values that stand below a path.
pub(in crate::schema) struct Checker<'a> {
    /// Where the checked value stands.
    pub(super) base: &'a FieldPath,
}

impl<'a> Checker<'a> {
    pub(in crate::schema) fn new(base: &'a FieldPath) -> Self {
        Checker { base }
    }

    /// Errors in a value that has no history.
    pub(in crate::schema) fn check_new(&self, schema: &Schema, value: &Value) -> Vec<FieldError> {
        unique(self.check(schema, value, "", None).errors)
    }

    /// Errors in a value, except those that its unchanged parts had before.
    pub(super) fn check_update(&self, correlated: &Correlated<'_>) -> Vec<FieldError> {
        unique(self.check_ratcheted(correlated.schema, correlated.new, "", Some(correlated)).errors)
    }

    /// The path of the error about a named value. Names are relative to the base: `spec.replicas`.
    pub(super) fn path(&self, name: &str) -> FieldPath {
        match name.trim_start_matches('.') {
            "" => self.base.clone(),
            name => self.base.child(name),
        }
    }

    /// An error about a value, worded by the OpenAPI validator.
    pub(super) fn invalid(&self, name: &str, value: impl Into<Value>, detail: String) -> FieldError {
        FieldError::invalid(&self.path(name), value, format!("{name} in body {detail}"))
    }

    fn check_ratcheted(
        &self,
        schema: &Schema,
        value: &Value,
        name: &str,
        correlated: Option<&Correlated<'_>>,
    ) -> Findings {
        let mut findings = self.check(schema, value, name, correlated);
        if !findings.is_valid() && correlated.is_some_and(Correlated::equal) {
            findings.errors.clear();
        }
        findings
    }

    /// The order of the checks is the order in which Kubernetes reports.
    pub(super) fn check(
        &self,
        schema: &Schema,
        value: &Value,
        name: &str,
        correlated: Option<&Correlated<'_>>,
    ) -> Findings {
        let mut findings = Findings::default();
        types::check(self, schema, value, name, &mut findings);
        let limits = schema.constraints.as_deref();
        if value.is_null() {
            findings
                .errors
                .extend(limits.and_then(|limits| constraints::check_enum(self, limits, value, name)));
            return findings;
        }
        findings.matches += 2;
        if let Some(limits) = limits {
            combinators::check(self, limits, value, name, &mut findings);
            constraints::check_scalar(self, limits, value, name, &mut findings);
        }
        match value {
            Value::Array(items) => self.check_items(schema, items, name, correlated, &mut findings),
            Value::Number(_) => findings.matches += 2,
            Value::String(_) | Value::Object(_) => findings.matches += 1,
            _ => {}
        }
        findings.errors.extend(limits.and_then(|limits| constraints::check_enum(self, limits, value, name)));
        findings.matches += 2;
        if let Value::Object(map) = value {
            self.check_object(schema, map, name, correlated, &mut findings);
        }
        findings
    }

    fn check_items(
        &self,
        schema: &Schema,
        items: &[Value],
        name: &str,
        correlated: Option<&Correlated<'_>>,
        findings: &mut Findings,
    ) {
        if let Shape::List { items: below, .. } = &schema.shape {
            for (index, item) in items.iter().enumerate() {
                let correlated = correlated.and_then(|correlated| correlated.index(index));
                findings.merge(self.check_ratcheted(
                    below,
                    item,
                    &format!("{name}[{index}]"),
                    correlated.as_ref(),
                ));
            }
        }
        if let Some(limits) = &schema.constraints {
            constraints::check_list(self, limits, items, name, findings);
        }
        findings.matches += 2;
    }

    fn check_object(
        &self,
        schema: &Schema,
        map: &Map<String, Value>,
        name: &str,
        correlated: Option<&Correlated<'_>>,
        findings: &mut Findings,
    ) {
        if let Some(limits) = &schema.constraints {
            constraints::check_properties(self, limits, map, name, findings);
        }
        for (key, value) in map {
            let name = match &schema.shape {
                Shape::Object { .. } if name.is_empty() => key.clone(),
                _ => format!("{name}.{key}"),
            };
            let Some(below) = schema.child(key) else { continue };
            // Both objects have been converted to the same version, so these do not indicate a change.
            let visible = !(name == "kind" || name == "apiVersion");
            let correlated = correlated.filter(|_| visible).and_then(|correlated| correlated.key(key));
            findings.merge(self.check_ratcheted(below, value, &name, correlated.as_ref()));
        }
        for field in schema.required.iter().filter(|field| !map.contains_key(*field)) {
            findings.errors.push(FieldError::required(&self.path(&format!("{name}.{field}")), ""));
        }
    }
}

/// The same finding may have been made on several ways through the schema.
fn unique(errors: Vec<FieldError>) -> Vec<FieldError> {
    let mut seen = BTreeSet::new();
    let kinds = |kind: FieldErrorKind| format!("{kind:?}");
    errors
        .into_iter()
        .filter(|error| seen.insert((error.path.to_string(), kinds(error.kind), error.detail.clone())))
        .collect()
}
