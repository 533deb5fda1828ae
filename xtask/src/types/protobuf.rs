//! What the model knows about protobuf: the messages of the built-in types, from `generated.proto` beside the Go sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::go::{GoTypes, file_name, folders, roots_beside};
use super::{ROOTS, SCALARS, short_name};

/// Types that clients send or ask for, and that are no resources.
const OTHER_ROOTS: &[&str] = &["meta.v1.PartialObjectMetadata", "meta.v1.PartialObjectMetadataList"];

/// Messages whose JSON is not an object with their fields, besides those that OpenAPI marks.
const UNIONS: &[(&str, &str)] = &[
    ("apiextensions.v1.JSONSchemaPropsOrArray", "schema-or-array"),
    ("apiextensions.v1.JSONSchemaPropsOrBool", "schema-or-bool"),
    ("apiextensions.v1.JSONSchemaPropsOrStringArray", "schema-or-strings"),
];

const HEADER: &str = "\
# The protobuf messages of Kubernetes' built-in types, as facts. Made by `cargo xtask types SWAGGER`; not edited by hand.
# A line at the margin names a type and, if it is a kind, its apiVersion; each indented line is a field: name in JSON,
# number, type, then what else is known:
#   [T] list, {T} map with string keys; strings: a list of strings that is a message of its own;
#   inline: its fields stand in the JSON of the message around it; pointer: nothing is not zero, and is not sent;
#   omit: JSON leaves out what is zero.
";

/// A message: each field as its proto name, its number and its type.
type Message = Vec<(String, u32, String)>;

/// Reads the messages beside the OpenAPI file, and writes the data file.
pub(super) fn generate(swagger: &Path, go: &GoTypes, out: &Path) -> Result<()> {
    let messages = read_all(swagger)?;
    let data = render(&messages, go)?;
    fs::write(out, data).with_context(|| format!("writing {}", out.display()))
}

fn read_all(swagger: &Path) -> Result<BTreeMap<String, Message>> {
    let mut messages = BTreeMap::new();
    for root in roots_beside(swagger)? {
        for folder in folders(&root)?.iter().map(|group| folders(group)).collect::<Result<Vec<_>>>()?.concat()
        {
            let file = folder.join("generated.proto");
            if file.is_file() && file_name(&folder).starts_with('v') {
                let source =
                    fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
                read(&source, &mut messages).with_context(|| format!("reading {}", file.display()))?;
            }
        }
    }
    Ok(messages)
}

/// Takes the messages from one file. Kubernetes' generator puts each field on one line.
fn read(source: &str, messages: &mut BTreeMap<String, Message>) -> Result<()> {
    let (mut package, mut current) = ("", None);
    for line in source.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")) {
        if let Some(name) = line.strip_prefix("package ") {
            package = name.trim_end_matches(';');
        } else if let Some(name) = line.strip_prefix("message ") {
            let name = qualified(package, name.trim_end_matches([' ', '{', '}']));
            messages.insert(name.clone(), Message::new());
            current = (!line.ends_with('}')).then_some(name);
        } else if line == "}" {
            current = None;
        } else if let Some(message) = current.as_ref().and_then(|name| messages.get_mut(name)) {
            message.push(field(package, line).with_context(|| format!("`{line}` is no field"))?);
        }
    }
    Ok(())
}

/// `optional string name = 1;`, `repeated Port ports = 2;`, `map<string, bytes> data = 3;`
fn field(package: &str, line: &str) -> Option<(String, u32, String)> {
    let (left, number) = line.trim_end_matches(';').split_once(" = ")?;
    let (left, name) = left.rsplit_once(' ')?;
    let type_ref = match left.split_once(' ')? {
        ("optional", scalar) => type_ref(package, scalar),
        ("repeated", item) => format!("[{}]", type_ref(package, item)),
        ("map<string,", value) => format!("{{{}}}", type_ref(package, value.strip_suffix('>')?)),
        _ => return None,
    };
    Some((name.to_owned(), number.parse().ok()?, type_ref))
}

fn type_ref(package: &str, name: &str) -> String {
    match name {
        "bool" => "boolean".to_owned(),
        "double" => "number".to_owned(),
        "string" | "bytes" | "int32" | "int64" => name.to_owned(),
        _ => qualified(package, name),
    }
}

/// The short name of a message, which may be written relative to its package.
fn qualified(package: &str, name: &str) -> String {
    let full = match name.strip_prefix('.') {
        Some(absolute) => absolute.to_owned(),
        None => format!("{package}.{name}"),
    };
    // OpenAPI has the parts of the domain the other way around.
    short_name(&full.replacen("k8s.io.", "io.k8s.", 1).replace('_', "-"))
}

