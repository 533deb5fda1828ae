//! What is generated, and for each mistake the message and the source it points at.

use quote::quote;

use super::*;

/// Expands the source of one item.
fn expand_source(source: &str) -> syn::Result<TokenStream> {
    expand(&syn::parse_str(source).unwrap())
}

/// The errors for a source, each as the text it points at and the message.
fn mistakes(source: &str) -> Vec<(String, String)> {
    let errors = expand_source(source).err().into_iter().flatten();
    errors.map(|error| (error.span().source_text().unwrap_or_default(), error.to_string())).collect()
}

/// Expects exactly these errors: the text each points at, and a part of its message.
fn check(source: &str, expected: &[(&str, &str)]) {
    let found = mistakes(source);
    let fits = |((at, message), (expected_at, part)): (&(String, String), &(&str, &str))| {
        at == expected_at && message.contains(part)
    };
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(fits),
        "{source}\nfound {found:#?}\nexpected {expected:#?}"
    );
}

#[test]
fn a_whole_enum_is_expanded() {
    let expanded = expand_source(
        r#"enum Step {
            #[state(initial, condition = "FirstReady", when_true = "one", when_false = "none", next(Third, Second))]
            First,
            #[state(condition = "SecondReady", next(r#Third,),)]
            Second { token: String },
            Third(u32),
        }"#,
    );
    let expected = quote! {
        #[automatically_derived]
        impl ::windlass::States for Step {
            const GRAPH: &'static [::windlass::StateInfo] = &[
                ::windlass::StateInfo {
                    name: "First",
                    condition: ::core::option::Option::Some(::windlass::ConditionInfo {
                        kind: "FirstReady",
                        when_true: "one",
                        when_false: "none",
                    }),
                    next: &[2usize, 1usize],
                    initial: true
                },
                ::windlass::StateInfo {
                    name: "Second",
                    condition: ::core::option::Option::Some(::windlass::ConditionInfo {
                        kind: "SecondReady",
                        when_true: "Second is done",
                        when_false: "",
                    }),
                    next: &[2usize],
                    initial: false
                },
                ::windlass::StateInfo {
                    name: "Third",
                    condition: ::core::option::Option::None,
                    next: &[],
                    initial: false
                }
            ];

            fn initial() -> Self {
                Self::First
            }

            fn index(&self) -> usize {
                match self {
                    Self::First { .. } => 0usize,
                    Self::Second { .. } => 1usize,
                    Self::Third { .. } => 2usize,
                }
            }
        }
    };
    assert_eq!(expanded.unwrap().to_string(), expected.to_string());
}

#[test]
fn sound_enums_are_accepted() {
    for source in [
        "enum Step { #[state(initial)] Only }",
        "enum Step { #[state(initial, next())] Only }",
        // Two ways to the same state are no cycle, and the initial state may be declared last.
        "enum Step { #[state(next(D))] B, #[state(next(D))] C, #[state()] D, #[state(initial, next(B, C, D))] A }",
        "enum Step { #[state(initial, next(r#type))] A, r#type }",
        r##"enum Step { #[state(initial, condition = r#"example.com/Done"#, when_true = "")] A }"##,
        "#[doc = \"x\"] enum Step { #[doc = \"x\"] #[state(initial)] #[default] A = 3 }",
    ] {
        check(source, &[]);
    }
}

#[test]
fn the_type_must_be_a_plain_enum() {
    check("struct Step;", &[("Step", "`Step` is not an enum")]);
    check("union Step { a: u8 }", &[("Step", "is not an enum")]);
    check("enum Step {}", &[("Step", "has no states: add a variant")]);
    check("enum Step<T> { #[state(initial)] A, B(T) }", &[("<T>", "is generic"), ("B", "cannot be reached")]);
    check("enum Step<'a> { #[state(initial, next(B))] A, B(&'a str) }", &[("<'a>", "is generic")]);
}

