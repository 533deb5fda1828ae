//! Status conditions: from what a run did to what the parent shows.

use serde_json::{Value, json};
use windlass_model::Timestamp;

use crate::record::ControllerRecord;
use crate::run::{End, Run};
use crate::states::StateInfo;

/// The condition that sums up all others.
pub const READY: &str = "Ready";
/// The condition that reports that the controller is suspended.
pub const SUSPENDED: &str = "Suspended";

/// A condition to be shown, before it is known whether anything changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) kind: String,
    pub(crate) status: &'static str,
    pub(crate) reason: String,
    pub(crate) message: String,
}

impl Wanted {
    pub(crate) fn new(kind: &str, status: &'static str, reason: &str, message: &str) -> Self {
        Wanted { kind: kind.to_owned(), status, reason: camel_case(reason), message: message.to_owned() }
    }
}

/// The conditions that a run leads to: one per state of the graph that names one.
pub(crate) fn of_states(run: &Run) -> Vec<Wanted> {
    run.graph.iter().enumerate().filter_map(|(index, state)| of_state(run, index, state)).collect()
}

fn of_state(run: &Run, index: usize, state: &StateInfo) -> Option<Wanted> {
    let condition = state.condition?;
    let wanted = if run.done.contains(&index) {
        Wanted::new(condition.kind, "True", "Done", condition.when_true)
    } else if run.stopped_at == Some(index) {
        let message = if run.end.message().is_empty() { condition.when_false } else { run.end.message() };
        Wanted::new(condition.kind, "False", run.end.reason(), message)
    } else {
        Wanted::new(condition.kind, "Unknown", "NotReached", "This run did not get to it")
    };
    Some(wanted)
}

/// What this run says about Ready: True only if it came to its end. A failure counts even where the failing
/// state has no condition.
pub(crate) fn ready(run: &Run) -> Wanted {
    match &run.end {
        End::Done { .. } => Wanted::new(READY, "True", "AllDone", "All states are done"),
        end => {
            let message = match run.stopped_at.and_then(|index| run.graph.get(index)) {
                Some(state) if end.message().is_empty() => format!("Waiting in state {}", state.name),
                Some(state) => format!("In state {}: {}", state.name, end.message()),
                None => end.message().to_owned(),
            };
            Wanted::new(READY, "False", end.reason(), &message)
        }
    }
}

/// Ready over all controllers of a parent: each must have seen this generation and found all as it should be.
///
/// Whichever controller writes it, it reads the same: otherwise two of them would correct each other for ever.
pub(crate) fn ready_with_others(
    own: &ControllerRecord,
    others: &[ControllerRecord],
    generation: i64,
) -> Wanted {
    let mut all: Vec<&ControllerRecord> = others.iter().chain([own]).collect();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    let shown = |record: &ControllerRecord, message: &str| match others {
        [] => message.to_owned(),
        _ => format!("Controller {}: {message}", record.name),
    };
    if let Some(record) = all.iter().find(|record| record.observed_generation != generation) {
        return Wanted::new(READY, "False", "Pending", &shown(record, "It has not seen this generation yet"));
    }
    match all.iter().find(|record| !record.ready) {
        Some(record) => Wanted::new(READY, "False", &record.reason, &shown(record, &record.message)),
        None => Wanted::new(READY, "True", "AllDone", "All states are done"),
    }
}

/// The new `status.conditions`, or `None` if a transition needs the time and none is given.
///
/// Conditions of others stay; those in `removed` go. `lastTransitionTime` moves only when `status` changes.
pub(crate) fn merge(
    old: &Value,
    wanted: &[Wanted],
    removed: &[String],
    generation: i64,
    now: Option<Timestamp>,
) -> Option<Vec<Value>> {
    let mut conditions: Vec<Value> = old.as_array().cloned().unwrap_or_default();
    conditions.retain(|condition| {
        !removed.iter().any(|kind| condition["type"] == kind.as_str())
            || wanted.iter().any(|wanted| condition["type"] == wanted.kind.as_str())
    });
    for wanted in wanted {
        let known = conditions.iter_mut().find(|condition| condition["type"] == wanted.kind.as_str());
        let since = match &known {
            Some(known) if known["status"] == wanted.status && known["lastTransitionTime"].is_string() => {
                known["lastTransitionTime"].clone()
            }
            _ => now?.to_string().into(),
        };
        let shown = json!({
            "type": wanted.kind,
            "status": wanted.status,
            "reason": wanted.reason,
            "message": wanted.message,
            "observedGeneration": generation,
            "lastTransitionTime": since,
        });
        match known {
            Some(known) => *known = shown,
            None => conditions.push(shown),
        }
    }
    Some(conditions)
}

