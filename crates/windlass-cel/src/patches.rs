//! Expressions that make patches, in an environment that knows `Object` and `JSONPatch`.

use serde_json::json;

use crate::environment::Declarations;
use crate::types::Type;
use crate::{Budget, Program, Value};

struct Patches;

impl Declarations for Patches {
    fn type_of(&self, name: &str) -> Option<Type<'static>> {
        (name == "object").then_some(Type::Dynamic)
    }

    fn makes_patch(&self) -> bool {
        true
    }
}

fn compile(source: &str) -> Result<(Program, String), String> {
    let compiled = Program::compile_with(source, &Patches);
    compiled.map(|(program, of)| (program, of.as_result())).map_err(|error| error.to_string())
}

fn evaluate(source: &str) -> Result<(serde_json::Value, u64), String> {
    let (program, _) = compile(source)?;
    let object = json!({"metadata": {"name": "a"}, "items": [1, 2]});
    let mut scope = Budget::default();
    // Variables of a scope that is not there have no values; these are bound.
    let bindings = [("object", Value::from_json(&object, None))];
    let value = program.evaluate(&bindings, &mut scope).map_err(|error| error.to_string())?;
    Ok((value.to_json(), scope.spent()))
}

#[test]
fn messages_hold_their_fields() {
    for (source, expected, cost) in [
        ("Object{}", json!({}), 40),
        ("Object{a: 1, b: Object.b{c: [1]},}", json!({"a": 1, "b": {"c": [1]}}), 80),
        ("Object{a: {'x': object.metadata.name}}", json!({"a": {"x": "a"}}), 73),
        ("Object{?a: optional.of(1), ?b: optional.none()}", json!({"a": 1}), 42),
        ("Object{a: 1}.a", json!(1), 42),
        ("has(Object{a: 1}.b)", json!(false), 41),
        ("Object{a: 1} == Object{a: 1}", json!(true), 81),
        ("Object.x{a: 1} == dyn(Object.y{a: 1})", json!(false), 82),
        ("object.items.map(i, Object.items{n: i})", json!([{"n": 1}, {"n": 2}]), 109),
        (
            "[JSONPatch{op: 'add', path: '/a', value: true}]",
            json!([{"op": "add", "path": "/a", "value": true}]),
            50,
        ),
        ("jsonpatch.escapeKey('a/b~c')", json!("a~1b~0c"), 1),
    ] {
        assert_eq!(evaluate(source), Ok((expected, cost)), "{source}");
    }
}

#[test]
fn types_have_the_names_of_messages() {
    for (source, expected) in [
        ("Object{}", "Object"),
        ("Object.spec.template{}", "Object.spec.template"),
        ("true ? [] : [JSONPatch{op: 'add'}]", "list(JSONPatch)"),
        ("[Object.a{}]", "list(Object.a)"),
        ("Object{a: 1}.a", "dyn"),
        ("JSONPatch{op: 'add'}.op", "string"),
    ] {
        assert_eq!(compile(source).map(|(_, of)| of), Ok(expected.to_owned()), "{source}");
    }
}

#[test]
fn wrong_messages_are_refused() {
    for (source, expected) in [
        ("Objects{}", "1:8: undeclared reference to 'Objects' (in container '')"),
        ("kubernetes.Pod{}", "1:15: undeclared reference to 'kubernetes.Pod' (in container '')"),
        ("JSONPatch{op: 1}", "1:13: expected type of field 'op' is 'string' but provided type is 'int'"),
        ("Object{?a: 1}", "1:12: expected type 'optional_type(int)' but found 'int'"),
        ("[Object.a{}, Object.b{}]", "1:22: expected type 'Object.a' but found 'Object.b'"),
        ("Object{} + 1", "1:10: found no matching overload for '_+_' applied to '(Object, int)'"),
        ("Object{a: 1", "1:12: Syntax error: mismatched input '<EOF>' expecting {'}', ','}"),
    ] {
        let error = compile(source).map(|(_, of)| of).unwrap_err();
        let first = error.lines().next().unwrap_or_default();
        assert_eq!(first.trim_start_matches("ERROR: <input>:"), expected, "{source}");
    }
    let dynamic = evaluate("[JSONPatch{op: dyn(1)}]").unwrap_err();
    assert_eq!(dynamic, "unexpected type int64 for JSONPatchType 'op' field");
}

#[test]
fn other_expressions_know_no_patches() {
    for source in ["Object{}", "JSONPatch{}", "jsonpatch.escapeKey('a')"] {
        assert!(Program::compile(source, &[]).is_err(), "{source}");
    }
}
