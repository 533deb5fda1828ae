//! The schemas of the built-in types, read once from the data files beside this one.

pub mod data;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::schema::{Constraints, ListKind, Schema, Shape, Strategic};
use data::{Section, TYPES, meaningful, sections};

/// Defaults that the API server sets in code, by type and field.
const DEFAULTS: &str = include_str!("builtin.defaults");
const JSON_SCHEMA: &str = "apiextensions.v1.JSONSchemaProps";

/// The schema of a type by its short name: `core.v1.Pod`, `autoscaling.v1.Scale`.
pub(crate) fn schema(name: &str) -> Option<Arc<Schema>> {
    static SCHEMAS: OnceLock<BTreeMap<Box<str>, Arc<Schema>>> = OnceLock::new();
    SCHEMAS.get_or_init(|| Reader::new(TYPES, DEFAULTS).read_all()).get(name).cloned()
}

/// Turns the lines into schemas that share their parts.
struct Reader<'a> {
    sections: BTreeMap<&'a str, Section<'a>>,
    /// Defaults by type and field.
    defaults: BTreeMap<(&'a str, &'a str), &'a str>,
    done: BTreeMap<&'a str, Arc<Schema>>,
    /// Fields that read alike are one schema.
    by_line: BTreeMap<(&'a str, Option<&'a str>), Arc<Schema>>,
    /// Types that are being read: a cycle ends in a value of any shape.
    open: BTreeSet<&'a str>,
}

impl<'a> Reader<'a> {
    fn new(types: &'a str, defaults: &'a str) -> Self {
        Reader {
            sections: sections(types),
            defaults: meaningful(defaults).filter_map(default_line).collect(),
            done: BTreeMap::new(),
            by_line: BTreeMap::new(),
            open: BTreeSet::new(),
        }
    }

    fn read_all(mut self) -> BTreeMap<Box<str>, Arc<Schema>> {
        let names: Vec<&str> = self.sections.keys().copied().collect();
        names.into_iter().map(|name| (name.into(), self.named(name))).collect()
    }

    /// The schema of a named type.
    fn named(&mut self, name: &'a str) -> Arc<Schema> {
        if let Some(done) = self.done.get(name) {
            return Arc::clone(done);
        }
        let Some(section) = self.sections.get(name).filter(|_| !self.open.contains(name)) else {
            return Arc::new(any());
        };
        let (atomic, lines) = (section.atomic, section.fields.clone());
        self.open.insert(name);
        let mut fields = BTreeMap::new();
        let mut required = Vec::new();
        for (field, line) in lines {
            if line.split(' ').any(|word| word == "required") {
                required.push(field.to_owned());
            }
            let default = self.defaults.get(&(name, field)).copied();
            let mut schema = self.field(line, default);
            if field == "uid" {
                // The only named string type that appears in decoding errors.
                Arc::make_mut(&mut schema).type_name = Some("types.UID".into());
            }
            fields.insert(field.into(), schema);
        }
        self.open.remove(name);
        let schema = Schema {
            shape: Shape::Object { fields, atomic },
            required,
            // `apps.v1.DeploymentSpec` is `v1.DeploymentSpec` in Go.
            type_name: name.split_once('.').map(|(_, go_name)| go_name.into()),
            ..Schema::default()
        };
        let schema = Arc::new(schema);
        self.done.insert(name, Arc::clone(&schema));
        schema
    }

    /// The schema of a field, from what stands after its name.
    fn field(&mut self, line: &'a str, default: Option<&'a str>) -> Arc<Schema> {
        if let Some(known) = self.by_line.get(&(line, default)) {
            return Arc::clone(known);
        }
        let (line_rest, line_default) = match line.split_once(" default=") {
            Some((rest, default)) => (rest, Some(default)),
            None => (line, None),
        };
        let mut words = line_rest.split(' ');
        let mut schema = self.shape(words.next().unwrap_or("any"));
        for word in words {
            apply_flag(Arc::make_mut(&mut schema), word);
        }
        if let Some(default) = default.or(line_default) {
            Arc::make_mut(&mut schema).default = serde_json::from_str(default).ok();
        }
        // Only what may be absent has a default that is set in code.
        Arc::make_mut(&mut schema).nullable = default.is_some();
        self.by_line.insert((line, default), Arc::clone(&schema));
        schema
    }

