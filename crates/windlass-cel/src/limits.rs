//! Hostile expressions: they must be refused or stopped, whatever they ask for.

use proptest::prelude::*;
use serde_json::json;

use crate::schema::Schema;
use crate::{Budget, EvalError, Program, RuleContext, Value};

/// Runs on a stack much smaller than any thread has by default.
fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    // Unoptimised frames are twice as large; both leave room on the 2 MiB that threads have by default.
    let kilobytes = if cfg!(debug_assertions) { 1536 } else { 768 };
    std::thread::Builder::new().stack_size(kilobytes * 1024).spawn(work).unwrap().join().unwrap();
}

fn evaluate(source: &str) -> Result<serde_json::Value, EvalError> {
    let program = Program::compile(source, &["self"]).unwrap_or_else(|error| panic!("{error}"));
    let object = json!({"name": "x".repeat(1000), "items": (0..500).collect::<Vec<_>>()});
    let bindings = [("self", Value::from_json(&object, None))];
    program.evaluate(&bindings, &mut Budget::default()).map(|value| value.to_json())
}

#[test]
fn deep_nesting_is_refused_without_a_deep_stack() {
    on_a_small_stack(|| {
        let deep = 10_000;
        for source in [
            format!("{}1{}", "(".repeat(deep), ")".repeat(deep)),
            format!("{}1{}", "[".repeat(deep), "]".repeat(deep)),
            format!("{}1{}", "{1:".repeat(deep), "}".repeat(deep)),
            format!("self{}", "[0]".repeat(deep)),
            format!("self{}", ".a".repeat(deep)),
            format!("self{}", ".size()".repeat(deep)),
            format!("{}self{}", "size(".repeat(deep), ")".repeat(deep)),
            format!("1{}", "+1".repeat(deep)),
            format!("1{}", "<1".repeat(deep)),
            format!("{}1", "!-(".repeat(deep)),
            format!("{}1", "true?1:".repeat(deep)),
            format!("[1]{}", ".map(x,x)".repeat(deep)),
            format!("{}1{}", "[1].map(x,".repeat(deep / 2), ")".repeat(deep / 2)),
            "(".repeat(90_000),
            "[".repeat(90_000),
            "!".repeat(90_000),
            "-".repeat(90_000),
            "a?".repeat(40_000),
            "a.".repeat(40_000),
        ] {
            assert!(Program::compile(&source, &["self"]).is_err(), "{}", &source[..40]);
        }
    });
}

#[test]
fn the_deepest_expressions_allowed_run_on_a_small_stack() {
    on_a_small_stack(|| {
        let deep = 240;
        for source in [
            format!("{}1{}", "(".repeat(deep), ")".repeat(deep)),
            format!("{}1{} == {}1{}", "[".repeat(deep), "]".repeat(deep), "[".repeat(deep), "]".repeat(deep)),
            format!("1{}", "+1".repeat(deep)),
            format!("{}1{}", "true?1:(".repeat(deep / 2), ")".repeat(deep / 2)),
            format!("{}1{}", "[1].map(x,".repeat(deep), ")".repeat(deep)),
            format!("[1]{}", ".map(x,x)".repeat(deep)),
            format!("'%s'.format([{}1{}])", "[".repeat(deep), "]".repeat(deep)),
        ] {
            assert!(evaluate(&source).is_ok(), "{}", &source[..40]);
            assert!(max_cost(&source) < u64::MAX, "{}", &source[..40]);
        }
    });
}

fn max_cost(source: &str) -> u64 {
    let program = Program::compile(source, &["self"]).unwrap_or_else(|error| panic!("{error}"));
    program.max_cost(&Schema::default(), RuleContext::default())
}

#[test]
fn long_flat_expressions_work() {
    assert!(max_cost(&format!("true{}", " && true".repeat(10_000))) < u64::MAX);
    assert_eq!(evaluate(&format!("{}true", "!".repeat(10_000))), Ok(json!(true)));
    assert_eq!(evaluate(&format!("{}1", "-".repeat(10_001))), Ok(json!(-1)));
    assert_eq!(evaluate(&format!("true{}", " && true".repeat(10_000))), Ok(json!(true)));
    assert_eq!(evaluate(&format!("false{}", " || false".repeat(9_000))), Ok(json!(false)));
    assert_eq!(evaluate(&format!("[{}].size()", "1,".repeat(40_000))), Ok(json!(40_000)));
    assert_eq!(evaluate(&format!("'{}'.size()", "é".repeat(90_000))), Ok(json!(90_000)));
    assert_eq!(evaluate(&format!("{}1", "// a comment\n".repeat(5_000))), Ok(json!(1)));
}

