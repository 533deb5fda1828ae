//! Every keyword, every kind of rule, and what an update tolerates.

use serde_json::json;

use super::*;
use crate::schema::parse;

fn schema(field: Value) -> Schema {
    let node = json!({"type": "object", "properties": {"a": field}});
    parse(&node, &FieldPath::root()).unwrap_or_else(|errors| panic!("{node}: {errors:?}"))
}

fn found(schema: &Schema, new: &Value, old: Option<&Value>) -> Vec<String> {
    validate(schema, new, old, &FieldPath::root()).iter().map(ToString::to_string).collect()
}

/// Checks a new object `{"a": value}` against a schema whose field `a` is given.
fn check_new(field: Value, value: Value, wanted: &[&str]) {
    assert_eq!(found(&schema(field.clone()), &json!({"a": value}), None), wanted, "{field} {value}");
}

/// Checks a change of `a` from one value to another.
fn check_change(field: Value, old: Value, new: Value, wanted: &[&str]) {
    let (old, new) = (json!({"a": old}), json!({"a": new}));
    assert_eq!(found(&schema(field.clone()), &new, Some(&old)), wanted, "{field} {old} {new}");
}

#[test]
fn types() {
    let typed = |kind: &str| json!({"type": kind});
    check_new(typed("string"), json!("x"), &[]);
    check_new(
        typed("string"),
        json!(1),
        &["a: Invalid value: \"integer\": a in body must be of type string: \"integer\""],
    );
    check_new(
        typed("string"),
        json!(null),
        &["a: Invalid value: \"null\": a in body must be of type string: \"null\""],
    );
    check_new(json!({"type": "string", "nullable": true}), json!(null), &[]);
    check_new(typed("integer"), json!(1.0), &[]);
    check_new(
        typed("integer"),
        json!(1.5),
        &["a: Invalid value: \"number\": a in body must be of type integer: \"number\""],
    );
    check_new(
        typed("integer"),
        json!(1e300),
        &["a: Invalid value: \"number\": a in body must be of type integer: \"number\""],
    );
    check_new(typed("number"), json!(1), &[]);
    check_new(
        typed("boolean"),
        json!("true"),
        &["a: Invalid value: \"string\": a in body must be of type boolean: \"string\""],
    );
    check_new(
        typed("object"),
        json!([]),
        &["a: Invalid value: \"array\": a in body must be of type object: \"array\""],
    );
    check_new(
        json!({"type": "array", "items": {"type": "string"}}),
        json!(["x", 1]),
        &["a[1]: Invalid value: \"integer\": a[1] in body must be of type string: \"integer\""],
    );
    check_new(
        json!({"type": "object", "additionalProperties": {"type": "string"}}),
        json!({"k": 1}),
        &["a.k: Invalid value: \"integer\": a.k in body must be of type string: \"integer\""],
    );
    let int_or_string = || json!({"x-kubernetes-int-or-string": true});
    check_new(int_or_string(), json!(1), &[]);
    check_new(int_or_string(), json!("1"), &[]);
    check_new(
        int_or_string(),
        json!(true),
        &["a: Invalid value: \"boolean\": a in body must be of type integer,string: \"boolean\""],
    );
    let any =
        || json!({"x-kubernetes-preserve-unknown-fields": true, "properties": {"b": {"type": "string"}}});
    check_new(any(), json!(1), &[]);
    check_new(
        any(),
        json!({"b": 1, "c": 1}),
        &["a.b: Invalid value: \"integer\": a.b in body must be of type string: \"integer\""],
    );
}