#[test]
fn there_must_be_one_initial_state() {
    check("enum Step { A, B }", &[("Step", "`Step` has no initial state: put `#[state(initial)]`")]);
    check(
        "enum Step { #[state(initial, next(B))] A, B, #[state(initial)] C }",
        &[("initial", "`C` is a second initial state, after `A`: keep")],
    );
    check(
        "enum Step { #[state(initial)] A(u32) }",
        &[("(u32)", "`A` is the initial state, which carries no data")],
    );
    check("enum Step { #[state(initial)] A { token: String } }", &[("{ token: String }", "carries no data")]);
    check("enum Step { #[state(initial = true)] A }", &[("initial", "`initial` takes no value")]);
    check("enum Step { #[state(initial(A))] A }", &[("initial", "`initial` takes no value")]);
}

#[test]
fn cycles_are_spelled_out() {
    check(
        "enum Step { #[state(initial, next(Second))] First, #[state(next(First))] Second }",
        &[("First", "these states form a cycle: First -> Second -> First. A reconcile must come to an end")],
    );
    check(
        "enum Step { #[state(initial, next(B))] A, #[state(next(C))] B, #[state(next(D, B))] C, #[state(next(B))] D }",
        &[("B", "B -> C -> D -> B."), ("B", "B -> C -> B.")],
    );
    check(
        "enum Step { #[state(initial, next(A))] A }",
        &[("A", "this state follows itself: A -> A. A reconcile must come to an end")],
    );
    // Also where no way leads from the initial state.
    check(
        "enum Step { #[state(initial)] A, #[state(next(C))] B, #[state(next(B))] C }",
        &[("B", "B -> C -> B."), ("B", "cannot be reached"), ("C", "cannot be reached")],
    );
}

#[test]
fn the_span_of_a_cycle_is_the_name_that_closes_it() {
    let source =
        "enum Step {\n #[state(initial, next(Second))]\n First,\n #[state(next(First))]\n Second,\n}";
    let error = expand_source(source).unwrap_err();
    assert_eq!((error.span().start().line, error.span().start().column), (4, 14));
}

#[test]
fn every_state_must_be_reachable() {
    check(
        "enum Step { #[state(initial, next(B))] A, B, #[state(next(B))] C }",
        &[("C", "`C` cannot be reached from the initial state `A`: name it in the `next(...)`")],
    );
}

#[test]
fn next_names_variants() {
    check(
        "enum Step { #[state(initial, next(Secnd))] First, Second }",
        &[("Secnd", "`Step` has no variant `Secnd`: did you mean `Second`?")],
    );
    check(
        "enum Step { #[state(initial, next(Elsewhere))] First, Second }",
        &[("Elsewhere", "no variant `Elsewhere`: the variants are `First`, `Second`")],
    );
    check(
        "enum Step { #[state(initial, next(B, C, B))] A, B, C }",
        &[("B", "`B` is already named in this `next`: remove it here")],
    );
    check(
        "enum Step { #[state(initial, next(Step::B))] A, B }",
        &[("Step::B", "names of variants alone: write `Second`, not `Step::Second`")],
    );
    for (source, at) in [
        ("enum Step { #[state(initial, next = \"B\")] A, B }", "next"),
        ("enum Step { #[state(initial, next)] A, B }", "next"),
    ] {
        check(source, &[(at, "write `next(Second, Third)`")]);
    }
    check("enum Step { #[state(initial, next(\"B\"))] A, B }", &[("\"B\"", "expected identifier")]);
}

