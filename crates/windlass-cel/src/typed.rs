//! Rules on a schema: what Kubernetes 1.35 answers, rule by rule.
//!
//! A line of `typed_cases.txt` has three columns: the rule, what is expected (`= value`, `! error` of the
//! evaluation, `? position: error` of the compilation), and the cost.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::schema::{Constraints, ListKind, Schema, Shape};
use crate::{Budget, Program, RuleContext, Value};

fn of(shape: Shape) -> Schema {
    Schema { shape, ..Schema::default() }
}

fn formatted(format: &str) -> Schema {
    let constraints = Constraints { format: Some(format.to_owned()), ..Constraints::default() };
    Schema { constraints: Some(Box::new(constraints)), ..of(Shape::String) }
}

fn object<const COUNT: usize>(fields: [(&str, Schema); COUNT]) -> Schema {
    let fields = fields.into_iter().map(|(name, schema)| (name.into(), Arc::new(schema))).collect();
    of(Shape::Object { fields, atomic: false })
}

fn map(values: Shape) -> Schema {
    of(Shape::Map { values: Arc::new(of(values)), atomic: false })
}

fn list(items: Schema, kind: ListKind) -> Schema {
    of(Shape::List { items: Arc::new(items), kind })
}

fn schema() -> Schema {
    let text = || of(Shape::String);
    let item = object([("name", text()), ("count", of(Shape::Integer))]);
    let odd = ["a-b", "namespace", "c.d", "x/y", "__z__", "a__b", "é", "1st"].map(|name| (name, text()));
    object([
        ("name", text()),
        ("replicas", of(Shape::Integer)),
        ("ratio", of(Shape::Number)),
        ("on", of(Shape::Boolean)),
        ("port", of(Shape::IntOrString)),
        ("created", formatted("date-time")),
        ("day", formatted("date")),
        ("wait", formatted("duration")),
        ("data", formatted("byte")),
        ("labels", map(Shape::String)),
        ("matrix", list(list(of(Shape::Integer), ListKind::Atomic), ListKind::Atomic)),
        ("items", list(item, ListKind::Map(vec!["name".into()]))),
        ("tags", list(text(), ListKind::Set)),
        ("words", list(text(), ListKind::Atomic)),
        ("odd", object(odd)),
        ("anything", Schema { preserve_unknown: true, ..of(Shape::Any) }),
        ("open", Schema { preserve_unknown: true, ..object([("known", text())]) }),
        ("child", Schema { preserve_unknown: true, embedded_resource: true, ..object([]) }),
        ("maybe", Schema { nullable: true, ..text() }),
        ("missing", text()),
        ("sizes", map(Shape::Integer)),
    ])
}

fn current() -> Json {
    json!({
        "apiVersion": "e.com/v1",
        "kind": "Thing",
        "metadata": {"name": "it", "labels": {"a": "b"}},
        "name": "abc",
        "replicas": 3,
        "ratio": 2,
        "on": true,
        "port": "80%",
        "created": "2024-01-02T03:04:05Z",
        "day": "2024-01-02",
        "wait": "90s",
        "data": "aGk=",
        "labels": {"a": "1", "b-c": "2"},
        "matrix": [[1, 2], [3]],
        "items": [{"name": "x", "count": 1}, {"name": "y"}],
        "tags": ["p", "q"],
        "words": ["p", "q"],
        "odd": {"a-b": "1", "namespace": "2", "c.d": "3", "x/y": "4", "__z__": "5", "a__b": "6"},
        "anything": {"z": [1]},
        "open": {"known": "k", "unknown": "u"},
        "child": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "c"}, "spec": {}},
        "maybe": null,
        "sizes": {"s": 1, "l": 9},
    })
}

/// Another name, the lists in another order, and no duration.
fn previous() -> Json {
    let mut object = current();
    let fields = object.as_object_mut().unwrap();
    fields.insert("name".to_owned(), json!("old"));
    fields.insert("tags".to_owned(), json!(["q", "p"]));
    fields.insert("words".to_owned(), json!(["q", "p"]));
    fields.insert("items".to_owned(), json!([{"name": "y"}, {"name": "x", "count": 1}]));
    fields.remove("wait");
    object
}

fn run(rule: &str, schema: &Schema) -> (String, u64) {
    let context = RuleContext { resource_root: true, ..RuleContext::default() };
    let checked = Program::compile(rule, &["self", "oldSelf"])
        .and_then(|program| program.check_against(schema, context).map(|()| program));
    let program = match checked {
        Ok(program) => program,
        Err(error) => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or("");
            return (format!("? {}", first.trim_start_matches("ERROR: <input>:")), 0);
        }
    };
    let (new, old) = (current(), previous());
    let bindings =
        [("self", Value::from_json(&new, Some(schema))), ("oldSelf", Value::from_json(&old, Some(schema)))];
    let mut budget = Budget::default();
    match program.evaluate(&bindings, &mut budget) {
        Ok(value) => (format!("= {}", value.to_json()), budget.spent()),
        Err(error) => (format!("! {error}"), budget.spent()),
    }
}