#[test]
fn strings() {
    let string = |extra: Value| {
        let mut node = json!({"type": "string"});
        node.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        node
    };
    check_new(string(json!({"maxLength": 2})), json!("éé"), &[]);
    check_new(string(json!({"maxLength": 2})), json!("abc"), &["a: Too long: may not be more than 2 bytes"]);
    check_new(string(json!({"maxLength": 1})), json!("abc"), &["a: Too long: may not be more than 1 byte"]);
    check_new(
        string(json!({"minLength": 2})),
        json!("é"),
        &["a: Invalid value: \"é\": a in body should be at least 2 chars long"],
    );
    check_new(
        string(json!({"pattern": "^\\d+$"})),
        json!("x\ny"),
        &["a: Invalid value: \"x\\ny\": a in body should match '^\\d+$'"],
    );
    check_new(
        string(json!({"minLength": 2, "pattern": "b"})),
        json!("a"),
        &["a: Invalid value: \"a\": a in body should be at least 2 chars long"],
    );
    check_new(
        string(json!({"format": "date-time"})),
        json!("now"),
        &["a: Invalid value: \"now\": a in body must be of type date-time: \"now\""],
    );
    check_new(
        string(json!({"format": "date"})),
        json!(1),
        &["a: Invalid value: \"int64\": a in body must be of type date: \"int64\""],
    );
    check_new(string(json!({"format": "unknown"})), json!("now"), &[]);
    check_new(
        string(json!({"enum": ["b", "a"]})),
        json!("c"),
        &["a: Unsupported value: \"c\": supported values: \"b\", \"a\""],
    );
    check_new(string(json!({"enum": ["b", "a"]})), json!("a"), &[]);
}

#[test]
fn numbers() {
    let number = |kind: &str, extra: Value| {
        let mut node = json!({"type": kind});
        node.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        node
    };
    check_new(
        number("integer", json!({"minimum": 1})),
        json!(0),
        &["a: Invalid value: 0: a in body should be greater than or equal to 1"],
    );
    check_new(
        number("integer", json!({"minimum": 1, "exclusiveMinimum": true})),
        json!(1),
        &["a: Invalid value: 1: a in body should be greater than 1"],
    );
    check_new(
        number("integer", json!({"maximum": 1})),
        json!(2),
        &["a: Invalid value: 2: a in body should be less than or equal to 1"],
    );
    check_new(
        number("integer", json!({"maximum": 1, "exclusiveMaximum": true})),
        json!(1),
        &["a: Invalid value: 1: a in body should be less than 1"],
    );
    check_new(
        number("integer", json!({"multipleOf": 3})),
        json!(4),
        &["a: Invalid value: 4: a in body should be a multiple of 3"],
    );
    check_new(
        number("integer", json!({"multipleOf": 0.5})),
        json!(4),
        &["a: Invalid value: 0: factor MultipleOf declared for a must be positive: 0"],
    );
    check_new(
        number("number", json!({"minimum": 1.5})),
        json!(1.25),
        &["a: Invalid value: 1.25: a in body should be greater than or equal to 1.5"],
    );
    check_new(
        number("number", json!({"maximum": 1e6})),
        json!(2e6),
        &["a: Invalid value: 2e+06: a in body should be less than or equal to 1e+06"],
    );
    check_new(number("number", json!({"multipleOf": 0.1})), json!(0.3), &[]);
    check_new(
        number("number", json!({"multipleOf": 0.1})),
        json!(0.35),
        &["a: Invalid value: 0.35: a in body should be a multiple of 0.1"],
    );
    check_new(number("integer", json!({"format": "int32"})), json!(5_000_000_000_i64), &[]);
    check_new(
        number("integer", json!({"enum": [1, 2]})),
        json!(3),
        &["a: Unsupported value: 3: supported values: \"1\", \"2\""],
    );
}

