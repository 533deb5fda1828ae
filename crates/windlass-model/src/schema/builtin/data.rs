//! The data file of the built-in types, line by line.

use std::collections::BTreeMap;

/// Shapes, made from the sources of Kubernetes.
pub const TYPES: &str = include_str!("builtin.types");

/// The lines of one type.
pub struct Section<'a> {
    /// Whether server-side apply takes it as one value.
    pub atomic: bool,
    /// Whether its values may be of any JSON type.
    pub any: bool,
    /// The name of each field, and what stands after it.
    pub fields: Vec<(&'a str, &'a str)>,
}

/// The types of a data file by name.
pub fn sections(types: &str) -> BTreeMap<&str, Section<'_>> {
    let mut sections = BTreeMap::new();
    let mut current: Option<(&str, Section<'_>)> = None;
    for line in meaningful(types) {
        if let Some(field) = line.strip_prefix("  ") {
            if let (Some((_, section)), Some(field)) = (&mut current, field.split_once(' ')) {
                section.fields.push(field);
            }
            continue;
        }
        let (name, flags) = line.split_once(' ').unwrap_or((line, ""));
        if let Some((name, section)) = current.replace((name, new_section(flags))) {
            sections.insert(name, section);
        }
    }
    sections.extend(current);
    sections
}

fn new_section(flags: &str) -> Section<'_> {
    Section { atomic: flags == "atomic", any: flags == "any", fields: Vec::new() }
}

/// The lines that are neither empty nor comments.
pub(super) fn meaningful(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}