#[test]
fn too_long_expressions_are_refused() {
    let error = Program::compile(&"1".repeat(100_001), &[]).unwrap_err();
    assert_eq!(error.to_string(), "expression code point size exceeds limit: size: 100001, limit 100000");
}

#[test]
fn runaway_evaluations_are_stopped() {
    let doubled = |start: &str, step: &str, times: usize| format!("[{start}]{}", step.repeat(times));
    for source in [
        "lists.range(1000000000000)".to_owned(),
        "lists.range(9223372036854775807)".to_owned(),
        "lists.range(1000).all(x, lists.range(1000).all(y, lists.range(1000).all(z, true)))".to_owned(),
        "self.items.map(a, self.items.map(b, self.items.map(c, [a, b, c]))).size() > 0".to_owned(),
        // Values that double with each step: texts, shared lists, maps.
        doubled("'ab'", ".map(x, x + x)", 60),
        format!("{0} == {0}", doubled("1", ".map(x, [x, x])", 60)),
        format!("{0} == {0}", doubled("1", ".map(x, {'a': x, 'b': x})", 60)),
        format!("'%s'.format([{}])", doubled("1", ".map(x, [x, x])", 60)),
        format!("'%s'.format([{}])", doubled("[]", ".map(x, [x, x])", 60)),
        format!("dyn({}).flatten(100)", doubled("1", ".map(x, [x, x])", 60)),
        format!("[{0}, {0}].distinct()", doubled("1", ".map(x, [x, x])", 60)),
        format!("dyn({}).min()", doubled("1", ".map(x, [x, x])", 60)),
        // Texts that grow by replacement.
        doubled("self.name", ".map(x, x.replace('', x))", 9),
        doubled("self.name", ".map(x, x.split('').join(x))", 9),
        doubled("self.name", ".map(x, '%s%s%s%s%s%s%s%s'.format([x, x, x, x, x, x, x, x]))", 60),
        "lists.range(5000).map(x, '(a{9}){%d}'.format([x % 90])).all(p, 'x'.matches(p) || true)".to_owned(),
        doubled("b'ab'", ".map(x, x + x)", 60),
    ] {
        let error = evaluate(&source).expect_err(&source);
        assert!(error.is_cost_exceeded(), "{source}: {error}");
    }
}

/// Unlike other errors, the end of the budget must not be absorbed.
#[test]
fn logic_does_not_hide_the_end_of_the_budget() {
    let runaway = "lists.range(1000000).size() > 0";
    for source in [
        format!("{runaway} || true"),
        format!("{runaway} && false"),
        format!("[1, 2].exists(x, x == 2 || {runaway})"),
        format!("[1, 2].all(x, x == 1 && {runaway})"),
    ] {
        let error = evaluate(&source).expect_err(&source);
        assert_eq!(error.to_string(), "operation cancelled: actual cost limit exceeded", "{source}");
    }
}

#[test]
fn the_budget_counts_across_evaluations() {
    let program = Program::compile("lists.range(100).size()", &[]).unwrap();
    let mut budget = Budget::new(250);
    assert!(program.evaluate(&[], &mut budget).is_ok());
    assert_eq!(budget.spent(), 112);
    assert!(program.evaluate(&[], &mut budget).is_ok());
    assert!(program.evaluate(&[], &mut budget).unwrap_err().is_cost_exceeded());
}

/// Types that double with each step must not make the check take for ever.
#[test]
fn huge_types_are_checked_quickly() {
    for step in [".map(x, {x: x})", ".map(x, [[x, x], [x, x]])", ".map(x, optional.of({1: x, 2: x}))"] {
        let source = format!("[1]{0} == [1]{0}", step.repeat(120));
        let _ = Program::compile(&source, &[]);
        let _ = Program::compile(&format!("{source} + 1"), &[]);
    }
}

#[test]
fn huge_values_render_up_to_a_limit() {
    let program = Program::compile(&format!("[1]{}", ".map(x, [x, x])".repeat(60)), &[]).unwrap();
    let value = program.evaluate(&[], &mut Budget::default()).unwrap();
    assert!(value.to_json().is_array());
}