#[test]
fn objects_and_lists() {
    let list = |extra: Value| {
        let mut node = json!({"type": "array", "items": {"type": "string"}});
        node.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        node
    };
    check_new(
        list(json!({"minItems": 1})),
        json!([]),
        &["a: Invalid value: 0: a in body should have at least 1 items"],
    );
    check_new(list(json!({"maxItems": 1})), json!(["x", "y"]), &["a: Too many: 2: must have at most 1 item"]);
    let map = |extra: Value| {
        let mut node = json!({"type": "object", "additionalProperties": {"type": "string"}});
        node.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        node
    };
    check_new(
        map(json!({"minProperties": 1})),
        json!({}),
        &["a: Invalid value: 0: a in body should have at least 1 properties"],
    );
    check_new(
        map(json!({"maxProperties": 1})),
        json!({"x": "1", "y": "2"}),
        &["a: Too many: 2: must have at most 1 item"],
    );
    check_new(
        json!({"type": "object", "additionalProperties": false}),
        json!({"x": 1}),
        &["a: Invalid value: \"x\": a.x in body is a forbidden property"],
    );
    let required = json!({"type": "object", "required": ["b"], "properties": {"b": {"type": "string"}}});
    check_new(required.clone(), json!({}), &["a.b: Required value"]);
    let root = parse(
        &json!({"type": "object", "required": ["a"], "properties": {"a": required}}),
        &FieldPath::root(),
    );
    assert_eq!(found(&root.unwrap(), &json!({}), None), ["a: Required value"]);
}

#[test]
fn combinators() {
    let object = |extra: Value| {
        let mut node =
            json!({"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}});
        node.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        node
    };
    let either = json!([{"required": ["x"]}, {"required": ["y"]}]);
    let one = object(json!({"oneOf": either}));
    check_new(one.clone(), json!({"x": 1}), &[]);
    check_new(
        one.clone(),
        json!({}),
        &[
            "<nil>: Invalid value: \"\": \"a\" must validate one and only one schema (oneOf). Found none valid",
            "a.x: Required value",
        ],
    );
    check_new(
        one,
        json!({"x": 1, "y": 1}),
        &[
            "<nil>: Invalid value: \"\": \"a\" must validate one and only one schema (oneOf). Found 2 valid alternatives",
        ],
    );
    let any = object(json!({"anyOf": either}));
    check_new(any.clone(), json!({"y": 1}), &[]);
    check_new(
        any,
        json!({}),
        &[
            "<nil>: Invalid value: \"\": \"a\" must validate at least one schema (anyOf)",
            "a.x: Required value",
        ],
    );
    let all = object(json!({"allOf": [{"required": ["x"]}, {"properties": {"y": {"minimum": 2}}}]}));
    check_new(all.clone(), json!({"x": 1, "y": 2}), &[]);
    check_new(
        all.clone(),
        json!({"x": 1, "y": 1}),
        &[
            "a.y: Invalid value: 1: a.y in body should be greater than or equal to 2",
            "<nil>: Invalid value: \"\": \"a\" must validate all the schemas (allOf)",
        ],
    );
    check_new(
        all,
        json!({"y": 1}),
        &[
            "a.x: Required value",
            "a.y: Invalid value: 1: a.y in body should be greater than or equal to 2",
            "<nil>: Invalid value: \"\": \"a\" must validate all the schemas (allOf). None validated",
        ],
    );
    let not = object(json!({"not": {"required": ["x"]}}));
    check_new(not.clone(), json!({}), &[]);
    check_new(
        not,
        json!({"x": 1}),
        &["<nil>: Invalid value: \"\": \"a\" must not validate the schema (not)"],
    );
    // Of several failures, the one that came furthest is shown.
    let best = json!({"type": "string", "anyOf": [{"minLength": 9}, {"format": "date", "minLength": 8}]});
    let wanted = [
        "<nil>: Invalid value: \"\": \"a\" must validate at least one schema (anyOf)",
        "a: Invalid value: \"x\": a in body should be at least 8 chars long",
        "a: Invalid value: \"x\": a in body must be of type date: \"x\"",
    ];
    check_new(best, json!("x"), &wanted);
}

#[test]
fn unique_lists() {
    let set = || json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}});
    check_new(set(), json!(["x", "y"]), &[]);
    check_new(set(), json!(["x", "x", "x"]), &["a[1]: Duplicate value: \"x\""]);
    let map = |keys: Value| {
        json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys, "items": {
            "type": "object", "required": ["k", "l"], "properties": {"k": {"type": "string"}, "l": {"type": "integer"}, "v": {"type": "string"}}}})
    };
    check_new(
        map(json!(["k"])),
        json!([{"k": "x", "l": 1}, {"k": "x", "l": 2}]),
        &["a[1]: Duplicate value: {\"k\":\"x\"}"],
    );
    check_new(map(json!(["k", "l"])), json!([{"k": "x", "l": 1}, {"k": "x", "l": 2}]), &[]);
    check_new(
        map(json!(["k", "l"])),
        json!([{"k": "x", "l": 1}, {"k": "x", "l": 1}]),
        &["a[1]: Duplicate value: {\"k\":\"x\",\"l\":1}"],
    );
    // A list that was not unique before is not held to it.
    check_change(set(), json!(["x", "x"]), json!(["x", "x", "y"]), &[]);
    check_change(set(), json!(["x"]), json!(["x", "x"]), &["a[1]: Duplicate value: \"x\""]);
}

