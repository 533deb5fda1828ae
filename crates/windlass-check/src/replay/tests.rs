//! A toy: a client fills a jar, spills may happen, and a cleaner repairs them, or tries to.

use super::*;
use crate::engine::Property;
use crate::trace::{BrokenRule, ObjectChange, Trace};

/// How the toy behaves; the field that differs is the repair.
#[derive(Clone)]
struct Jar {
    most: u32,
    sips: u32,
    cleaner_works: bool,
    overflow_is_violation: bool,
}

const CARELESS: Jar = Jar { most: 3, sips: 1, cleaner_works: false, overflow_is_violation: false };

#[derive(Clone, Copy, Debug, PartialEq)]
struct State {
    full: u32,
    spilt: bool,
    cleaning: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Action {
    Fill,
    Spill,
    Clean,
}

impl Model for Jar {
    type State = State;
    type Action = Action;

    fn width(&self) -> usize {
        3
    }

    fn encode(&mut self, state: &State, words: &mut [u32]) {
        words.copy_from_slice(&[state.full, u32::from(state.spilt), u32::from(state.cleaning)]);
    }

    fn decode(&mut self, words: &[u32]) -> State {
        State { full: words[0], spilt: words[1] == 1, cleaning: words[2] == 1 }
    }

    fn initial(&mut self) -> Vec<State> {
        // The second is the one that traces start from.
        [9, 0].map(|full| State { full, spilt: false, cleaning: false }).to_vec()
    }

    fn actions(&mut self, state: &State, actions: &mut Vec<Action>) {
        if state.full < self.most {
            actions.push(Action::Fill);
        }
        if state.spilt {
            actions.push(Action::Clean);
        } else if state.full > 0 {
            actions.push(Action::Spill);
        }
    }

    fn next(&mut self, state: &State, action: &Action) -> Next<State> {
        let full = state.full + self.sips;
        Next::State(match action {
            Action::Fill if self.overflow_is_violation && full == 2 => {
                return Next::Violation("it runs over".to_owned());
            }
            Action::Fill => State { full, ..*state },
            Action::Spill => State { spilt: true, ..*state },
            Action::Clean if self.cleaner_works => State { spilt: false, cleaning: false, ..*state },
            Action::Clean => State { cleaning: !state.cleaning, ..*state },
        })
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let most = self.most;
        vec![
            Property::always("less than 2", |_, state: &State| state.full < 2 || state.full == 9),
            Property::sometimes("full", move |_, state: &State| state.full == most),
            Property::eventually("clean", |_, state: &State| !state.spilt),
        ]
    }

    fn describe(&mut self, state: &State, action: &Action) -> TraceStep {
        let Next::State(next) = self.next(state, action) else {
            return TraceStep { action: format!("{action:?}"), ..TraceStep::default() };
        };
        let summary = format!("~ jar: {} to {}", state.full, next.full);
        let change = ObjectChange { object: "jar".to_owned(), summary, ..ObjectChange::default() };
        TraceStep {
            action: format!("{action:?}"),
            actor: if *action == Action::Clean { "cleaner" } else { "client" }.to_owned(),
            text: format!("{action:?}").to_lowercase(),
            fault: self.is_fault(action).then(|| "spill".to_owned()),
            changes: if *action == Action::Fill { vec![change] } else { Vec::new() },
            ..TraceStep::default()
        }
    }

    fn is_fault(&self, action: &Action) -> bool {
        *action == Action::Spill
    }

