//! The messages of the built-in types, read once from the data file beside this one.

use std::collections::BTreeMap;
use std::sync::OnceLock;

const MESSAGES: &str = include_str!("builtin.protobuf");
const JSON_SCHEMA: &str = "apiextensions.v1.JSONSchemaProps";

/// All messages.
pub(super) struct Shapes {
    messages: Vec<Message>,
    /// By `apiVersion` and `kind`.
    by_kind: BTreeMap<(&'static str, &'static str), usize>,
}

/// One message.
pub(super) struct Message {
    /// `v1.Pod`
    pub(super) name: &'static str,
    /// By number.
    pub(super) fields: Vec<Field>,
}

/// One field of a message.
pub(super) struct Field {
    /// The name in JSON.
    pub(super) name: &'static str,
    pub(super) number: u32,
    pub(super) count: Count,
    pub(super) kind: Kind,
    /// Its fields stand in the JSON of the message around it.
    pub(super) inline: bool,
    /// Nothing is not zero, and is not sent.
    pub(super) pointer: bool,
    /// JSON leaves out what is zero.
    pub(super) omit: bool,
}

/// How many values a field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    One,
    List,
    /// Values by string.
    Map,
}

/// What one value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Boolean,
    Int32,
    Int64,
    Number,
    String,
    Bytes,
    Time,
    MicroTime,
    Quantity,
    IntOrString,
    /// JSON as bytes.
    Json,
    /// A list of strings in a message of its own.
    Strings,
    /// The three unions of JSON schema, each with the message of a schema.
    SchemaOrArray(usize),
    SchemaOrBool(usize),
    SchemaOrStrings(usize),
    Message(usize),
}

impl Shapes {
    /// The messages of all built-in types.
    pub(super) fn built_in() -> &'static Shapes {
        static SHAPES: OnceLock<Shapes> = OnceLock::new();
        SHAPES.get_or_init(|| Shapes::read(MESSAGES))
    }

    pub(super) fn message(&self, index: usize) -> &Message {
        &self.messages[index]
    }

    /// The message of a kind.
    pub(super) fn of_kind(&self, api_version: &str, kind: &str) -> Option<&Message> {
        // The kinds that belong to no group are also those of `v1`, and every group has options to delete.
        let is_shared = api_version == "v1" || kind == "DeleteOptions";
        let shared = || self.by_kind.get(&("meta.k8s.io/v1", kind)).filter(|_| is_shared);
        self.by_kind.get(&(api_version, kind)).or_else(shared).map(|index| self.message(*index))
    }

    fn read(data: &'static str) -> Shapes {
        let lines = || data.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let headers = || lines().filter(|line| !line.starts_with("  "));
        let by_name: BTreeMap<&str, usize> =
            headers().enumerate().map(|(index, line)| (first_word(line), index)).collect();
        let by_kind = headers().enumerate().filter_map(|(index, line)| {
            let (name, api_version) = line.split_once(' ')?;
            Some(((api_version, name.rsplit('.').next()?), index))
        });
        let mut messages: Vec<Message> = Vec::new();
        for line in lines() {
            match (line.strip_prefix("  "), messages.last_mut()) {
                (Some(field), Some(message)) => message.fields.extend(read_field(field, &by_name)),
                _ => messages.push(Message { name: go_name(first_word(line)), fields: Vec::new() }),
            }
        }
        Shapes { by_kind: by_kind.collect(), messages }
    }
}

impl Message {
    pub(super) fn field(&self, number: u32) -> Option<&Field> {
        let index = self.fields.binary_search_by_key(&number, |field| field.number).ok()?;
        self.fields.get(index)
    }
}