#[test]
fn embedded_resources() {
    let embedded = || json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true});
    check_new(embedded(), json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}), &[]);
    check_new(embedded(), json!({}), &["a.apiVersion: Required value", "a.kind: Required value"]);
    check_new(
        embedded(),
        json!({"apiVersion": "a/b/c", "kind": ""}),
        &[
            "a.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c",
            "a.kind: Invalid value: \"\": must not be empty",
        ],
    );
    check_new(
        embedded(),
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a/b"}}),
        &["a.metadata.name: Invalid value: \"a/b\": may not contain '/'"],
    );
    check_new(
        embedded(),
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": 1}}),
        &[
            "a.metadata: Invalid value: {\"labels\":1}: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type map[string]string",
        ],
    );
}

#[test]
fn rules() {
    let object = |rule: Value| json!({"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}, "x-kubernetes-validations": [rule]});
    let low_high = || json!({"x": 2, "y": 1});
    check_new(object(json!({"rule": "self.x <= self.y"})), json!({"x": 1, "y": 1}), &[]);
    check_new(
        object(json!({"rule": "self.x <= self.y"})),
        low_high(),
        &["a: Invalid value: failed rule: self.x <= self.y"],
    );
    check_new(
        object(json!({"rule": "self.x <= self.y", "message": " too big "})),
        low_high(),
        &["a: Invalid value: too big"],
    );
    check_new(
        object(json!({"rule": "self.x <= self.y", "messageExpression": "'made' + 'up'"})),
        low_high(),
        &["a: Invalid value: madeup"],
    );
    check_new(
        object(json!({"rule": "self.x <= self.y", "message": "m", "messageExpression": "''"})),
        low_high(),
        &["a: Invalid value: m"],
    );
    check_new(
        object(json!({"rule": "self.x <= self.y", "fieldPath": ".x"})),
        low_high(),
        &["a.x: Invalid value: failed rule: self.x <= self.y"],
    );
    check_new(
        object(json!({"rule": "self.x <= self.y", "reason": "FieldValueForbidden"})),
        low_high(),
        &["a: Forbidden: failed rule: self.x <= self.y"],
    );
    check_new(
        object(json!({"rule": "self.x <= self.y", "reason": "FieldValueRequired"})),
        low_high(),
        &["a: Required value: failed rule: self.x <= self.y"],
    );
    check_new(
        object(json!({"rule": "self.x <= self.y", "reason": "FieldValueDuplicate"})),
        low_high(),
        &["a: Duplicate value"],
    );
    check_new(
        object(json!({"rule": "self.x <= self.y"})),
        json!({"x": 1}),
        &["a: Invalid value: \"object\": no such key: y evaluating rule: self.x <= self.y"],
    );
    let scalar = json!({"type": "string", "x-kubernetes-validations": [{"rule": "self == 'x'"}]});
    check_new(scalar, json!("y"), &["a: Invalid value: \"y\": failed rule: self == 'x'"]);
    let nullable =
        json!({"type": "string", "nullable": true, "x-kubernetes-validations": [{"rule": "self == 'x'"}]});
    check_new(nullable, json!(null), &[]);
    // Rules wait until the object is sound.
    let wanted = [
        "a.x: Invalid value: \"string\": a.x in body must be of type integer: \"string\"",
        "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
    ];
    check_new(object(json!({"rule": "self.x <= self.y"})), json!({"x": "1", "y": 1}), &wanted);
}

#[test]
fn rules_at_the_root_see_metadata() {
    let node = json!({"type": "object", "x-kubernetes-validations": [{"rule": "self.metadata.name == 'x'"}]});
    let schema = parse(&node, &FieldPath::root()).unwrap();
    assert_eq!(found(&schema, &json!({"metadata": {"name": "x"}}), None), Vec::<String>::new());
    let wanted = ["<nil>: Invalid value: failed rule: self.metadata.name == 'x'"];
    assert_eq!(found(&schema, &json!({"metadata": {"name": "y"}}), None), wanted);
}

#[test]
fn transition_rules() {
    let immutable = || json!({"type": "string", "maxLength": 9, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]});
    check_new(immutable(), json!("x"), &[]);
    check_change(immutable(), json!("x"), json!("x"), &[]);
    check_change(
        immutable(),
        json!("x"),
        json!("y"),
        &["a: Invalid value: \"y\": failed rule: self == oldSelf"],
    );
    let map = json!({"type": "object", "maxProperties": 9, "additionalProperties": immutable()});
    check_change(
        map,
        json!({"k": "x"}),
        json!({"k": "y", "l": "new"}),
        &["a[k]: Invalid value: \"y\": failed rule: self == oldSelf"],
    );
    let list = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
        "maxItems": 9, "items": {
        "type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": immutable()}}});
    check_change(
        list,
        json!([{"k": "x", "v": "1"}, {"k": "y", "v": "1"}]),
        json!([{"k": "y", "v": "2"}, {"k": "z", "v": "9"}, {"k": "x", "v": "1"}]),
        &["a[0].v: Invalid value: \"2\": failed rule: self == oldSelf"],
    );
    let optional = || json!({"type": "string", "x-kubernetes-validations": [{"rule": "oldSelf.hasValue()", "optionalOldSelf": true}]});
    check_new(optional(), json!("x"), &["a: Invalid value: \"x\": failed rule: oldSelf.hasValue()"]);
    check_change(optional(), json!("x"), json!("y"), &[]);
}