/// The data file: every root, its list, and all that they refer to, by name.
fn render(messages: &BTreeMap<String, Message>, go: &GoTypes) -> Result<String> {
    let roots = ROOTS.iter().chain(OTHER_ROOTS).flat_map(|root| [(*root).to_owned(), format!("{root}List")]);
    let mut waiting: BTreeSet<String> = roots.filter(|root| messages.contains_key(root)).collect();
    let mut sections = BTreeMap::new();
    while let Some(name) = waiting.pop_first() {
        let message = messages.get(&name).with_context(|| format!("there is no message {name}"))?;
        let section = render_message(&name, message, messages, go, &mut waiting)?;
        sections.insert(name, section);
        waiting.retain(|other| !sections.contains_key(other));
    }
    Ok(sections.into_values().fold(HEADER.to_owned(), |data, section| data + "\n" + &section))
}

fn render_message(
    name: &str,
    message: &Message,
    messages: &BTreeMap<String, Message>,
    go: &GoTypes,
    found: &mut BTreeSet<String>,
) -> Result<String> {
    let api_version = go.api_version(name).map(|version| format!(" {version}")).unwrap_or_default();
    let mut section = format!("{name}{api_version}\n");
    let mut fields: Vec<_> = message.iter().collect();
    fields.sort_by_key(|(_, number, _)| *number);
    for (proto_name, number, type_ref) in fields {
        let field = go
            .field_by_number(name, *number)
            .with_context(|| format!("{name} has no field {number} in Go ({proto_name})"))?;
        let (written, is_struct) = written_type(type_ref, messages, go, found)?;
        let json_name = if field.is_inline() { proto_name } else { field.json_name() };
        write!(section, "  {json_name} {number} {written}")?;
        for (flag, is_set) in [
            ("inline", field.is_inline()),
            ("pointer", field.is_pointer()),
            ("omit", !field.is_inline() && field.is_omitted(is_struct)),
        ] {
            section.push_str(&if is_set { format!(" {flag}") } else { String::new() });
        }
        section.push('\n');
    }
    Ok(section)
}

/// How the data file writes a type, and whether it is a struct in Go. Messages that it meets are added to `found`.
fn written_type(
    type_ref: &str,
    messages: &BTreeMap<String, Message>,
    go: &GoTypes,
    found: &mut BTreeSet<String>,
) -> Result<(String, bool)> {
    for (open, close) in [('[', ']'), ('{', '}')] {
        if let Some(inner) = type_ref.strip_prefix(open).and_then(|rest| rest.strip_suffix(close)) {
            let (inner, _) = written_type(inner, messages, go, found)?;
            return Ok((format!("{open}{inner}{close}"), false));
        }
    }
    if !type_ref.contains('.') {
        return Ok((type_ref.to_owned(), false));
    }
    if let Some((_, written)) = SCALARS.iter().chain(UNIONS).find(|(name, _)| *name == type_ref) {
        if written.starts_with("schema") {
            found.insert("apiextensions.v1.JSONSchemaProps".to_owned());
        }
        return Ok(((*written).to_owned(), true));
    }
    if go.has_struct(type_ref) {
        found.insert(type_ref.to_owned());
        return Ok((type_ref.to_owned(), true));
    }
    match messages.get(type_ref).map(Vec::as_slice) {
        Some([(_, 1, items)]) if items == "[string]" => Ok(("strings".to_owned(), false)),
        _ => bail!("{type_ref} is neither a struct nor a list of strings"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r#"
package k8s.io.api.core.v1;

// A message in a comment.
message Port {
  // optional int32 old = 9;
  optional int32 number = 3;

  map<string, .k8s.io.apimachinery.pkg.api.resource.Quantity> limits = 1;

  repeated Handler handlers = 2;
}

message Empty {
}
"#;

    #[test]
    fn messages_are_read() {
        let mut messages = BTreeMap::new();
        read(SOURCE, &mut messages).unwrap();
        let field = |name: &str, number, type_ref: &str| (name.to_owned(), number, type_ref.to_owned());
        let port = vec![
            field("number", 3, "int32"),
            field("limits", 1, "{resource.Quantity}"),
            field("handlers", 2, "[core.v1.Handler]"),
        ];
        let expected =
            BTreeMap::from([("core.v1.Port".to_owned(), port), ("core.v1.Empty".to_owned(), Vec::new())]);
        assert_eq!(messages, expected);
        assert!(read("message A {\n  oneof x {\n", &mut messages).is_err());
    }
}