#[test]
fn rules_answer_as_in_kubernetes() {
    let schema = schema();
    let mut failures = Vec::new();
    for line in include_str!("typed_cases.txt").lines().filter(|line| !line.starts_with("# ")) {
        let mut columns = line.split('\t');
        let (rule, expected) = (columns.next().unwrap(), columns.next().expect(line));
        let (answer, cost) = run(rule, &schema);
        if answer != expected {
            failures.push(format!("{rule}\n  expected {expected}\n  answered {answer}"));
        }
        if let Some(expected_cost) = columns.next()
            && expected_cost != cost.to_string()
        {
            failures.push(format!("{rule}\n  expected cost {expected_cost}, was {cost}"));
        }
    }
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn contexts_change_types() {
    let schema = schema();
    let check = |source: &str, context| {
        let program = Program::compile(source, &["self", "oldSelf"]).unwrap();
        program.check_against(&schema, context).map_err(|error| error.messages().next().unwrap().to_owned())
    };
    let plain = RuleContext::default();
    let optional = RuleContext { optional_old_self: true, ..plain };
    let text = RuleContext { returns_text: true, ..plain };
    for (source, context, expected) in [
        ("!oldSelf.hasValue() || oldSelf.value().name == self.name", optional, Ok(())),
        ("oldSelf.name.orValue('') == self.name", optional, Ok(())),
        (
            "oldSelf.name == self.name",
            optional,
            Err("found no matching overload for '_==_' applied to '(optional_type(string), string)'"),
        ),
        ("oldSelf.optMap(o, o.name == self.name).orValue(true)", optional, Ok(())),
        (
            "oldSelf.hasValue()",
            plain,
            Err("found no matching overload for 'hasValue' applied to 'object.()'"),
        ),
        ("'name is ' + self.name", text, Ok(())),
        ("self.on", text, Err("messageExpression must evaluate to a string")),
        ("self.name", plain, Err("cel expression must evaluate to a bool")),
        ("self.port", plain, Err("cel expression must evaluate to a bool")),
        ("self.metadata.name == ''", plain, Err("undefined field 'metadata'")),
    ] {
        assert_eq!(check(source, context), expected.map_err(str::to_owned), "{source}");
    }
}

#[test]
fn optional_old_self_is_evaluated() {
    let program =
        Program::compile("oldSelf.hasValue() ? oldSelf.value() < self : self > 0", &["self", "oldSelf"]);
    let program = program.unwrap();
    for (old, expected) in [(None, true), (Some(Value::Int(1)), true), (Some(Value::Int(9)), false)] {
        let bindings = [("self", Value::Int(5)), ("oldSelf", Value::optional(old))];
        let answer = program.evaluate(&bindings, &mut Budget::default()).unwrap();
        assert_eq!(answer.as_bool(), Some(expected));
    }
}

#[test]
fn uses_says_which_variables_matter() {
    for (source, expected) in [
        ("self == oldSelf", true),
        ("self == 1", false),
        ("[1].all(oldSelf, oldSelf == 1)", false),
        ("[1].all(x, oldSelf == x)", true),
        ("has(oldSelf.a) ? true : false", true),
        ("'oldSelf' == 'x'", false),
        ("{'a': oldSelf}.a == 1", true),
    ] {
        let program = Program::compile(source, &["self", "oldSelf"]).unwrap();
        assert_eq!(program.uses("oldSelf"), expected, "{source}");
        assert!(!program.uses("other"));
    }
}

#[test]
fn programs_are_shared_between_threads_and_compared_by_text() {
    fn shared<T: Send + Sync + Clone + PartialEq>(_: &T) {}
    let program = Program::compile("self == 1", &["self"]).unwrap();
    shared(&program);
    assert_eq!(program, program.clone());
    assert_eq!(&*program.source, "self == 1");
    assert_ne!(program, Program::compile("self == 2", &["self"]).unwrap());
    assert_ne!(program, Program::compile("self == 1", &["self", "oldSelf"]).unwrap());
}

#[test]
fn all_issues_are_shown_with_their_position() {
    let error = Program::compile("1 +\n  foo && bar(2)", &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "ERROR: <input>:2:3: undeclared reference to 'foo' (in container '')\n |   foo && bar(2)\n | ..^\n\
         ERROR: <input>:2:13: undeclared reference to 'bar' (in container '')\n |   foo && bar(2)\n | ............^"
    );
}
