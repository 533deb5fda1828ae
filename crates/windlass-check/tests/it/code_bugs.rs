//! Mistakes in controller code that need no property to be found. Each names the controller and the state.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::atomic::{AtomicU64, Ordering};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::CustomResource;
use kube::core::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass::{Bug, Cx, Declaration, Machine, Outcome, States, Verb, done, to};
use windlass_check::{Violation, check};

#[derive(States)]
enum Step {
    #[state(initial, condition = "FirstReady", next(Second))]
    First,
    #[state(condition = "SecondReady", next(Third))]
    Second,
    Third,
}

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "test.windlass.dev", version = "v1", kind = "Thing", namespaced)]
struct ThingSpec {}

fn map(value: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta { name: Some("m".to_owned()), ..ObjectMeta::default() },
        data: Some(BTreeMap::from([("value".to_owned(), value.to_owned())])),
        ..ConfigMap::default()
    }
}

fn bug_of(machine: impl Machine<Parent = Thing>) -> Bug {
    let report = check(machine).given([Thing::new("t", ThingSpec {})]).run();
    match report.violation {
        Some(Violation::Code { bug, trace }) => {
            assert!(!trace.steps.is_empty());
            bug
        }
        _ => panic!("not found: {report}"),
    }
}

macro_rules! machine {
    ($name:ident, $declare:expr, |$step:ident, $cx:ident| $body:expr) => {
        struct $name;
        impl Machine for $name {
            type Parent = Thing;
            type State = Step;
            fn declare(&self, declaration: &mut Declaration) {
                let declare: fn(&mut Declaration) = $declare;
                declare(declaration);
            }
            async fn run(&self, $step: Step, $cx: &Cx<Thing>) -> Outcome<Step> {
                $body
            }
        }
    };
}

machine!(
    AwaitsASocket,
    |declaration| {
        declaration.may::<ConfigMap>([Verb::Get]);
    },
    |step, cx| match step {
        Step::First => {
            cx.get::<ConfigMap>("m").await?;
            to(Step::Second)
        }
        Step::Second => pending().await,
        Step::Third => done(),
    }
);

#[test]
fn awaiting_something_else_than_cx() {
    let bug = bug_of(AwaitsASocket);
    assert_eq!(
        bug,
        Bug::ForeignAwait { controller: "awaits-a-socket".to_owned(), state: "Second".to_owned() }
    );
    let message = bug.to_string();
    assert!(
        message.contains("`awaits-a-socket`") && message.contains("`Second`") && message.contains("cx.call"),
        "{message}"
    );
}

static CALLS: AtomicU64 = AtomicU64::new(0);

machine!(
    CountsItsCalls,
    |declaration| {
        declaration.output::<ConfigMap>();
    },
    |step, cx| match step {
        Step::First => to(Step::Second),
        Step::Second => {
            cx.ensure(map(&CALLS.fetch_add(1, Ordering::Relaxed).to_string()));
            to(Step::Third)
        }
        Step::Third => done(),
    }
);

#[test]
fn a_machine_that_is_not_deterministic() {
    let bug = bug_of(CountsItsCalls);
    let Bug::NotDeterministic { controller, state, before, after } = &bug else { panic!("{bug}") };
    assert_eq!((controller.as_str(), state.as_str()), ("counts-its-calls", "Second"));
    assert!(before.contains("\"value\":\"") && after.contains("\"value\":\"") && before != after, "{bug}");
}

machine!(GoesAstray, |_| {}, |step, _cx| match step {
    Step::First => to(Step::Third),
    Step::Second | Step::Third => done(),
});

#[test]
fn an_undeclared_transition() {
    let expected = Bug::UndeclaredTransition {
        controller: "goes-astray".to_owned(),
        from: "First".to_owned(),
        to: "Third".to_owned(),
    };
    assert_eq!(bug_of(GoesAstray), expected);
}

machine!(EnsuresWhatItDoesNotDeclare, |_| {}, |step, cx| match step {
    Step::First => to(Step::Second),
    Step::Second => {
        cx.ensure(map("x"));
        done()
    }
    Step::Third => done(),
});

#[test]
fn an_output_of_an_undeclared_kind() {
    let bug = bug_of(EnsuresWhatItDoesNotDeclare);
    let message = bug.to_string();
    assert!(message.contains("`ensures-what-it-does-not-declare`, state `Second`"), "{message}");
    assert!(
        message.contains("ConfigMap default/m") && message.contains("output::<ConfigMap>()"),
        "{message}"
    );
}

machine!(
    EnsuresElsewhere,
    |declaration| {
        declaration.output::<ConfigMap>();
    },
    |step, cx| {
        let _ = step;
        let mut elsewhere = map("x");
        elsewhere.metadata.namespace = Some("kube-public".to_owned());
        cx.ensure(elsewhere);
        done()
    }
);

#[test]
fn an_output_where_nothing_could_find_it_again() {
    let message = bug_of(EnsuresElsewhere).to_string();
    assert!(
        message.contains("state `First`") && message.contains("output_anywhere::<ConfigMap>()"),
        "{message}"
    );
}

machine!(
    EnsuresTwice,
    |declaration| {
        declaration.output::<ConfigMap>();
    },
    |step, cx| {
        cx.ensure(map("x"));
        match step {
            Step::First => to(Step::Second),
            Step::Second | Step::Third => done(),
        }
    }
);

#[test]
fn an_output_twice_in_one_run() {
    let bug = bug_of(EnsuresTwice);
    assert!(matches!(&bug, Bug::OutputTwice { state, .. } if state == "Second"), "{bug}");
}

machine!(Panics, |_| {}, |step, _cx| match step {
    Step::First => to(Step::Second),
    Step::Second | Step::Third => panic!("this was to be expected"),
});

#[test]
fn a_panic() {
    let bug = bug_of(Panics);
    let expected = Bug::Panicked {
        controller: "panics".to_owned(),
        state: "Second".to_owned(),
        message: "this was to be expected".to_owned(),
    };
    assert_eq!(bug, expected);
}

machine!(
    UpdatesItsOutput,
    |declaration| {
        declaration.output::<ConfigMap>();
    },
    |step, cx| match step {
        Step::First => {
            cx.ensure(map("first"));
            to(Step::Second)
        }
        Step::Second => {
            cx.update(&map("second")).await?;
            to(Step::Third)
        }
        Step::Third => done(),
    }
);

machine!(
    MayUpdateItsOutput,
    |declaration| {
        declaration.output::<ConfigMap>().may::<ConfigMap>([Verb::Update]);
    },
    |step, cx| match step {
        Step::First => {
            cx.ensure(map("first"));
            to(Step::Second)
        }
        Step::Second => {
            cx.update(&map("first")).await?;
            to(Step::Third)
        }
        Step::Third => done(),
    }
);

#[test]
fn asking_for_what_the_role_does_not_allow() {
    let bug = bug_of(UpdatesItsOutput);
    let expected = Bug::NotPermitted {
        controller: "updates-its-output".to_owned(),
        state: "Second".to_owned(),
        request: "update configmaps".to_owned(),
        remedy: "may::<ConfigMap>([Verb::Update])".to_owned(),
    };
    assert_eq!(bug, expected);
    assert_eq!(
        bug.to_string(),
        "controller `updates-its-output`, state `Second`: it may not update configmaps. On a cluster its role would \
         not allow that: add `.may::<ConfigMap>([Verb::Update])` to declare()"
    );
    let report = check(MayUpdateItsOutput).given([Thing::new("t", ThingSpec {})]).run();
    assert!(!matches!(report.violation, Some(Violation::Code { .. })), "{report}");
}