/// Whether a condition is among those that were stored. A structural schema that does not name them silently drops
/// them.
pub(crate) fn contains(stored: &Value, wanted: &Wanted) -> bool {
    let mut stored = stored.as_array().into_iter().flatten();
    stored.any(|condition| condition["type"] == wanted.kind.as_str() && condition["status"] == wanted.status)
}

/// A reason as `metav1.Condition` demands it: a letter first, then letters, digits, `_`, `,`, `:`.
fn camel_case(reason: &str) -> String {
    let kept: String = reason
        .split(|character: char| !(character.is_ascii_alphanumeric() || "_,:".contains(character)))
        .map(|word| {
            let mut characters = word.chars();
            let first = characters.next().map(|first| first.to_ascii_uppercase());
            first.into_iter().chain(characters).collect::<String>()
        })
        .collect();
    let kept = kept.trim_start_matches(|character: char| !character.is_ascii_alphabetic());
    let kept = kept.trim_end_matches([',', ':']);
    if kept.is_empty() { "Unspecified".to_owned() } else { kept.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_moves_only_when_status_flips() {
        let old = json!([{ "type": "A", "status": "True", "reason": "Done", "message": "", "observedGeneration": 1, "lastTransitionTime": "t0" }]);
        let same = [Wanted::new("A", "True", "Done", "other message")];
        let merged = merge(&old, &same, &[], 2, None).unwrap();
        assert_eq!(merged[0]["lastTransitionTime"], "t0");
        assert_eq!(merged[0]["observedGeneration"], 2);

        let flipped = [Wanted::new("A", "False", "Error", "")];
        assert_eq!(merge(&old, &flipped, &[], 2, None), None);
        let merged = merge(&old, &flipped, &[], 2, Some(Timestamp::from_unix_seconds(60))).unwrap();
        assert_eq!(merged[0]["lastTransitionTime"], "1970-01-01T00:01:00Z");
    }

    #[test]
    fn keeps_what_others_wrote_and_removes_what_it_wrote_itself() {
        let old = json!([{ "type": "Theirs", "status": "True" }, { "type": "Gone", "status": "True" }]);
        let merged = merge(&old, &[], &["Gone".to_owned()], 1, None).unwrap();
        assert_eq!(merged, [json!({ "type": "Theirs", "status": "True" })]);
    }

    #[test]
    fn ready_is_the_and_over_all_controllers() {
        let other = |ready, observed_generation| ControllerRecord {
            name: "other".to_owned(),
            observed_generation,
            ready,
            reason: "Broken".to_owned(),
            message: "it is broken".to_owned(),
            ..ControllerRecord::default()
        };
        let own =
            |ready| ControllerRecord { name: "own".to_owned(), reason: "Mine".to_owned(), ..other(ready, 2) };
        for (own, others, expected) in [
            (own(true), vec![], ("True", "AllDone")),
            (own(false), vec![], ("False", "Mine")),
            (own(true), vec![other(true, 2)], ("True", "AllDone")),
            (own(true), vec![other(true, 1)], ("False", "Pending")),
            (own(true), vec![other(false, 2)], ("False", "Broken")),
            (own(false), vec![other(false, 2)], ("False", "Broken")),
        ] {
            let ready = ready_with_others(&own, &others, 2);
            assert_eq!((ready.status, ready.reason.as_str()), expected);
            if let [other] = others.as_slice() {
                assert_eq!(ready_with_others(other, &[own], 2), ready, "it depends on who writes it");
            }
        }
    }

    #[test]
    fn reasons_become_camel_case() {
        for (given, expected) in [
            ("WaitingForToken", "WaitingForToken"),
            ("waiting for token", "WaitingForToken"),
            ("", "Unspecified"),
            ("3 things", "Things"),
            ("ends:", "Ends"),
        ] {
            assert_eq!(camel_case(given), expected);
        }
    }
}