    /// The schema of a type reference: `string`, `[T]`, `{T}`, `core.v1.Pod`.
    fn shape(&mut self, text: &'a str) -> Arc<Schema> {
        if let Some(items) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let items = self.shape(items);
            return Arc::new(of(Shape::List { items, kind: ListKind::Atomic }, None));
        }
        if let Some(values) = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            let values = self.shape(values);
            return Arc::new(of(Shape::Map { values, atomic: false }, None));
        }
        Arc::new(match text {
            "any" | "json" | "fields" => any(),
            // Its content is opaque, so it is owned as a whole.
            "raw-extension" => Schema { preserve_unknown: true, ..of(Shape::Any, Some(text)) },
            // A schema in a schema has no end; rules of its own check it.
            JSON_SCHEMA => any(),
            "boolean" => of(Shape::Boolean, None),
            "string" => of(Shape::String, None),
            "number" => of(Shape::Number, None),
            "integer" => of(Shape::Integer, None),
            "int32" | "int64" => of(Shape::Integer, Some(text)),
            "int-or-string" => of(Shape::IntOrString, None),
            "bytes" => of(Shape::String, Some("byte")),
            "time" => of(Shape::String, Some("date-time")),
            "micro-time" | "duration" => of(Shape::String, Some(text)),
            // A quantity may be written as a number or as a string.
            "quantity" => of(Shape::Any, Some(text)),
            name => return self.named(name),
        })
    }
}

/// `core.v1.Probe.timeoutSeconds 1`
fn default_line(line: &str) -> Option<((&str, &str), &str)> {
    let (path, default) = line.split_once(' ')?;
    let (name, field) = path.rsplit_once('.')?;
    Some(((name, field), default))
}

fn any() -> Schema {
    Schema { preserve_unknown: true, ..Schema::default() }
}

fn of(shape: Shape, format: Option<&str>) -> Schema {
    let constraints = format
        .map(|format| Box::new(Constraints { format: Some(format.to_owned()), ..Constraints::default() }));
    Schema { shape, constraints, ..Schema::default() }
}

/// Adds to a schema what one word of a line says.
fn apply_flag(schema: &mut Schema, word: &str) {
    let (flag, argument) = match word.split_once('=') {
        Some((flag, argument)) => (flag, Some(argument)),
        None => (word, None),
    };
    match (flag, &mut schema.shape) {
        ("omit-zero", _) => schema.omit_zero = true,
        ("merge", _) => {
            schema.strategic =
                Strategic { merge: true, key: argument.map(Into::into), ..schema.strategic.clone() };
        }
        ("retain-keys", _) => schema.strategic.retain_keys = true,
        ("atomic", Shape::Object { atomic, .. } | Shape::Map { atomic, .. }) => *atomic = true,
        // What is atomic elsewhere need not be so here.
        ("granular", Shape::Object { atomic, .. } | Shape::Map { atomic, .. }) => *atomic = false,
        ("set", Shape::List { kind, .. }) => *kind = ListKind::Set,
        ("map", Shape::List { kind, .. }) => {
            *kind = ListKind::Map(argument.unwrap_or("").split(',').map(Into::into).collect());
        }
        // `required` belongs to the parent. What strings are allowed is checked by rules; the rest is for documents.
        _ => {}
    }
}

