//! Writing the parent's status: once per reconcile, and only if something changes.

use serde_json::{Map, Value};
use windlass_model::object;

use crate::conditions::{self, READY, SUSPENDED, Wanted};
use crate::contested::CONTESTED;
use crate::declaration::SUSPEND_ANNOTATION;
use crate::machine::Controller;
use crate::outcome::Error;
use crate::reconcile::{ReconcileState, is_gone};
use crate::reconcile_result::{Event, ReadyChange, ReconcileResult, Reconciled};
use crate::record::{other_records, with_record};
use crate::report::Report;
use crate::run::{End, Run};

/// Writes what a run found out, and says how the reconcile ended.
pub(crate) async fn conclude(
    controller: &Controller,
    reconcile: &mut ReconcileState,
    mut run: Run,
) -> Reconciled {
    reconcile.io.enter("(writing the status)");
    let (mut result, mut change) = (run.end.result(), None);
    if reconcile.declaration.keeps_status() {
        let before = Shown::of(&reconcile.parent);
        match write_run(controller, reconcile, &run).await {
            Ok(ready) => {
                run.events.extend(ready_event(&before, &ready, &result));
                change = before.change_to(ready);
            }
            // Deleted in the meantime: there is no status left to write.
            Err(error) if is_gone(&error) => result = ReconcileResult::Gone,
            Err(error) => result = End::failed(error).result(),
        }
    }
    let bug = match &run.end {
        End::Bug { bug, .. } => Some((**bug).clone()),
        _ => None,
    };
    Reconciled { result, path: run.path(), bug, events: run.events, ready: change }
}

/// Reports that the controller is suspended.
pub(crate) async fn write_suspended(reconcile: &mut ReconcileState) -> Result<(), Error> {
    if !reconcile.declaration.keeps_status() {
        return Ok(());
    }
    let message = format!("The annotation {SUSPEND_ANNOTATION} is set; remove it to go on");
    let wanted = [Wanted::new(SUSPENDED, "True", "Annotated", &message)];
    // What earlier runs found out stays as it was: nothing has been looked at.
    let observed = reconcile.parent["status"]["observedGeneration"].clone();
    write(reconcile, &wanted, &[], observed, &Report::default()).await
}

/// Writes the conditions of a run and this controller's record; returns the Ready condition.
async fn write_run(
    controller: &Controller,
    reconcile: &mut ReconcileState,
    run: &Run,
) -> Result<Wanted, Error> {
    let generation = object::generation(&reconcile.parent);
    let others = other_records(&reconcile.parent, &reconcile.declaration.name);
    let own = conditions::ready(run);
    let mut wanted = conditions::of_states(run);

    // Conditions of states that the code of today does not have any more go; all others of ours stay.
    let known = controller.condition_kinds();
    let (mut kept, mut removed): (Vec<String>, Vec<String>) =
        std::mem::take(&mut reconcile.record.conditions)
            .into_iter()
            .partition(|kind| known.contains(&kind.as_str()));
    removed.push(SUSPENDED.to_owned());
    kept.extend(wanted.iter().map(|condition| condition.kind.clone()));
    kept.sort();
    kept.dedup();

    reconcile.record.conditions = kept;
    reconcile.record.observed_generation = generation;
    reconcile.record.ready = own.status == "True";
    (reconcile.record.reason, reconcile.record.message) =
        if reconcile.record.ready { Default::default() } else { (own.reason, own.message) };

    let ready = conditions::ready_with_others(&reconcile.record, &others, generation);
    wanted.push(ready.clone());
    let observed = others.iter().map(|other| other.observed_generation).fold(generation, i64::min);
    write(reconcile, &wanted, &removed, observed.into(), &run.report).await?;
    Ok(ready)
}

/// Writes conditions, the observed generation, this controller's record and what the machine reports, unless they are
/// so already.
async fn write(
    reconcile: &mut ReconcileState,
    wanted: &[Wanted],
    removed: &[String],
    observed_generation: Value,
    report: &Report,
) -> Result<(), Error> {
    let generation = object::generation(&reconcile.parent);
    let merge = |reconcile: &ReconcileState, now| {
        conditions::merge(&reconcile.parent["status"]["conditions"], wanted, removed, generation, now)
    };
    let merged = match merge(reconcile, None) {
        Some(merged) => merged,
        // A condition changes, so the time is needed.
        None => {
            let now = reconcile.io.now().await;
            merge(reconcile, Some(now)).unwrap_or_default()
        }
    };
    let mut fields = Map::from_iter([
        ("conditions".to_owned(), merged.into()),
        ("controllers".to_owned(), with_record(&reconcile.parent, &reconcile.record)),
    ]);
    if !observed_generation.is_null() {
        fields.insert("observedGeneration".to_owned(), observed_generation);
    }
    let old = &reconcile.parent["status"];
    let reported = report.changes(old);
    if reported.is_empty() && fields.iter().all(|(name, value)| old[name] == *value) {
        return Ok(());
    }
    fields.extend(reported);
    reconcile.write_status(fields.into()).await?;
    let stored = &reconcile.parent["status"]["conditions"];
    if let Some(lost) = wanted.iter().find(|condition| !conditions::contains(stored, condition)) {
        return Err(reconcile.status_not_stored(&format!("`conditions` (here {})", lost.kind)));
    }
    match report.lost(&reconcile.parent["status"]) {
        None => Ok(()),
        Some(field) => Err(reconcile.status_not_stored(&format!("`{field}`, which the machine reports"))),
    }
}

/// What a parent shows about Ready.
struct Shown {
    status: String,
    reason: String,
}

impl Shown {
    fn of(parent: &Value) -> Self {
        let mut conditions = parent["status"]["conditions"].as_array().into_iter().flatten();
        let ready = conditions.find(|condition| condition["type"] == READY);
        let text = |field: &str| ready.and_then(|ready| ready[field].as_str()).map(str::to_owned);
        Shown {
            status: text("status").unwrap_or_else(|| "Unknown".to_owned()),
            reason: text("reason").unwrap_or_default(),
        }
    }

    fn change_to(self, ready: Wanted) -> Option<ReadyChange> {
        let changed = self.status != ready.status || self.reason != ready.reason;
        changed.then_some(ReadyChange {
            status: ready.status,
            reason: ready.reason,
            message: ready.message,
            previous_status: self.status,
            previous_reason: self.reason,
        })
    }
}

/// An Event when Ready changes, or when the reason becomes one that only people can do something about. To wait is
/// ordinary: a warning is for runs that failed.
fn ready_event(before: &Shown, ready: &Wanted, result: &ReconcileResult) -> Option<Event> {
    let newly_contested = ready.reason == CONTESTED && before.reason != CONTESTED;
    if ready.status == before.status && !newly_contested {
        return None;
    }
    Some(match result {
        _ if ready.status == "True" => Event::normal("Ready", ready.message.clone()),
        // That it is not ready although it is done is because of another controller, which says so itself.
        ReconcileResult::Requeue { .. } | ReconcileResult::Done { .. } => {
            Event::normal(ready.reason.clone(), ready.message.clone())
        }
        _ => Event::warning(ready.reason.clone(), ready.message.clone()),
    })
}
