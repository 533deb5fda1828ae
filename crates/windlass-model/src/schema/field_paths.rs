//! Paths that CRDs use to point at fields of their own schema: `.spec.a`, `.spec['a.b']`.

use super::{Schema, Shape};
use crate::field::FieldPath;

/// Follows a path through a schema to the field that it names.
///
/// # Errors
/// Why the path is malformed or names no field.
pub(crate) fn resolve<'a>(
    path: &str,
    schema: &'a Schema,
    brackets_allowed: bool,
) -> Result<(FieldPath, &'a Schema), String> {
    let mut found = FieldPath::root();
    let mut schema = schema;
    let mut tokens = Tokens(path);
    while let Some(token) = tokens.next() {
        let name = match token {
            "." => tokens.next().ok_or("unexpected end of JSON path")?.to_owned(),
            "[" if !brackets_allowed => return Err("array notation is not allowed".to_owned()),
            "[" => bracketed(&mut tokens)?,
            other => return Err(format!("expected [ or . but got: {other}")),
        };
        (found, schema) = step(&found, schema, &name)?;
    }
    Ok((found, schema))
}

fn step<'a>(path: &FieldPath, schema: &'a Schema, name: &str) -> Result<(FieldPath, &'a Schema), String> {
    const UNKNOWN: &str = "does not refer to a valid field";
    match &schema.shape {
        Shape::Object { fields, .. } => {
            let field = fields.get(name).ok_or(UNKNOWN)?;
            Ok((path.child(name), field))
        }
        Shape::Map { values, .. } => Ok((path.key(name), values)),
        _ => Err(UNKNOWN.to_owned()),
    }
}

fn bracketed(tokens: &mut Tokens<'_>) -> Result<String, String> {
    const END: &str = "unexpected end of JSON path";
    let token = tokens.next().ok_or(END)?;
    let inner = token.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    let inner = inner.ok_or_else(|| format!("expected single quoted string but got {token}"))?;
    let name = unescape(inner)?;
    match tokens.next().ok_or(END)? {
        "]" => Ok(name),
        other => Err(format!("expected ] but got {other}")),
    }
}

fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        if char != '\\' {
            out.push(char);
            continue;
        }
        let Some(escaped) = chars.next() else {
            out.push('\\');
            break;
        };
        out.push(match escaped {
            'a' => '\x07',
            'b' => '\x08',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0b',
            '\'' | '\\' => escaped,
            other => return Err(format!("invalid string literal: invalid escape char \\{other}")),
        });
    }
    Ok(out)
}

/// Delimiters, quoted strings, and what stands between them.
struct Tokens<'a>(&'a str);

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let text = self.0;
        let first = text.chars().next()?;
        let end = match first {
            '.' | '[' | ']' => 1,
            '\'' => quoted_end(text)?,
            _ => text.find(['.', '[', ']']).unwrap_or(text.len()),
        };
        let (token, rest) = text.split_at_checked(end)?;
        self.0 = rest;
        Some(token)
    }
}

fn quoted_end(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, char) in text.char_indices().skip(1) {
        if char == '\'' && !escaped {
            return Some(at + 1);
        }
        escaped = char == '\\';
    }
    Some(text.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::build::Builder;

    #[test]
    fn paths_lead_to_fields() {
        let schema = Builder::default().build(
            &json!({"type": "object", "properties": {
                "spec": {"type": "object", "properties": {"a.b": {"type": "string"}, "n": {"type": "integer"}}},
                "map": {"type": "object", "additionalProperties": {"type": "boolean"}},
                "list": {"type": "array", "items": {"type": "string"}},
            }}),
            &FieldPath::root(),
        );
        let cases = [
            (".spec.n", Ok("spec.n")),
            (".spec['a.b']", Ok("spec.a.b")),
            (".map.x", Ok("map[x]")),
            (".map['x\\'y']", Ok("map[x'y]")),
            ("", Ok("")),
            (".spec.m", Err("does not refer to a valid field")),
            (".list[0]", Err("expected single quoted string but got 0")),
            ("spec.n", Err("expected [ or . but got: spec")),
            (".", Err("unexpected end of JSON path")),
            (".spec['n'", Err("unexpected end of JSON path")),
            (".map['\\q']", Err("invalid string literal: invalid escape char \\q")),
        ];
        for (path, wanted) in cases {
            let found = resolve(path, &schema, true).map(|(path, _)| path.as_str().to_owned());
            assert_eq!(found, wanted.map(str::to_owned).map_err(str::to_owned), "{path}");
        }
        assert_eq!(resolve(".map['x']", &schema, false).unwrap_err(), "array notation is not allowed");
    }
}
