//! JSON as people read it: what fits on a line stands on one.

use serde_json::Value;

const WIDTH: usize = 110;

/// Several lines of JSON, without a newline at the end.
pub fn render(value: &Value) -> String {
    let mut text = String::new();
    write(&mut text, value, 0, 0);
    text
}

/// Writes a value whose first line already has `used` columns.
fn write(text: &mut String, value: &Value, indent: usize, used: usize) {
    let whole = value.to_string();
    let (open, close, entries) = match value {
        Value::Object(fields) if used + whole.len() > WIDTH => {
            ('{', '}', fields.iter().map(|(key, value)| (Some(key), value)).collect::<Vec<_>>())
        }
        Value::Array(items) if used + whole.len() > WIDTH => {
            ('[', ']', items.iter().map(|value| (None, value)).collect())
        }
        _ => return text.push_str(&whole),
    };
    text.push(open);
    let count = entries.len();
    for (index, (key, value)) in entries.into_iter().enumerate() {
        let key = key.map(|key| format!("{}: ", Value::from(key.as_str()))).unwrap_or_default();
        text.push('\n');
        text.push_str(&" ".repeat(indent + 1));
        text.push_str(&key);
        write(text, value, indent + 1, indent + 1 + key.len());
        if index + 1 < count {
            text.push(',');
        }
    }
    text.push('\n');
    text.push_str(&" ".repeat(indent));
    text.push(close);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_fits_stands_on_one_line() {
        assert_eq!(render(&json!({"a": [1, 2]})), r#"{"a":[1,2]}"#);
        let long = "x".repeat(100);
        let expected = format!("{{\n \"a\": [\n  1,\n  \"{long}\"\n ],\n \"b\": {{}}\n}}");
        assert_eq!(render(&json!({"a": [1, long], "b": {}})), expected);
    }
}
