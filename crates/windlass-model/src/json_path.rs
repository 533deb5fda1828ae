//! JSON paths as printer columns, scale and selectable fields write them: `.a.b[0].c`,
//! `.conditions[?(@.type=="Ready")].status`.
//!
//! As in Kubernetes, a dot in a key must be escaped even between brackets: `.labels['a\.b/c']`.

use std::cmp::Ordering;

use serde_json::Value;

/// How deep filters may nest.
const MAX_DEPTH: usize = 8;

/// A parsed path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JsonPath {
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    /// All values of an object or items of a list.
    All,
    /// All items of a list, which must be one.
    Items,
    Index(i64),
    Filter(Operand, Comparison, Operand),
    /// Items in which the operand finds something.
    Exists(Operand),
}

#[derive(Clone, Debug, PartialEq)]
enum Operand {
    Path(JsonPath),
    Literal(Value),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Parses a path.
///
/// # Errors
/// Why it is invalid, or that it uses something which columns do not need (`..`, unions, slices).
pub(crate) fn parse(text: &str) -> Result<JsonPath, String> {
    parse_nested(text, 0)
}

fn parse_nested(text: &str, depth: usize) -> Result<JsonPath, String> {
    if depth > MAX_DEPTH {
        return Err("filters nest too deep".to_owned());
    }
    let mut steps = Vec::new();
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        rest = match char {
            ' ' | '@' | '$' => rest.get(1..).unwrap_or(""),
            '.' if rest.starts_with("..") => return Err("recursive descent is not supported".to_owned()),
            '.' => parse_field(rest.get(1..).unwrap_or(""), &mut steps),
            '[' if rest.starts_with("[?(") => parse_filter(rest.get(3..).unwrap_or(""), depth, &mut steps)?,
            '[' => parse_brackets(rest.get(1..).unwrap_or(""), &mut steps)?,
            other => return Err(format!("unrecognized character in action: {other:?}")),
        };
    }
    Ok(JsonPath { steps })
}

/// A name up to the next delimiter; a backslash takes the next character as it is.
fn parse_field<'a>(text: &'a str, steps: &mut Vec<Step>) -> &'a str {
    let mut name = String::new();
    let mut chars = text.chars();
    let mut rest = text;
    while let Some(char) = chars.next() {
        match char {
            ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}' => break,
            '\\' => name.extend(chars.next()),
            other => name.push(other),
        }
        rest = chars.as_str();
    }
    steps.push(if name == "*" { Step::All } else { Step::Field(name) });
    rest
}

fn parse_brackets<'a>(text: &'a str, steps: &mut Vec<Step>) -> Result<&'a str, String> {
    let (inside, rest) = text.split_once(']').ok_or("unterminated array")?;
    let key = inside.strip_prefix('\'').and_then(|inside| inside.strip_suffix('\''));
    if let Some(key) = key.filter(|key| !key.contains('\'')) {
        let mut left = parse_field(key, steps);
        while let Some(name) = left.strip_prefix('.') {
            left = parse_field(name, steps);
        }
        return if left.is_empty() { Ok(rest) } else { Err(format!("invalid array index {inside}")) };
    }
    steps.push(match inside {
        "*" => Step::Items,
        number => Step::Index(number.parse().map_err(|_| format!("invalid array index {number}"))?),
    });
    Ok(rest)
}

fn parse_filter<'a>(text: &'a str, depth: usize, steps: &mut Vec<Step>) -> Result<&'a str, String> {
    let end = filter_end(text).ok_or("unterminated filter")?;
    let (inside, rest) = text.split_at_checked(end).ok_or("unterminated filter")?;
    let rest = rest.strip_prefix(")]").ok_or("unclosed array expect ]")?;
    let is_operator = |char: char| "!<>=".contains(char);
    let Some((at, after)) = inside.find(is_operator).and_then(|at| Some((at, inside.get(at..)?))) else {
        steps.push(Step::Exists(parse_operand(inside, depth)?));
        return Ok(rest);
    };
    let right = after.trim_start_matches(is_operator);
    let operator = after.strip_suffix(right).unwrap_or("");
    let comparison = match operator {
        "==" => Comparison::Equal,
        "!=" => Comparison::NotEqual,
        "<" => Comparison::Less,
        "<=" => Comparison::LessOrEqual,
        ">" => Comparison::Greater,
        ">=" => Comparison::GreaterOrEqual,
        other => return Err(format!("unrecognized filter operator {other}")),
    };
    let left = parse_operand(inside.get(..at).unwrap_or(""), depth)?;
    steps.push(Step::Filter(left, comparison, parse_operand(right, depth)?));
    Ok(rest)
}

/// Where the closing parenthesis is, looking past quotes.
fn filter_end(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    for (at, char) in text.char_indices() {
        match (char, quote) {
            ('"' | '\'', None) => quote = Some(char),
            (char, Some(open)) if char == open && !escaped => quote = None,
            (')', None) => return Some(at),
            _ => {}
        }
        escaped = char == '\\';
    }
    None
}

fn parse_operand(text: &str, depth: usize) -> Result<Operand, String> {
    let text = text.trim();
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return Ok(Operand::Literal(inner.replace(&format!("\\{quote}"), &quote.to_string()).into()));
        }
    }
    match serde_json::from_str(text) {
        Ok(literal @ (Value::Bool(_) | Value::Number(_))) => Ok(Operand::Literal(literal)),
        _ => Ok(Operand::Path(parse_nested(text, depth + 1)?)),
    }
}

