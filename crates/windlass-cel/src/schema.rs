//! Shapes of values: what a [`Program`] is checked against, and what a [`Value`](crate::Value) is read by.
//!
//! One representation serves built-in types and CRDs. What is done with shapes beyond expressions (pruning, defaults,
//! validation) is for `windlass-model`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::program::Program;

/// The shape of one value. Built-in schemas share their parts; a schema is never cyclic.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schema {
    /// The JSON type.
    pub shape: Shape,
    /// The shape applies to values of its JSON type; other values pass. For CRDs that leave out `type`.
    pub type_unchecked: bool,
    /// The Go type of a built-in (`v1.PodSpec`, `types.UID`), which decoding errors name.
    pub type_name: Option<Box<str>>,
    /// Whether `null` is a value of its own. Elsewhere null means absent. In a built-in type: whether a value with a
    /// default can be absent in the Go struct.
    pub nullable: bool,
    /// What an absent value becomes.
    pub default: Option<Value>,
    /// An empty value (`0`, `""`, `false`, `[]`, `{}`) is dropped: the Go type of a built-in field cannot
    /// distinguish it from an absent one.
    pub omit_zero: bool,
    /// Fields that must be there.
    pub required: Vec<String>,
    /// Unknown fields are kept (`x-kubernetes-preserve-unknown-fields`).
    pub preserve_unknown: bool,
    /// The value is an object of its own, with apiVersion, kind and metadata.
    pub embedded_resource: bool,
    /// How strategic merge patches lists of built-in types.
    pub strategic: Strategic,
    /// Bounds, patterns, formats, enums, combinators.
    pub constraints: Option<Box<Constraints>>,
    /// `x-kubernetes-validations`.
    pub rules: Vec<Rule>,
}

impl Schema {
    /// Whether this is an object of any type that is kept as it came.
    pub fn is_raw(&self) -> bool {
        self.constraints.as_ref().and_then(|it| it.format.as_deref()) == Some("raw-extension")
    }

    /// The schema of a known field.
    pub fn field(&self, name: &str) -> Option<&Schema> {
        match &self.shape {
            Shape::Object { fields, .. } => fields.get(name).map(Arc::as_ref),
            _ => None,
        }
    }

    /// The schema of all values of a map.
    pub fn values(&self) -> Option<&Schema> {
        match &self.shape {
            Shape::Map { values, .. } => Some(values),
            _ => None,
        }
    }

    /// The schema of all items of a list.
    pub fn items(&self) -> Option<&Schema> {
        match &self.shape {
            Shape::List { items, .. } => Some(items),
            _ => None,
        }
    }

    /// The schema of what stands under a key, be it a field or a value of a map.
    pub fn child(&self, key: &str) -> Option<&Schema> {
        self.field(key).or_else(|| self.values())
    }

    /// Whether nothing at all is known: what a CRD says with `additionalProperties: true`.
    pub fn is_unspecified(&self) -> bool {
        matches!(self.shape, Shape::Any) && !self.preserve_unknown
    }

    /// The `type` of OpenAPI; empty where a value may have several.
    pub fn type_keyword(&self) -> &'static str {
        match self.shape {
            _ if self.type_unchecked => "",
            Shape::Any | Shape::IntOrString => "",
            Shape::Boolean => "boolean",
            Shape::Integer => "integer",
            Shape::Number => "number",
            Shape::String => "string",
            Shape::Object { .. } | Shape::Map { .. } => "object",
            Shape::List { .. } => "array",
        }
    }
}

/// The JSON type of a value, with what is below it.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Shape {
    /// Anything at all; for server-side apply its structure is deduced from the value.
    #[default]
    Any,
    /// `boolean`
    Boolean,
    /// `integer`
    Integer,
    /// `number`
    Number,
    /// `string`
    String,
    /// `x-kubernetes-int-or-string`
    IntOrString,
    /// An object with known fields.
    Object {
        /// The known fields.
        fields: BTreeMap<Box<str>, Arc<Schema>>,
        /// Owned and merged as one value (`x-kubernetes-map-type: atomic`).
        atomic: bool,
    },
    /// An object with any keys and values of one schema.
    Map {
        /// What each value is.
        values: Arc<Schema>,
        /// Owned and merged as one value.
        atomic: bool,
    },
    /// A list.
    List {
        /// What each item is.
        items: Arc<Schema>,
        /// How items are identified.
        kind: ListKind,
    },
}

/// How server-side apply identifies the items of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ListKind {
    /// They are not: the list is one value.
    #[default]
    Atomic,
    /// By value.
    Set,
    /// By the values of these fields.
    Map(Vec<Box<str>>),
}

/// How strategic merge patches a list or object of a built-in type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strategic {
    /// Items are merged (`patchStrategy: merge`), by `key` if there is one, else as a set.
    pub merge: bool,
    /// Unlisted keys of the live object are cleared (`patchStrategy: retainKeys`).
    pub retain_keys: bool,
    /// `patchMergeKey`.
    pub key: Option<Box<str>>,
}

/// The value validations of OpenAPI v3 that Kubernetes allows in a CRD.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "each field is the OpenAPI keyword")]
pub struct Constraints {
    pub format: Option<String>,
    pub title: Option<String>,
    pub maximum: Option<f64>,
    pub exclusive_maximum: bool,
    pub minimum: Option<f64>,
    pub exclusive_minimum: bool,
    pub multiple_of: Option<f64>,
    pub max_length: Option<u64>,
    pub min_length: Option<u64>,
    pub pattern: Option<Pattern>,
    pub max_items: Option<u64>,
    pub min_items: Option<u64>,
    pub unique_items: bool,
    pub max_properties: Option<u64>,
    pub min_properties: Option<u64>,
    /// `additionalProperties: false`
    pub closed: bool,
    pub allowed: Vec<Value>,
    pub all_of: Vec<Schema>,
    pub any_of: Vec<Schema>,
    pub one_of: Vec<Schema>,
    pub not: Option<Box<Schema>>,
}

/// A regular expression, compiled once.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// As it was written, in the dialect of Go.
    pub source: Box<str>,
    /// What it was compiled to.
    pub regex: regex::Regex,
}

impl Pattern {
    /// Whether the pattern is found in a text.
    pub fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

/// One entry of `x-kubernetes-validations`.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The CEL source.
    pub source: String,
    /// What a violation says; made from the source if absent.
    pub message: Option<String>,
    /// CEL source of a message that is computed.
    pub message_expression: Option<String>,
    /// `FieldValueInvalid` (default), `FieldValueForbidden`, `FieldValueRequired`, `FieldValueDuplicate`.
    pub reason: Option<String>,
    /// Where the violation is reported, relative to the rule's own path: `spec.a[key]`.
    pub field_path: Option<String>,
    /// A transition rule with `optionalOldSelf: true` also runs on create.
    pub optional_old_self: bool,
    /// The parsed rule; shared, since schemas are cloned.
    pub program: Arc<Program>,
    /// The parsed message expression.
    pub message_program: Option<Arc<Program>>,
}