fn first_word(line: &'static str) -> &'static str {
    line.split(' ').next().unwrap_or(line)
}

/// `apps.v1.Deployment` is `v1.Deployment` in Go.
fn go_name(name: &'static str) -> &'static str {
    name.split_once('.').map_or(name, |(_, go_name)| go_name)
}

/// `name number type flags...`; `None` for a line that is not so, which a test excludes.
fn read_field(line: &'static str, by_name: &BTreeMap<&'static str, usize>) -> Option<Field> {
    let mut words = line.split(' ');
    let (name, number, type_ref) = (words.next()?, words.next()?.parse().ok()?, words.next()?);
    let within = |open: char, close: char| type_ref.strip_prefix(open)?.strip_suffix(close);
    let (count, type_ref) = match (within('[', ']'), within('{', '}')) {
        (Some(item), _) => (Count::List, item),
        (_, Some(value)) => (Count::Map, value),
        _ => (Count::One, type_ref),
    };
    let kind = kind(type_ref, by_name)?;
    let flags: Vec<&str> = words.collect();
    let flag = |flag| flags.contains(&flag);
    Some(Field {
        name,
        number,
        count,
        kind,
        inline: flag("inline"),
        pointer: flag("pointer"),
        omit: flag("omit"),
    })
}

fn kind(type_ref: &str, by_name: &BTreeMap<&'static str, usize>) -> Option<Kind> {
    let message = |name: &str| by_name.get(name).copied();
    Some(match type_ref {
        "boolean" => Kind::Boolean,
        "int32" => Kind::Int32,
        "int64" => Kind::Int64,
        "number" => Kind::Number,
        "string" => Kind::String,
        "bytes" => Kind::Bytes,
        "time" => Kind::Time,
        "micro-time" => Kind::MicroTime,
        "quantity" => Kind::Quantity,
        "int-or-string" => Kind::IntOrString,
        "json" | "fields" | "raw-extension" => Kind::Json,
        "strings" => Kind::Strings,
        "schema-or-array" => Kind::SchemaOrArray(message(JSON_SCHEMA)?),
        "schema-or-bool" => Kind::SchemaOrBool(message(JSON_SCHEMA)?),
        "schema-or-strings" => Kind::SchemaOrStrings(message(JSON_SCHEMA)?),
        name => Kind::Message(message(name)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Types;

    #[test]
    fn every_line_of_the_data_file_is_understood() {
        let shapes = Shapes::built_in();
        let fields = MESSAGES.lines().filter(|line| line.starts_with("  ")).count();
        assert_eq!(shapes.messages.iter().map(|message| message.fields.len()).sum::<usize>(), fields);
        for message in &shapes.messages {
            assert!(message.fields.is_sorted_by_key(|field| field.number), "{}", message.name);
            let inline_messages = message.fields.iter().filter(|field| field.inline);
            for field in inline_messages {
                assert!(matches!(
                    (field.count, field.kind, field.pointer),
                    (Count::One, Kind::Message(_), false)
                ));
            }
        }
    }

    #[test]
    fn all_types_that_are_served_have_messages() {
        for info in Types::built_in().iter() {
            let api_version = crate::object::api_version(&info.resource.group, &info.resource.version);
            // Nothing lists what is not kept.
            let is_listed = info.is_stored();
            for kind in [&info.kind].into_iter().chain(is_listed.then_some(&info.list_kind)) {
                assert!(Shapes::built_in().of_kind(&api_version, kind).is_some(), "{api_version} {kind}");
            }
        }
        for (api_version, kind) in [
            ("autoscaling/v1", "Scale"),
            ("policy/v1", "Eviction"),
            ("v1", "Binding"),
            ("authentication.k8s.io/v1", "TokenRequest"),
            ("authorization.k8s.io/v1", "SubjectAccessReview"),
            ("v1", "Status"),
            ("apps/v1", "DeleteOptions"),
            ("meta.k8s.io/v1", "PartialObjectMetadataList"),
        ] {
            assert!(Shapes::built_in().of_kind(api_version, kind).is_some(), "{api_version} {kind}");
        }
        for (api_version, kind) in
            [("example.com/v1", "Pair"), ("example.com/v1", "Status"), ("v1", "Condition")]
        {
            assert!(Shapes::built_in().of_kind(api_version, kind).is_none(), "{api_version} {kind}");
        }
    }
}
