//! Recorded reconciles, run again with the same code and with other code.

#![allow(clippy::unwrap_used, reason = "a test that cannot set up its world should panic")]

use serde_json::json;
use windlass::recording::{Batch, Exchange, FORMAT, RecordedEnd, Recording, Replayed, replay};
use windlass::{
    Controller, CoroutineState as Progress, Cx, Declaration, Finalizer, Machine, ObjectRef, Outcome, States,
    done, to,
};

use crate::fixture::{Bench, Farewell, WIDGET, Widget, Widgets, config_map};

/// The machine of the fixture, changed.
struct Changed {
    suffix: &'static str,
    more: bool,
    fewer: bool,
}

#[derive(States)]
enum Step {
    #[state(initial, condition = "MapsReady", when_true = "The maps are there", next(Choice))]
    Maps,
    #[state(condition = "ChoiceMade", when_false = "No choice yet", next(Left, Right))]
    Choice,
    #[state(condition = "LeftReady")]
    Left,
    #[state(condition = "RightReady")]
    Right,
}

impl Machine for Changed {
    type Parent = Widget;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.name("widgets").output_anywhere::<k8s_openapi::api::core::v1::ConfigMap>();
    }

    async fn run(&self, step: Step, cx: &Cx<Widget>) -> Outcome<Step> {
        let spec = &cx.parent().spec;
        match step {
            Step::Maps => {
                let most = if self.fewer { 0 } else { spec.maps.len() };
                for name in spec.maps.iter().take(most) {
                    cx.ensure(config_map(name, &format!("{}{}", spec.value, self.suffix)));
                }
                to(Step::Choice)
            }
            Step::Choice if spec.choice == "left" => to(Step::Left),
            Step::Choice => to(Step::Right),
            Step::Left | Step::Right => {
                if self.more {
                    cx.ensure(config_map("more", ""));
                }
                done()
            }
        }
    }

    fn finalizer(&self) -> Option<Finalizer<Widget>> {
        Some(Finalizer::new(Farewell))
    }
}

fn same() -> Changed {
    Changed { suffix: "", more: false, fewer: false }
}

/// A reconcile of the fixture's machine, written down.
fn recorded(spec: serde_json::Value) -> Recording {
    let mut bench = Bench::new(spec);
    let target = ObjectRef::new("default", WIDGET);
    let mut coroutine = Controller::new(Widgets).reconcile(&target, false);
    let (mut batches, mut answers) = (Vec::new(), Vec::new());
    let end = loop {
        let asks = match coroutine.resume(std::mem::take(&mut answers)) {
            Progress::Ask(asks) => asks,
            Progress::End(ended) => break RecordedEnd::of(&ended),
            Progress::Bug(bug) => panic!("{bug}"),
        };
        answers = asks.iter().map(|ask| bench.local.perform(ask)).collect();
        let pairs = asks.into_iter().zip(answers.clone());
        let exchanges = pairs.map(|(ask, answer)| Exchange { ask, answer }).collect();
        batches.push(Batch { state: coroutine.state().to_owned(), exchanges });
    };
    Recording {
        recording: FORMAT,
        windlass: "0".to_owned(),
        id: "widgets-1".to_owned(),
        controller: "widgets".to_owned(),
        target,
        create_missing: false,
        causes: vec!["Widget default/w".to_owned()],
        at: windlass::model::Timestamp::from_unix_seconds(1_000),
        batches,
        end,
    }
}

fn against(machine: Changed, recording: &Recording) -> Replayed {
    replay(&Controller::new(machine), recording)
}

#[test]
fn the_same_code_asks_the_same() {
    for spec in [
        json!({"maps": ["a", "b"], "choice": "left", "value": "v"}),
        json!({"choice": "right"}),
        json!({"choice": "fail"}),
        json!({"choice": "panic", "elsewhere": "e", "untied": "u"}),
    ] {
        let recording = recorded(spec);
        let read = Recording::from_json(&recording.to_json()).unwrap();
        assert_eq!(read, recording);
        let batches = recording.batches.len();
        assert_eq!(replay(&Controller::new(Widgets), &read), Replayed::Same { batches, uncertain: 0 });
    }
}

#[test]
fn the_first_ask_that_differs_is_named() {
    let recording = recorded(json!({"maps": ["a"], "choice": "left", "value": "v"}));
    let batches = recording.batches.len();
    assert_eq!(against(same(), &recording), Replayed::Same { batches, uncertain: 0 });
    let replayed = against(Changed { suffix: "2", ..same() }, &recording);
    let text = replayed.to_string();
    let Replayed::Diverged { batch, state, recorded_state, difference } = replayed else { panic!("{text}") };
    assert_eq!((state.as_str(), recorded_state.as_str()), ("Maps", "Maps"));
    assert!(difference.contains("-             value: \"v\"\n+             value: \"v2\"\n"), "{difference}");
    assert!(text.starts_with(&format!("it diverges in batch {batch}, in state Maps")), "{text}");
}

#[test]
fn asks_that_are_missing_or_too_many_are_named() {
    let recording = recorded(json!({"maps": ["a"], "choice": "left"}));
    let Replayed::Diverged { difference, .. } = against(Changed { fewer: true, ..same() }, &recording) else {
        panic!("it asks less")
    };
    assert!(difference.contains("- "), "{difference}");
    let Replayed::Diverged { state, .. } = against(Changed { more: true, ..same() }, &recording) else {
        panic!("it asks more")
    };
    assert_eq!(state, "Left");
    // It ended where the recording goes on, and the other way round.
    let mut longer = recording.clone();
    longer.batches.push(recording.batches.last().unwrap().clone());
    assert!(
        matches!(against(same(), &longer), Replayed::Diverged { batch, .. } if batch == longer.batches.len())
    );
    let mut shorter = recording.clone();
    shorter.batches.pop();
    assert!(
        matches!(against(same(), &shorter), Replayed::Diverged { batch, .. } if batch == recording.batches.len())
    );
    shorter.end = RecordedEnd::TimedOut;
    assert!(matches!(against(same(), &shorter), Replayed::Same { .. }), "there was no time to ask the last");
}

#[test]
fn reports_a_different_end() {
    let mut recording = recorded(json!({"choice": "left"}));
    let RecordedEnd::Ended { path, .. } = &mut recording.end else { panic!("it ended") };
    path.push("Elsewhere".to_owned());
    let Replayed::EndedOtherwise { difference, .. } = against(same(), &recording) else {
        panic!("another end")
    };
    assert!(difference.contains("-     [2]: \"Left\"") || difference.contains("Elsewhere"), "{difference}");
}

#[test]
fn unreadable_files_are_rejected_with_a_reason() {
    let whole = recorded(json!({"choice": "left"})).to_json();
    let newer = whole.replacen("\"recording\": 1", "\"recording\": 7", 1);
    let edited = whole.replacen("\"causes\"", "\"caused\"", 1);
    let mut mixed = recorded(json!({"choice": "left"}));
    mixed.batches[0].exchanges[0].ask = windlass::Ask::Now;
    for (text, expected) in [
        (&whole[..whole.len() / 2], "it is not JSON"),
        ("{\"format\": 1}", "no recording"),
        (&newer, "format 7, written by Windlass 0"),
        (&edited, "missing field `causes`"),
        (&mixed.to_json(), "the answers of batch 1 do not fit"),
    ] {
        let message = Recording::from_json(text).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}
