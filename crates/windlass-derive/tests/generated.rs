//! The generated code, compiled and run.

extern crate self as windlass;

include!("contract/mod.rs");

use windlass_derive::States;

#[derive(States)]
enum Step {
    #[state(
        initial,
        condition = "Placed",
        when_true = "has a place",
        when_false = "waits",
        next(Bouncers, Done)
    )]
    Placement,
    #[state(condition = "BouncersReady", next(Done))]
    Bouncers {
        wanted: Vec<String>,
    },
    Done(u32),
}

#[test]
fn the_graph_is_what_the_attributes_say() {
    assert_eq!(
        Step::GRAPH,
        [
            StateInfo {
                name: "Placement",
                condition: Some(ConditionInfo {
                    kind: "Placed",
                    when_true: "has a place",
                    when_false: "waits"
                }),
                next: &[1, 2],
                initial: true,
            },
            StateInfo {
                name: "Bouncers",
                condition: Some(ConditionInfo {
                    kind: "BouncersReady",
                    when_true: "Bouncers is done",
                    when_false: ""
                }),
                next: &[2],
                initial: false,
            },
            StateInfo { name: "Done", condition: None, next: &[], initial: false },
        ]
    );
}

#[test]
fn each_value_knows_its_index() {
    assert!(matches!(Step::initial(), Step::Placement));
    let values = [Step::Placement, Step::Bouncers { wanted: vec!["b".to_owned()] }, Step::Done(7)];
    for (index, value) in values.iter().enumerate() {
        assert_eq!(value.index(), index);
        match value {
            Step::Placement => {}
            Step::Bouncers { wanted } => assert_eq!(wanted, &["b"]),
            Step::Done(number) => assert_eq!(*number, 7),
        }
    }
}

/// The generated code must not depend on what names mean where the enum stands.
mod hostile_names {
    #![expect(dead_code, non_camel_case_types, reason = "these exist to be in the way")]

    struct Option;
    struct Some;
    struct None;
    pub(super) struct Self_;
    trait States {}

    #[derive(windlass_derive::States)]
    pub(super) enum Step {
        #[state(initial, condition = "SomeReady", next(None, r#type))]
        Some,
        None(Self_),
        r#type,
    }
}

#[test]
fn names_in_scope_do_not_matter() {
    let names: Vec<&str> = <hostile_names::Step as States>::GRAPH.iter().map(|state| state.name).collect();
    assert_eq!(names, ["Some", "None", "type"]);
    assert_eq!(hostile_names::Step::r#type.index(), 2);
}