#[test]
fn attributes_are_known_and_single() {
    check(
        "enum Step { #[state(initail)] A }",
        &[("initail", "unknown key `initail`: did you mean `initial`?")],
    );
    check(
        "enum Step { #[state(initial, retry = 3 + 4, backoff(x))] A }",
        &[
            (
                "retry",
                "unknown key `retry`: the keys are `initial`, `condition`, `when_true`, `when_false`, `next`",
            ),
            ("backoff", "unknown key `backoff`"),
        ],
    );
    check("enum Step { #[state(initial, initial)] A }", &[("initial", "`initial` is given twice")]);
    check("enum Step { #[state(initial, next(B), next(C))] A, B, C }", &[("next", "`next` is given twice")]);
    check(
        "enum Step { #[state(initial)] #[state(next(B))] A, B }",
        &[("#[state(next(B))]", "`A` has a second `#[state]`: write all of its keys in one")],
    );
    check(
        "#[state(initial)] enum Step { #[state(initial)] A }",
        &[("#[state(initial)]", "means nothing here")],
    );
    check(
        "enum Step { #[state(initial, next(B))] A, B { #[state(initial)] field: u32 } }",
        &[("#[state(initial)]", "write it on a variant")],
    );
    check(
        "enum Step { #[state] A }",
        &[("state", "expected attribute arguments in parentheses: #[state(...)]")],
    );
    check("enum Step { #[state(initial next(B))] A, B }", &[("next", "expected `,`")]);
}

#[test]
fn conditions_are_condition_types() {
    check(r#"enum Step { #[state(initial, condition = "")] A }"#, &[(r#""""#, "the condition is empty")]);
    check(
        r#"enum Step { #[state(initial, condition = "not ok")] A }"#,
        &[(r#""not ok""#, "write it in CamelCase")],
    );
    check(
        r#"enum Step { #[state(initial, condition = "Ready", next(B))] A, #[state(condition = "Suspended")] B }"#,
        &[
            (r#""Ready""#, "`Ready` is written by Windlass"),
            (r#""Suspended""#, "`Suspended` is written by Windlass"),
        ],
    );
    check(
        r#"enum Step { #[state(initial, condition = "Done", next(B))] A, #[state(condition = "Done")] B }"#,
        &[(r#""Done""#, "`A` and `B` have the same condition `Done`")],
    );
    check("enum Step { #[state(initial, condition = Done)] A }", &[("Done", "`condition` takes a string")]);
    check("enum Step { #[state(initial, condition)] A }", &[("condition", "write `condition = \"...\"`")]);
    check("enum Step { #[state(initial, condition(\"Done\"))] A }", &[("condition", "takes a string")]);
    check(
        r#"enum Step { #[state(initial, when_true = "a", when_false = "b")] A }"#,
        &[
            (r#""a""#, "`when_true` is the message of a condition, and `A` has none: add `condition"),
            (r#""b""#, "`when_false` is the message"),
        ],
    );
    // An invalid condition is still a condition: only the real mistake is reported.
    check(
        r#"enum Step { #[state(initial, condition = 3, when_true = "a")] A }"#,
        &[("3", "`condition` takes a string")],
    );
}

#[test]
fn all_mistakes_are_reported_at_once() {
    check(
        r#"enum Step<T> {
            #[state(initial, condition = "Ready", colour = "red", next(Second, Fourth))]
            First(T),
            #[state(condition = "second", when_tru = "a", next(First))]
            Second,
            #[state(initial, next(Third))]
            Third,
        }"#,
        &[
            ("<T>", "is generic"),
            ("colour", "unknown key"),
            ("(T)", "carries no data"),
            (r#""Ready""#, "written by Windlass"),
            ("when_tru", "did you mean `when_true`?"),
            (r#""second""#, "CamelCase"),
            ("Fourth", "no variant `Fourth`"),
            ("initial", "`Third` is a second initial state"),
            ("First", "First -> Second -> First"),
            ("Third", "Third -> Third"),
        ],
    );
}

#[test]
fn a_broken_enum_still_has_the_trait() {
    let input = syn::parse_str("enum Step { A }").unwrap();
    let explained = expand_or_explain(&input).to_string();
    assert!(explained.contains("compile_error") && explained.contains("impl :: windlass :: States for Step"));
    let generic = syn::parse_str("enum Step<'a> { #[state(initial)] A(&'a str) }").unwrap();
    assert!(!expand_or_explain(&generic).to_string().contains("impl"));
}
