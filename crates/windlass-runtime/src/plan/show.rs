//! What a plan shows: differences for people, without secrets.

use std::fmt;

use serde_json::{Value, json};
use windlass::model::object;
use windlass::recording::{Exchange, RecordedEnd, difference};
use windlass::{Controller, Event, ObjectRef, ReconcileResult};

use crate::recorder::Redaction;

use super::draft::{Draft, Written};
use super::{Existing, Plan, PlannedAction, PlannedChange, Planner};

/// What changes with every write, or is the server's own bookkeeping.
const NOISE: [&str; 6] =
    ["managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink"];

impl Planner {
    pub(super) fn show(
        &self,
        controller: &Controller,
        target: &ObjectRef,
        draft: Draft,
        exchanges: &[Exchange],
        mut calls: Vec<(String, Value)>,
        mut end: Option<RecordedEnd>,
    ) -> Plan {
        let redaction: &Redaction = &self.redaction;
        let mut secrets = redaction.secrets();
        exchanges.iter().for_each(|exchange| redaction.learn(&mut secrets, &exchange.ask, &exchange.answer));
        let written = draft.written();
        for Written { resource, before, after, .. } in &written {
            let objects = before.iter().chain(after);
            objects.for_each(|object| redaction.learn_from(&mut secrets, object, Some(resource)));
        }
        let shown = |written: &Written| {
            let clean = |object: &Existing| {
                let mut object = object.as_deref().cloned()?;
                NOISE.iter().for_each(|field| drop(object::remove_meta(&mut object, field)));
                redaction.hide_in_object(&secrets, &mut object, Some(&written.resource));
                Some(object)
            };
            change(written, clean(&written.before), clean(&written.after))
        };
        let changes = written.iter().filter_map(shown).collect();
        calls.iter_mut().for_each(|(_, request)| redaction.hide_in_value(&secrets, request));
        end.iter_mut().for_each(|end| redaction.hide_in_end(&secrets, end));
        let events = match &end {
            Some(RecordedEnd::Ended { events, .. }) => events.clone(),
            Some(RecordedEnd::Bug(_) | RecordedEnd::TimedOut) | None => Vec::new(),
        };
        Plan { controller: controller.name().to_owned(), target: target.clone(), changes, calls, events, end }
    }
}

fn change(written: &Written, before: Option<Value>, after: Option<Value>) -> Option<PlannedChange> {
    let action = match (&before, &after) {
        (None, Some(_)) => PlannedAction::Create,
        (Some(_), None) => PlannedAction::Delete,
        (Some(before), Some(after)) if before != after => PlannedAction::Change,
        _ => return None,
    };
    let kind = after.as_ref().or(before.as_ref()).map(|object| object["kind"].as_str().unwrap_or("?"));
    let group = &written.resource.group;
    let kind = kind.unwrap_or("?");
    Some(PlannedChange {
        action,
        kind: if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") },
        object: written.key.clone(),
        difference: difference(&before.unwrap_or_default(), &after.unwrap_or_default()),
    })
}

impl Plan {
    /// Whether any object would be different.
    pub fn has_changes(&self) -> bool {
        !self.changes.is_empty()
    }

    /// The plan for tools.
    pub fn to_value(&self) -> Value {
        let change = |change: &PlannedChange| {
            json!({
                "action": change.action.to_string(),
                "kind": change.kind,
                "namespace": change.object.namespace,
                "name": change.object.name,
                "difference": change.difference,
            })
        };
        let call = |(service, request): &(String, Value)| json!({ "service": service, "request": request });
        json!({
            "controller": self.controller,
            "target": self.target,
            "changes": self.changes.iter().map(change).collect::<Vec<_>>(),
            "calls": self.calls.iter().map(call).collect::<Vec<_>>(),
            "events": self.events,
            "end": self.end,
        })
    }
}

impl fmt::Display for PlannedAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PlannedAction::Create => "create",
            PlannedAction::Change => "change",
            PlannedAction::Delete => "delete",
        })
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} would reconcile {} like this:", self.controller, self.target)?;
        for PlannedChange { action, kind, object, difference } in &self.changes {
            writeln!(f, "\n{action} {kind} {object}")?;
            difference.lines().try_for_each(|line| writeln!(f, "  {line}"))?;
        }
        if self.changes.is_empty() {
            let so_far = if self.end.is_some() { "" } else { " so far" };
            writeln!(f, "\nno object would be different{so_far}")?;
        }
        for (service, request) in &self.calls {
            writeln!(f, "\ncall {service} with {request}")?;
        }
        for Event { warning, reason, message } in &self.events {
            let kind = if *warning { "Warning" } else { "Normal" };
            writeln!(f, "\nevent {kind} {reason}: {message}")?;
        }
        match &self.end {
            Some(end) => writeln!(f, "\n{}", ending(end)),
            None => {
                writeln!(f, "\nwhat comes next is unknown: a plan calls nothing outside the cluster")
            }
        }
    }
}

fn ending(end: &RecordedEnd) -> String {
    let RecordedEnd::Ended { result, path, .. } = end else {
        return match end {
            RecordedEnd::Bug(bug) => format!("it would stop at a mistake in its code: {bug}"),
            _ => "it would not come to an end".to_owned(),
        };
    };
    let how = match result {
        ReconcileResult::Gone => "there is no such parent".to_owned(),
        ReconcileResult::Idle => "it would do nothing: suspended, or being deleted by others".to_owned(),
        ReconcileResult::Done { requeue_after: None } => "it would be done".to_owned(),
        ReconcileResult::Done { requeue_after: Some(after) } => {
            format!("it would be done, and requeued after {after:?}")
        }
        ReconcileResult::Requeue { after, reason } => format!("it would wait {after:?}: {reason}"),
        ReconcileResult::Conflict { message, .. } => format!("it would meet another writer: {message}"),
        ReconcileResult::Failed { reason, message } => {
            format!("it would fail and try again: {reason}: {message}")
        }
        ReconcileResult::Terminal { reason, message } => {
            format!("it would fail for good: {reason}: {message}")
        }
    };
    if path.is_empty() { how } else { format!("{how} ({})", path.join(" -> ")) }
}