/// What a path finds in a value. Keys that are missing find nothing.
///
/// # Errors
/// If an index is out of bounds, if a list is expected and not there, or if values cannot be compared.
pub(crate) fn evaluate<'a>(path: &'a JsonPath, value: &'a Value) -> Result<Vec<&'a Value>, String> {
    let mut found = vec![value];
    for step in &path.steps {
        let mut next = Vec::new();
        for value in found {
            take(step, value, &mut next)?;
        }
        found = next;
    }
    Ok(found)
}

fn take<'a>(step: &'a Step, value: &'a Value, next: &mut Vec<&'a Value>) -> Result<(), String> {
    if value.is_null() {
        return Ok(());
    }
    match step {
        Step::Field(name) => next.extend(value.get(name.as_str())),
        Step::All => match value {
            Value::Array(items) => next.extend(items),
            Value::Object(map) => next.extend(map.values()),
            _ => {}
        },
        Step::Items => next.extend(items_of(value)?),
        Step::Index(index) => {
            let items = items_of(value)?;
            let wanted = if *index < 0 { index + items.len() as i64 } else { *index };
            let item = usize::try_from(wanted).ok().and_then(|index| items.get(index));
            next.push(item.ok_or_else(|| {
                format!("array index out of bounds: index {wanted}, length {}", items.len())
            })?);
        }
        Step::Exists(operand) => {
            next.extend(
                items_of(value)?
                    .iter()
                    .filter(|item| find(operand, item).is_ok_and(|found| !found.is_empty())),
            );
        }
        Step::Filter(left, comparison, right) => {
            for item in items_of(value)? {
                if let ([left], [right]) = (&find(left, item)?[..], &find(right, item)?[..])
                    && compare(left, *comparison, right)?
                {
                    next.push(item);
                }
            }
        }
    }
    Ok(())
}

fn items_of(value: &Value) -> Result<&Vec<Value>, String> {
    value.as_array().ok_or_else(|| "not an array or slice".to_owned())
}

fn find<'a>(operand: &'a Operand, item: &'a Value) -> Result<Vec<&'a Value>, String> {
    match operand {
        Operand::Literal(literal) => Ok(vec![literal]),
        Operand::Path(path) => evaluate(path, item),
    }
}

fn compare(left: &Value, comparison: Comparison, right: &Value) -> Result<bool, String> {
    let order = match (left, right) {
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Number(left), Value::Number(right)) if left.is_i64() == right.is_i64() => {
            let floats = || left.as_f64().partial_cmp(&right.as_f64()).unwrap_or(Ordering::Equal);
            left.as_i64().zip(right.as_i64()).map_or_else(floats, |(left, right)| left.cmp(&right))
        }
        _ => return Err("incompatible types for comparison".to_owned()),
    };
    Ok(match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_find_what_they_name() {
        let value = json!({
            "spec": {"a": 1, "list": [{"n": "x", "v": 1}, {"n": "y", "v": 2}], "map": {"p": 1, "q": 2}},
            "labels": {"app.io/name": "web"}, "nothing": null, "text": "t",
            "conditions": [{"type": "Ready", "status": "True"}, {"type": "Other)", "status": "False"}],
        });
        let cases = [
            (".spec.a", Ok(vec![json!(1)])),
            ("$.spec.a", Ok(vec![json!(1)])),
            (".spec['a']", Ok(vec![json!(1)])),
            (".spec.list[0].n", Ok(vec![json!("x")])),
            (".spec.list[-1].n", Ok(vec![json!("y")])),
            (".spec.list[*].v", Ok(vec![json!(1), json!(2)])),
            (".spec.map.*", Ok(vec![json!(1), json!(2)])),
            (".labels.app\\.io/name", Ok(vec![json!("web")])),
            (".labels['app\\.io/name']", Ok(vec![json!("web")])),
            (".labels['app.io/name']", Ok(vec![])),
            (".conditions[?(@.type==\"Ready\")].status", Ok(vec![json!("True")])),
            (".conditions[?(@.type == 'Other)')].status", Ok(vec![json!("False")])),
            (".spec.list[?(@.v>1)].n", Ok(vec![json!("y")])),
            (".spec.list[?(@.v<=1)].n", Ok(vec![json!("x")])),
            (".spec.list[?(@.n!='x')].v", Ok(vec![json!(2)])),
            (".spec.list[?(@.missing)].v", Ok(vec![])),
            (".spec.list[?(@.n)].v", Ok(vec![json!(1), json!(2)])),
            (".missing.deep", Ok(vec![])),
            (".nothing.deep", Ok(vec![])),
            (".text.deep", Ok(vec![])),
            (".spec.list[7]", Err("array index out of bounds: index 7, length 2")),
            (".spec.a[0]", Err("not an array or slice")),
            (".spec.list[?(@.n>1)]", Err("incompatible types for comparison")),
        ];
        for (path, wanted) in cases {
            let path = parse(path).unwrap_or_else(|why| panic!("{path}: {why}"));
            let found = evaluate(&path, &value).map(|found| found.into_iter().cloned().collect::<Vec<_>>());
            assert_eq!(found, wanted.map_err(str::to_owned), "{path:?}");
        }
    }

    #[test]
    fn malformed_paths_are_refused() {
        let cases =
            ["a", ".a[", ".a[x]", ".a[?(@.b", ".a[?(@.b==1)", "..a", ".a[?(@.b=~1)]", ".a}", ".a[1:2]", "é"];
        for path in cases {
            assert!(parse(path).is_err(), "{path}");
        }
        let nested = format!(".a{}", "'[?(.b".repeat(50)) + &"')]".repeat(50);
        assert!(parse(&nested).is_err());
    }
}
