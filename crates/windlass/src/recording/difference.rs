//! The difference of two JSON values, written like YAML: only what differs, and the way to it.

use std::collections::BTreeMap;

use serde_json::Value;

const INDENT: &str = "  ";

/// What differs between two values, in lines that begin with `-` (only before), `+` (only after) or a blank (the way
/// to it). Empty if nothing does.
///
/// `null` counts as absent and has no line. List items with a `name` or a `type` are identified by it, others by their
/// index.
///
/// ```
/// use serde_json::json;
/// use windlass::recording::difference;
/// let (before, after) = (json!({"data": {"a": "1", "b": "2"}}), json!({"data": {"a": "1", "b": "3"}}));
/// assert_eq!(difference(&before, &after), "  data:\n-   b: \"2\"\n+   b: \"3\"\n");
/// ```
pub fn difference(before: &Value, after: &Value) -> String {
    let mut lines = String::new();
    match (members(before), members(after)) {
        (Some(before), Some(after)) => differ(&mut lines, 0, before, after),
        _ if before == after => {}
        _ => {
            let sides = [('-', before), ('+', after)].into_iter().filter(|(_, value)| !value.is_null());
            sides.for_each(|(sign, value)| write(&mut lines, sign, 0, "", value));
        }
    }
    lines
}

type Members<'a> = BTreeMap<String, &'a Value>;

fn differ(lines: &mut String, depth: usize, before: Members<'_>, after: Members<'_>) {
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let (old, new) = (before.get(name), after.get(name));
        if old == new {
            continue;
        }
        if let (Some(Some(old)), Some(Some(new))) = (old.map(|old| members(old)), new.map(|new| members(new)))
        {
            let start = lines.len();
            line(lines, ' ', depth, &format!("{name}:"));
            let header = lines.len();
            differ(lines, depth + 1, old, new);
            // The same members in another order.
            if lines.len() == header {
                lines.truncate(start);
                line(lines, ' ', depth, &format!("{name}: (in another order)"));
            }
            continue;
        }
        old.iter().for_each(|old| write(lines, '-', depth, name, old));
        new.iter().for_each(|new| write(lines, '+', depth, name, new));
    }
}

/// The members of a value that can be compared one by one; `None` if it has to be compared as a whole.
fn members(value: &Value) -> Option<Members<'_>> {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            Some(fields.iter().map(|(name, value)| (name.clone(), value)).collect())
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            let named = ["name", "type"].iter().find_map(|key| by_key(items, key));
            let by_index =
                || items.iter().enumerate().map(|(index, item)| (format!("[{index}]"), item)).collect();
            Some(named.unwrap_or_else(by_index))
        }
        _ => None,
    }
}

fn by_key<'a>(items: &'a [Value], key: &str) -> Option<Members<'a>> {
    let named: Option<Members<'a>> =
        items.iter().map(|item| Some((format!("[{}]", item.get(key)?.as_str()?), item))).collect();
    named.filter(|named| named.len() == items.len())
}

/// Writes a whole value.
fn write(lines: &mut String, sign: char, depth: usize, name: &str, value: &Value) {
    let colon = if name.is_empty() { String::new() } else { format!("{name}:") };
    let inner = if name.is_empty() { depth } else { depth + 1 };
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            if !name.is_empty() {
                line(lines, sign, depth, &colon);
            }
            fields.iter().for_each(|(name, value)| write(lines, sign, inner, name, value));
        }
        Value::Array(items) if !items.is_empty() => {
            if !name.is_empty() {
                line(lines, sign, depth, &colon);
            }
            for (index, item) in items.iter().enumerate() {
                write(lines, sign, inner, &format!("[{index}]"), item);
            }
        }
        _ => line(lines, sign, depth, format!("{colon} {value}").trim_start()),
    }
}

fn line(lines: &mut String, sign: char, depth: usize, text: &str) {
    lines.push(sign);
    lines.push(' ');
    lines.push_str(&INDENT.repeat(depth));
    lines.push_str(text);
    lines.push('\n');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_differs_is_shown() {
        let before = json!({
            "kind": "Pair",
            "spec": {"value": "a", "ports": [1, 2]},
            "status": {"conditions": [{"type": "Ready", "status": "False"}, {"type": "Old", "status": "True"}]},
        });
        let after = json!({
            "kind": "Pair",
            "spec": {"value": "b", "ports": [1, 3]},
            "status": {"conditions": [{"type": "New", "status": "True"}, {"type": "Ready", "status": "True"}]},
        });
        let expected = "  spec:
-   ports:
-     [0]: 1
-     [1]: 2
+   ports:
+     [0]: 1
+     [1]: 3
-   value: \"a\"
+   value: \"b\"
  status:
    conditions:
+     [New]:
+       status: \"True\"
+       type: \"New\"
-     [Old]:
-       status: \"True\"
-       type: \"Old\"
      [Ready]:
-       status: \"False\"
+       status: \"True\"
";
        assert_eq!(difference(&before, &after), expected);
        assert_eq!(difference(&before, &before), "");
    }

    #[test]
    fn whole_values_and_orders_are_shown_too() {
        assert_eq!(difference(&json!(null), &json!({"a": {}})), "+ a: {}\n");
        let one = json!({"l": [{"name": "a"}, {"name": "b"}]});
        let other = json!({"l": [{"name": "b"}, {"name": "a"}]});
        assert_eq!(difference(&one, &other), "  l: (in another order)\n");
    }
}
