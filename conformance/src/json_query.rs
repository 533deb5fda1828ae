//! Paths into JSON as scripts write them: `status.conditions[type=Ready].status`, `items[0].metadata.name`.

use serde_json::Value;

/// What a path leads to.
pub fn find<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    let mut value = value;
    for part in split(path) {
        value = match part {
            Part::Field(name) => value.get(name)?,
            Part::Index(index) => value.get(index)?,
            Part::Item(key, wanted) => value
                .as_array()?
                .iter()
                .find(|item| find(item, key).is_some_and(|found| shown(found) == wanted))?,
        };
    }
    Some(value)
}

/// A string as it is, anything else as JSON.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[derive(Debug, PartialEq)]
enum Part<'a> {
    Field(&'a str),
    Index(usize),
    Item(&'a str, &'a str),
}

fn split(path: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let (inside, after) = inner.split_once(']').unwrap_or((inner, ""));
            parts.push(match (inside.parse(), inside.split_once('=')) {
                (Ok(index), _) => Part::Index(index),
                (_, Some((key, wanted))) => Part::Item(key, wanted),
                // A key with dots stands in brackets.
                _ => Part::Field(inside),
            });
            rest = after.strip_prefix('.').unwrap_or(after);
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            parts.push(Part::Field(&rest[..end]));
            rest = rest[end..].strip_prefix('.').unwrap_or(&rest[end..]);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_lead_to_values() {
        let value = json!({
            "metadata": { "annotations": { "a.b/c": "d" } },
            "items": [{ "name": "x", "size": 1 }, { "name": "y", "size": 2, "at": { "place": "here" } }],
        });
        for (path, expected) in [
            ("metadata.annotations[a.b/c]", Some(json!("d"))),
            ("items[1].name", Some(json!("y"))),
            ("items[name=y].size", Some(json!(2))),
            ("items[size=1].name", Some(json!("x"))),
            ("items[name=z].size", None),
            ("items[at.place=here].name", Some(json!("y"))),
            ("items.name", None),
            ("", Some(value.clone())),
        ] {
            assert_eq!(find(&value, path), expected.as_ref(), "{path}");
        }
    }
}