/// Words of the language, so that random texts often parse.
const WORDS: &[&str] = &[
    "self",
    "x",
    "self.name",
    "self.items",
    "self.items[0]",
    "1",
    "-1",
    "2u",
    "1.5",
    "1e300",
    "'a'",
    "'é%d'",
    "b'\\xff'",
    "true",
    "null",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    ",",
    ":",
    "?",
    ".",
    ".?",
    "[?",
    "+",
    "-",
    "*",
    "/",
    "%",
    "<",
    "==",
    "!=",
    "&&",
    "||",
    "!",
    " in ",
    "[1, 2]",
    "{'a': 1}",
    ".size()",
    ".map(x, ",
    ".all(x, ",
    ".exists(i, v, ",
    ".filter(x, ",
    ".sortBy(x, ",
    ".optMap(x, ",
    ".transformMap(k, v, ",
    "has(self.",
    "a)",
    "optional.of(",
    "optional.none()",
    ".orValue(",
    ".value()",
    "int(",
    "string(",
    "double(",
    "timestamp(",
    "duration(",
    "'2024-01-01T00:00:00Z'",
    "'1h'",
    ".matches(",
    "'[a-z]{2}'",
    ".find(",
    ".findAll(",
    ".split(",
    ".join(",
    ".replace(",
    ".substring(",
    ".indexOf(",
    ".lastIndexOf(",
    ".charAt(",
    ".format(",
    "quantity(",
    "'1.5Gi'",
    "'1e9'",
    ".add(",
    ".compareTo(",
    "ip(",
    "'::1'",
    "cidr(",
    "'10.0.0.0/8'",
    ".containsIP(",
    "url(",
    "'http://é[::1]:8/%20?a=b'",
    ".getQuery()",
    "semver(",
    "'1.2.3-a.1'",
    "format.uri()",
    ".validate(",
    "lists.range(",
    ".flatten(",
    ".slice(",
    ".sort()",
    ".distinct()",
    ".sum()",
    ".max()",
    "sets.contains(",
    "dyn(",
    "type(",
    "\"",
    "'",
    "\\",
    "\n",
    "é",
    "💥",
    "`a`",
    "r'",
    "\'\'\'",
    "0x",
    "9223372036854775807",
    "// ",
    "@",
    "in",
    "google.protobuf.Timestamp",
];

proptest! {
    // A text is read in microseconds.
    #![proptest_config(ProptestConfig::with_cases(7 * ProptestConfig::default().cases))]

    #[test]
    fn random_texts_never_panic(parts in proptest::collection::vec(proptest::sample::select(WORDS), 1..24)) {
        let source = parts.concat();
        if let Ok(program) = Program::compile(&source, &["self"]) {
            let object = json!({"name": "näme", "items": [1, "two", null, 4.5, [5]]});
            let bindings = [("self", Value::from_json(&object, None))];
            let _ = program.evaluate(&bindings, &mut Budget::default()).map(|value| value.to_json());
            program.max_cost(&Schema::default(), RuleContext::default());
        }
    }

    #[test]
    fn functions_take_any_text(text in "\\PC{0,12}|[-+0-9.eEiKmM:/%@a-f\\[\\]]{0,16}") {
        for function in [
            "quantity(self)", "semver(self)", "semver(self, true)", "url(self).getQuery()", "url(self).getEscapedPath()",
            "url(self).getHostname() + url(self).getPort()", "ip(self)", "cidr(self).masked()", "timestamp(self)",
            "duration(self)", "int(self)", "double(self)", "ip.isCanonical(self)", "'abc'.matches(self)", "'abc'.findAll(self)",
            "self.format([1, 'a', 2.5])", "self.split('')", "self.replace('', 'é')", "self.lastIndexOf('a', 1)",
            "self.substring(1)", "strings.quote(self)", "quantity(self).add(quantity('1e-9')).asApproximateFloat()",
            "format.named('datetime').value().validate(self)", "format.uri().validate(self)", "format.uuid().validate(self)",
            "format.dns1123LabelPrefix().validate(self)", "format.qualifiedName().validate(self)", "timestamp(0).getHours(self)",
        ] {
            let program = Program::compile(function, &["self"]).unwrap();
            let _ = program.evaluate(&[("self", Value::from(text.as_str()))], &mut Budget::default());
        }
    }
}