/// Whether a value is one that Go's `omitempty` leaves out.
pub(crate) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The schema at a path of fields; items of lists and values of maps are entered by `*`.
    fn at(root: &str, path: &str) -> Arc<Schema> {
        path.split('.').fold(schema(root).unwrap(), |schema, field| {
            match &schema.shape {
                Shape::Object { fields, .. } => fields.get(field).cloned(),
                Shape::List { items, .. } => Some(Arc::clone(items)),
                Shape::Map { values, .. } => Some(Arc::clone(values)),
                _ => None,
            }
            .unwrap_or_else(|| panic!("{root} has no {path}"))
        })
    }

    fn list_kind(root: &str, path: &str) -> ListKind {
        match &at(root, path).shape {
            Shape::List { kind, .. } => kind.clone(),
            other => panic!("{path} is {other:?}"),
        }
    }

    #[test]
    fn lists_know_how_their_items_are_identified() {
        for (path, expected) in [
            ("spec.containers", ListKind::Map(vec!["name".into()])),
            ("spec.containers.*.ports", ListKind::Map(vec!["containerPort".into(), "protocol".into()])),
            ("spec.containers.*.args", ListKind::Atomic),
            ("metadata.finalizers", ListKind::Set),
            ("metadata.ownerReferences", ListKind::Map(vec!["uid".into()])),
            ("spec.tolerations", ListKind::Atomic),
        ] {
            assert_eq!(list_kind("core.v1.Pod", path), expected, "{path}");
        }
    }

    #[test]
    fn fields_know_their_facts() {
        let ports = at("core.v1.Pod", "spec.containers.*.ports");
        assert_eq!(ports.strategic.key.as_deref(), Some("containerPort"));
        assert!(ports.strategic.merge && ports.omit_zero);
        assert_eq!(at("core.v1.Pod", "spec.containers.*.ports.*.protocol").default, Some(json!("TCP")));
        assert!(at("core.v1.Pod", "spec.volumes").strategic.retain_keys);
        assert!(matches!(
            at("apps.v1.Deployment", "spec.selector").shape,
            Shape::Object { atomic: true, .. }
        ));
        let claim = at("core.v1.PersistentVolume", "spec.claimRef");
        assert!(matches!(claim.shape, Shape::Object { atomic: false, .. }), "unlike other references");
        assert!(matches!(at("core.v1.Pod", "spec.nodeSelector").shape, Shape::Map { atomic: true, .. }));
        assert_eq!(schema("core.v1.Container").unwrap().required, ["name"]);
        assert!(
            at("apiextensions.v1.CustomResourceDefinition", "spec.versions.*.schema.openAPIV3Schema")
                .preserve_unknown
        );
        let format = |path| at("core.v1.Pod", path).constraints.as_ref().and_then(|it| it.format.clone());
        assert_eq!(format("metadata.creationTimestamp").as_deref(), Some("date-time"));
        assert_eq!(format("spec.containers.*.resources.limits.*").as_deref(), Some("quantity"));
    }

    #[test]
    fn parts_are_shared() {
        let (pod, template) =
            (at("core.v1.Pod", "spec.containers"), at("apps.v1.Deployment", "spec.template.spec.containers"));
        assert!(Arc::ptr_eq(&pod, &template));
        let (one, two) = (at("core.v1.Pod", "metadata"), at("core.v1.Secret", "metadata"));
        assert!(Arc::ptr_eq(&one, &two));
    }

    #[test]
    fn every_reference_leads_somewhere_and_every_default_is_json() {
        let sections = sections(TYPES);
        for (name, section) in &sections {
            for (field, line) in &section.fields {
                let reference = line.split(' ').next().unwrap_or("").trim_matches(['[', ']', '{', '}']);
                assert!(
                    !reference.contains('.') || sections.contains_key(reference),
                    "{name}.{field}: {reference}"
                );
                if let Some((_, default)) = line.split_once(" default=") {
                    assert!(serde_json::from_str::<Value>(default).is_ok(), "{name}.{field}: {default}");
                }
            }
        }
    }

    #[test]
    fn every_default_set_in_code_is_about_a_known_field() {
        let sections = sections(TYPES);
        for line in meaningful(DEFAULTS) {
            let ((name, field), default) = default_line(line).unwrap_or_else(|| panic!("{line}"));
            let section = sections.get(name).unwrap_or_else(|| panic!("there is no type {name}"));
            assert!(section.fields.iter().any(|(known, _)| *known == field), "{name} has no {field}");
            assert!(serde_json::from_str::<Value>(default).is_ok(), "{line}");
        }
    }

    #[test]
    fn a_cycle_ends_in_anything() {
        let all = Reader::new("a\n  b b\n\nb\n  a a\n", "").read_all();
        assert!(all.contains_key("a"));
    }
}
