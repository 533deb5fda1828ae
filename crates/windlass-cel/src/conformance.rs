//! Answers of a real Kubernetes 1.35, expression by expression.
//!
//! A line of `cases.txt` has four columns: the expression, its variables as JSON, what is expected, and the
//! cost where it does not depend on the types of variables. Expected is `= type value`, `! error` of an
//! evaluation, or `? position: error` of a compilation.

use serde_json::Value as Json;

use crate::{Budget, Program, Value};

fn run(expression: &str, variables: &Json) -> (String, u64) {
    let bindings = variables.as_object().unwrap();
    let names: Vec<&str> = bindings.keys().map(String::as_str).collect();
    let program = match Program::compile(expression, &names) {
        Ok(program) => program,
        Err(error) => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or("");
            return (format!("? {}", first.trim_start_matches("ERROR: <input>:")), 0);
        }
    };
    let values: Vec<(&str, Value<'_>)> =
        bindings.iter().map(|(name, value)| (name.as_str(), Value::from_json(value, None))).collect();
    let mut budget = Budget::default();
    let answer = match program.evaluate(&values, &mut budget) {
        Ok(value) => format!("= {} {}", value.type_name(), value.to_json()),
        Err(error) => format!("! {error}"),
    };
    (answer, budget.spent())
}

/// Numbers are compared as numbers: JSON does not distinguish 1 from 1.0.
fn same(answer: &str, expected: &str) -> bool {
    let split = |text: &str| {
        let (head, value) = text.rsplit_once(' ').map_or((text, ""), |(head, value)| (head, value));
        (head.to_owned(), value.parse::<f64>().ok())
    };
    answer == expected || {
        let (answer_json, expected_json) = (json_of(answer), json_of(expected));
        answer_json.is_some() && answer_json == expected_json
            || expected.split(' ').count() == 2 && answer.starts_with(&format!("{expected} "))
            || split(answer).1.is_some() && split(answer) == split(expected)
    }
}

fn json_of(text: &str) -> Option<(String, Json)> {
    let (kind, value) = text.strip_prefix("= ")?.split_once(' ')?;
    Some((kind.to_owned(), serde_json::from_str(value).ok()?))
}

#[test]
fn answers_are_those_of_kubernetes() {
    let mut failures = Vec::new();
    let mut rows = 0;
    for line in include_str!("cases.txt").lines().filter(|line| !line.starts_with("# ") && !line.is_empty()) {
        let mut columns = line.split('\t');
        let expression = columns.next().unwrap();
        let variables = columns.next().filter(|text| !text.is_empty()).unwrap_or("{}");
        let variables: Json = serde_json::from_str(variables).expect(line);
        let expected = columns.next().expect(line);
        let (answer, cost) = run(expression, &variables);
        rows += 1;
        if !same(&answer, expected) {
            failures.push(format!("{expression}\n  expected {expected}\n  answered {answer}"));
        }
        if let Some(expected_cost) = columns.next()
            && expected_cost != cost.to_string()
        {
            failures.push(format!("{expression}\n  expected cost {expected_cost}, was {cost}"));
        }
    }
    assert!(failures.is_empty(), "{} of {rows} failed:\n{}", failures.len(), failures.join("\n"));
}