#[test]
fn all_rules_of_an_object_share_one_budget() {
    // A comparison of two thousand characters costs at least a hundred units.
    let rule = "self == self + ''";
    let list =
        json!({"type": "array", "items": {"type": "string", "x-kubernetes-validations": [{"rule": rule}]}});
    let object = json!({"a": vec!["x".repeat(2_000); 60_000]});
    // A new definition with such a rule would be refused.
    let schema = crate::schema::read_checked(&json!({"type": "object", "properties": {"a": list}}));
    let errors = found(&schema, &object, None);
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(
        errors[0].ends_with(
            "validation failed due to running out of cost budget, no further validation rules will be run"
        ),
        "{errors:?}"
    );
}

#[test]
fn unchanged_errors_are_tolerated() {
    let object = json!({"type": "object", "required": ["z"], "properties": {
        "x": {"type": "integer", "minimum": 5}, "y": {"type": "integer", "minimum": 5}, "z": {"type": "string"},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "maxProperties": 0},
    }});
    check_change(object.clone(), json!({"x": 1, "z": "a"}), json!({"x": 1, "y": 9, "z": "b"}), &[]);
    check_change(
        object.clone(),
        json!({"x": 1, "z": "a"}),
        json!({"x": 2, "z": "a"}),
        &["a.x: Invalid value: 2: a.x in body should be greater than or equal to 5"],
    );
    check_change(
        object.clone(),
        json!({"z": "a"}),
        json!({"x": 1, "z": "a"}),
        &["a.x: Invalid value: 1: a.x in body should be greater than or equal to 5"],
    );
    check_change(object.clone(), json!({"x": 9}), json!({"x": 8}), &["a.z: Required value"]);
    check_change(object.clone(), json!({"x": 9}), json!({"x": 9}), &[]);
    // What is not in the schema cannot be seen to be unchanged.
    check_change(
        object,
        json!({"z": "a", "free": {"q": 1}}),
        json!({"z": "b", "free": {"q": 1}}),
        &["a.free: Too many: 1: must have at most 0 items"],
    );
    let items = json!({"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": {"type": "integer", "minimum": 5}}});
    let keyed = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": items});
    check_change(keyed, json!([{"k": "x", "v": 1}]), json!([{"k": "y", "v": 9}, {"k": "x", "v": 1}]), &[]);
    let atomic = json!({"type": "array", "items": items});
    check_change(atomic.clone(), json!([{"k": "x", "v": 1}]), json!([{"k": "x", "v": 1}]), &[]);
    check_change(
        atomic,
        json!([{"k": "x", "v": 1}]),
        json!([{"k": "x", "v": 1}, {"k": "y"}]),
        &["a[0].v: Invalid value: 1: a[0].v in body should be greater than or equal to 5"],
    );
}

