//! What makes a verdict worth less than it seems: reconciles that never succeed, events that never happen.

use windlass::ReconcileResult;

use crate::index::ProcessIndex;
use crate::show;
use crate::world::Parts;

/// A controller none of whose reconciles can end but in failure, in words.
pub(crate) fn never_succeeds(parts: &Parts) -> Option<String> {
    let mut processes = parts.setup.processes.iter().enumerate();
    processes.find_map(|(number, controller)| {
        let mut ends = parts.steps.ends_of(ProcessIndex::new(number)).peekable();
        let reason = match &ends.peek()?.result {
            ReconcileResult::Failed { reason, message } | ReconcileResult::Terminal { reason, message } => {
                format!("{reason}: {message}")
            }
            _ => return None,
        };
        let all_fail = ends.all(|ended| {
            matches!(
                ended.result,
                ReconcileResult::Failed { .. }
                    | ReconcileResult::Terminal { .. }
                    | ReconcileResult::Conflict { .. }
            )
        });
        all_fail.then(|| format!("a reconcile of `{}` does not fail ({reason})", controller.name()))
    })
}

/// What else should be known to read the verdict rightly.
pub(crate) fn notes(parts: &Parts) -> Vec<String> {
    waits_only(parts).chain(refused_events(parts)).collect()
}

/// Controllers whose reconciles always wait for something: what comes after the wait was never checked.
fn waits_only(parts: &Parts) -> impl Iterator<Item = String> {
    let processes = parts.setup.processes.iter().enumerate();
    processes.filter_map(|(number, controller)| {
        let mut reasons: Vec<&str> = Vec::new();
        for ended in parts.steps.ends_of(ProcessIndex::new(number)) {
            match &ended.result {
                ReconcileResult::Done { .. } => return None,
                ReconcileResult::Requeue { reason, .. } => reasons.push(reason),
                _ => {}
            }
        }
        reasons.sort_unstable();
        reasons.dedup();
        (!reasons.is_empty()).then(|| {
            format!(
                "no reconcile of `{}` gets to its end: it always waits ({}). Let a script or a service bring about what \
                 it waits for",
                controller.name(),
                reasons.join(", ")
            )
        })
    })
}

fn refused_events(parts: &Parts) -> impl Iterator<Item = String> {
    let refused = parts.refused_events.iter().filter_map(|(event, refusal)| Some((event, refusal.as_ref()?)));
    refused.map(|((script, event), refusal)| {
        let ask = parts.setup.scripts[script.index()][*event].ask().map(show::ask).unwrap_or_default();
        format!("event {} of script {}, `{ask}`, never succeeds: {refusal}", event + 1, script.index() + 1)
    })
}