    fn evaluate_end(&mut self, states: &mut dyn Iterator<Item = State>) -> Option<(usize, String)> {
        let dirty = states.enumerate().find(|(_, state)| state.cleaning)?;
        Some((dirty.0, "cleaning never ends".to_owned()))
    }
}

/// Records a run of the careless jar.
fn recorded(kind: RuleKind, property: Option<&str>, steps: &[Action], repeats: &[Action]) -> Counterexample {
    record(CARELESS, kind, property, steps, repeats)
}

fn record(
    mut model: Jar,
    kind: RuleKind,
    property: Option<&str>,
    steps: &[Action],
    repeats: &[Action],
) -> Counterexample {
    let mut state = model.initial()[1];
    let mut describe = |actions: &[Action]| {
        let mut trace = Trace::default();
        for action in actions {
            trace.steps.push(model.describe(&state, action));
            if let Next::State(next) = model.next(&state, action) {
                state = next;
            }
        }
        trace
    };
    let (steps, repeats) = (describe(steps), describe(repeats));
    let property = property.map(str::to_owned);
    Counterexample::new("jar", "small", BrokenRule { kind, property, message: String::new() })
        .along(steps, repeats)
}

use Action::{Clean, Fill, Spill};

#[test]
fn an_always_is_evaluated_on_every_state() {
    let document = recorded(RuleKind::Always, Some("less than 2"), &[Fill, Spill, Fill], &[]);
    assert_eq!(
        replay(&CARELESS, &document).to_string(),
        "still wrong: always \"less than 2\" does not hold after step 3\n"
    );
    let early = recorded(RuleKind::Always, Some("less than 2"), &[Fill], &[]);
    assert_eq!(
        replay(&CARELESS, &early).to_string(),
        "no longer wrong: always \"less than 2\" holds after every step\n"
    );
}

#[test]
fn an_action_that_is_gone_diverges() {
    let document = recorded(RuleKind::Always, Some("less than 2"), &[Fill, Spill, Fill], &[]);
    let repaired = Jar { most: 1, ..CARELESS };
    assert_eq!(
        replay(&repaired, &document).to_string(),
        "\
step 3 diverges:
  recorded: client  fill
              ~ jar: 1 to 2
       now: not possible; these are:
            cleaner  clean
"
    );
    let Replayed::Diverged { step: 3, recorded, now: Now::Possible(now) } = replay(&repaired, &document)
    else {
        panic!("it diverges")
    };
    assert_eq!((recorded.action.as_str(), now.len()), ("Fill", 1));
}

#[test]
fn an_action_that_does_something_else_diverges() {
    let document = recorded(RuleKind::Always, Some("less than 2"), &[Fill, Fill], &[]);
    let changed = Jar { sips: 0, ..CARELESS };
    assert_eq!(
        replay(&changed, &document).to_string(),
        "\
step 1 diverges:
  recorded: client  fill
              ~ jar: 0 to 1
       now: client  fill
              ~ jar: 0 to 0
"
    );
    let overflowing = Jar { overflow_is_violation: true, ..CARELESS };
    assert_eq!(
        replay(&overflowing, &document).to_string(),
        "step 2 diverges:\n  recorded: client  fill\n              ~ jar: 1 to 2\n       now: it runs over\n"
    );
}

#[test]
fn an_eventually_is_violated_where_fair_runs_stay() {
    let steps = [Fill, Fill, Fill, Spill];
    let document = recorded(RuleKind::Eventually, Some("clean"), &steps, &[Clean, Clean]);
    assert_eq!(
        replay(&CARELESS, &document).to_string(),
        "still wrong: eventually \"clean\" does not come true after step 4, and the same repeats for ever\n"
    );
    let end = recorded(RuleKind::End, None, &steps, &[Clean, Clean]);
    assert_eq!(
        replay(&CARELESS, &end),
        Replayed::Reproduced { message: "cleaning never ends after step 4".to_owned() }
    );
    let quiet = recorded(RuleKind::End, None, &[Fill, Fill, Fill], &[]);
    assert!(matches!(replay(&CARELESS, &quiet), Replayed::Undecided { .. }));
    // A loop that fair runs leave, for the jar is filled sooner or later, is no end.
    let passing = recorded(RuleKind::Eventually, Some("clean"), &[Fill, Spill], &[Clean, Clean]);
    assert_eq!(
        replay(&CARELESS, &passing),
        Replayed::NotReproduced { message: "after step 2, things go on to an end elsewhere".to_owned() }
    );
}

#[test]
fn a_repaired_loop_is_not_reproduced() {
    let steps = [Fill, Fill, Fill, Spill];
    let document = recorded(RuleKind::Eventually, Some("clean"), &steps, &[]);
    let repaired = Jar { cleaner_works: true, ..CARELESS };
    assert_eq!(
        replay(&repaired, &document),
        Replayed::NotReproduced { message: "after step 4, things go on to an end elsewhere".to_owned() }
    );
    // What repeats is walked too, and numbered on.
    let document = recorded(RuleKind::Eventually, Some("clean"), &steps, &[Clean, Clean]);
    assert!(
        matches!(replay(&repaired, &document), Replayed::Diverged { step: 6, now: Now::Possible(now), .. }
        if now.len() == 1)
    );
}

#[test]
fn a_violating_step_is_reproduced() {
    let overflowing = Jar { overflow_is_violation: true, ..CARELESS };
    let document = record(overflowing.clone(), RuleKind::Step, None, &[Fill, Fill], &[]);
    assert_eq!(replay(&overflowing, &document).to_string(), "still wrong: it runs over\n");
    assert_eq!(
        replay(&CARELESS, &document).to_string(),
        "no longer wrong: the last step does nothing wrong now\n"
    );
}

#[test]
fn a_sometimes_needs_the_whole_check() {
    let document = recorded(RuleKind::Sometimes, Some("full"), &[Fill], &[]);
    assert!(matches!(replay(&CARELESS, &document), Replayed::Undecided { .. }));
    let full = recorded(RuleKind::Sometimes, Some("full"), &[Fill, Fill, Fill], &[]);
    let expected = "no longer wrong: sometimes \"full\" is true after step 3\n";
    assert_eq!(replay(&CARELESS, &full).to_string(), expected);
}

#[test]
fn a_property_that_is_gone_leaves_it_undecided() {
    let document = recorded(RuleKind::Always, Some("less than 1"), &[Fill], &[]);
    assert_eq!(
        replay(&CARELESS, &document).to_string(),
        "not decided: the check has no property always \"less than 1\" any more, only \"less than 2\"\n"
    );
}