#[test]
fn unchanged_violations_of_rules_are_tolerated() {
    let object = json!({"type": "object", "properties": {
        "x": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 5"}]}, "y": {"type": "string"},
        "list": {"type": "array", "items": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 5"}]}},
    }});
    check_change(object.clone(), json!({"x": 1}), json!({"x": 1, "y": "new"}), &[]);
    check_change(
        object.clone(),
        json!({"x": 1}),
        json!({"x": 2}),
        &["a.x: Invalid value: 2: failed rule: self > 5"],
    );
    check_change(object.clone(), json!({"list": [1]}), json!({"list": [1], "y": "new"}), &[]);
    check_change(
        object,
        json!({"list": [1]}),
        json!({"list": [1, 9]}),
        &["a.list[0]: Invalid value: 1: failed rule: self > 5"],
    );
}

#[test]
fn status_is_checked_on_its_own() {
    let node = json!({"type": "object", "properties": {
        "spec": {"type": "integer", "minimum": 5}, "status": {"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}}}}});
    let schema = parse(&node, &FieldPath::root()).unwrap();
    let errors = |new: Value, old: Value| {
        validate_status(&schema, &new, &old).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(errors(json!({"spec": 1, "status": {"n": 1}}), json!({"spec": 1})), Vec::<String>::new());
    let wanted = ["status.n: Invalid value: -1: n in body should be greater than or equal to 0"];
    assert_eq!(
        errors(json!({"spec": 1, "status": {"n": -1}}), json!({"spec": 1, "status": {"n": 1}})),
        wanted
    );
    assert_eq!(errors(json!({"status": {"n": -1}}), json!({"status": {"n": -1}})), Vec::<String>::new());
}

#[test]
fn errors_stand_below_the_given_path() {
    let errors = validate(&schema(json!({"type": "string"})), &json!({"a": 1}), None, &FieldPath::of("here"));
    assert_eq!(errors[0].path.as_str(), "here.a");
    assert_eq!(errors[0].cause().reason.as_deref(), Some("FieldValueTypeInvalid"));
}

#[test]
fn deep_nesting_fits_the_stack() {
    let (mut node, mut value) =
        (json!({"type": "string", "x-kubernetes-validations": [{"rule": "self == 'x'"}]}), json!("x"));
    for _ in 0..60 {
        node = json!({"type": "object", "properties": {"a": node}});
        value = json!({ "a": value });
    }
    let schema = parse(&node, &FieldPath::root()).unwrap();
    crate::schema::prune(&schema, &mut value);
    crate::schema::apply_defaults(&schema, &mut value).unwrap();
    assert_eq!(found(&schema, &value, Some(&value)), Vec::<String>::new());
    let mut logic = json!({"minLength": 2});
    for _ in 0..60 {
        logic = json!({"allOf": [logic]});
    }
    logic["type"] = "string".into();
    check_new(logic, json!("xx"), &[]);
}
