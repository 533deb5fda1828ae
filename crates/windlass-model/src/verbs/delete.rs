//! Delete: at once, after a grace period, or once the finalizers are gone.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::metadata::{FOREGROUND_FINALIZER, ORPHAN_FINALIZER};
use crate::object;
use crate::request::{Options, Propagation};
use crate::response::Response;
use crate::status::{Details, Status};
use crate::store::{Change, Store};
use crate::time::Timestamp;
use crate::types::TypeInfo;

use super::call::{Call, Earlier};
use super::policy::{self, DependentsPolicy};
use super::{Effect, review, terminate};

const JOB_WARNING: &str = "child pods are preserved by default when jobs are deleted; set \
    propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning";

/// Deletes the object that the request names.
pub(super) fn delete<S: Store + ?Sized>(call: &Call<'_, S>) -> Result<Effect, Status> {
    let mut effect = delete_stored(call, call.existing()?, Earlier::default(), Review::Needed)?;
    if call.is("batch", "jobs") && call.request.options.propagation.is_none() {
        effect.response.warnings.push(JOB_WARNING.to_owned());
    }
    Ok(effect)
}

/// Whether admission policies are asked about a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Review {
    Needed,
    /// They have been asked about the eviction that leads to it.
    Done,
}

/// Deletes one object, after what the same request has written before.
pub(super) fn delete_stored<S: Store + ?Sized>(
    call: &Call<'_, S>,
    stored: Arc<Value>,
    earlier: Earlier,
    review: Review,
) -> Result<Effect, Status> {
    let plan = match terminate::first_delete(call, &stored)? {
        Some(plan) => plan,
        None => plan(call.info, &stored, &call.request.options, call.now)?,
    };
    if review == Review::Needed && plan != Plan::Keep {
        review::deleted(call, &call.view(&stored))?;
    }
    Ok(carry_out(call, stored, plan, earlier))
}

/// What a delete does to an object.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Plan {
    /// Nothing: it is on its way already.
    Keep,
    /// It stays, changed, until something else happens.
    Mark(Value),
    /// It is marked first, so that watchers see why it went, and then removed.
    MarkAndRemove(Value),
    /// It is removed.
    Remove,
}

/// Decides what a delete does. Pure: the object, the options and the time are all there is.
fn plan(info: &TypeInfo, stored: &Value, options: &Options, now: Timestamp) -> Result<Plan, Status> {
    check_preconditions(info, stored, options)?;
    let mut marked = stored.clone();
    let grace = match graceful(info, stored, options, now) {
        Grace::None => None,
        Grace::Pending => return Ok(Plan::Keep),
        Grace::Until { period, time } => {
            bump_generation(&mut marked, stored);
            object::set_meta(&mut marked, "deletionTimestamp", time.to_string());
            object::set_meta(&mut marked, "deletionGracePeriodSeconds", period);
            Some(period)
        }
    };
    set_collector_finalizers(info, &mut marked, options);
    let held = object::finalizers(&marked).next().is_some();
    Ok(match grace {
        None if !held => Plan::Remove,
        None => {
            mark_as_deleting(&mut marked, stored, now);
            Plan::Mark(marked)
        }
        Some(0) if !held => Plan::MarkAndRemove(marked),
        Some(_) => Plan::Mark(marked),
    })
}

/// Refuses to delete an object that is not the one, or not in the version, that the client means.
fn check_preconditions(info: &TypeInfo, stored: &Value, options: &Options) -> Result<(), Status> {
    let wanted = &options.preconditions;
    let (uid, version) = (object::uid(stored), object::resource_version(stored));
    let why = if let Some(given) = wanted.uid.as_deref().filter(|given| *given != uid) {
        format!(
            "the UID in the precondition ({given}) does not match the UID in record ({uid}). \
             The object might have been deleted and then recreated"
        )
    } else if let Some(given) = wanted.resource_version.as_deref().filter(|given| *given != version) {
        format!(
            "the ResourceVersion in the precondition ({given}) does not match the ResourceVersion in record \
             ({version}). The object might have been modified"
        )
    } else {
        return Ok(());
    };
    // Kubernetes names the kind here, where it names the resource elsewhere.
    Err(Status::conflict(&info.resource.group, &info.kind, object::name(stored), &why))
}

/// Whether an object gets time to end.
enum Grace {
    /// The type knows no grace, or the time is over.
    None,
    /// It has been given time already, and not more than the request gives.
    Pending,
    /// It has a grace period in seconds, which ends at `time`.
    Until { period: i64, time: Timestamp },
}

/// Only pods are deleted gracefully.
fn graceful(info: &TypeInfo, stored: &Value, options: &Options, now: Timestamp) -> Grace {
    if info.kind != "Pod" || !info.resource.group.is_empty() {
        return Grace::None;
    }
    let requested = options.grace_period_seconds.map(|seconds| if seconds < 0 { 1 } else { seconds });
    if object::is_deleting(stored) {
        return shortened(stored, requested, now);
    }
    let default = stored["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or(0);
    let unscheduled = stored["spec"]["nodeName"].as_str().unwrap_or("").is_empty();
    let over = matches!(stored["status"]["phase"].as_str(), Some("Failed" | "Succeeded"));
    let period = match requested.unwrap_or(default) {
        _ if unscheduled || over => 0,
        negative if negative < 0 => 1,
        period => period,
    };
    Grace::Until { period, time: now.plus_seconds(period) }
}

/// A second delete may only shorten the time.
fn shortened(stored: &Value, requested: Option<i64>, now: Timestamp) -> Grace {
    let current = stored["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
    let current = if current < 0 { 1 } else { current };
    if current == 0 {
        return Grace::None;
    }
    let Some(period) = requested.filter(|period| *period < current) else { return Grace::Pending };
    let end = Timestamp::parse(object::meta_str(stored, "deletionTimestamp")).unwrap_or(now);
    let time = end.plus_seconds(-current).plus_seconds(period);
    if time >= now {
        Grace::Until { period, time }
    } else {
        // All of the time is over; one second leaves the last word to whoever runs the pod.
        Grace::Until { period: period.min(1), time: now }
    }
}

/// Sets the finalizers through which the garbage collector learns what to do with dependents.
fn set_collector_finalizers(info: &TypeInfo, marked: &mut Value, options: &Options) {
    let old: Vec<String> = object::finalizers(marked).map(str::to_owned).collect();
    let wanted = collector_finalizer(info, &old, options);
    let mut new: Vec<String> = old
        .iter()
        .filter(|name| *name != ORPHAN_FINALIZER && *name != FOREGROUND_FINALIZER)
        .cloned()
        .collect();
    new.extend(wanted.map(str::to_owned));
    if BTreeSet::from_iter(&old) == BTreeSet::from_iter(&new) {
        return;
    }
    if new.is_empty() {
        object::remove_meta(marked, "finalizers");
    } else {
        object::set_meta(marked, "finalizers", new);
    }
}

/// The request decides, then a finalizer that is there already, then the type.
pub(super) fn collector_finalizer(
    info: &TypeInfo,
    old: &[String],
    options: &Options,
) -> Option<&'static str> {
    let default = policy::dependents(info);
    if default == DependentsPolicy::Unsupported {
        return None;
    }
    match options.propagation {
        Some(Propagation::Background) => None,
        Some(Propagation::Foreground) => Some(FOREGROUND_FINALIZER),
        Some(Propagation::Orphan) => Some(ORPHAN_FINALIZER),
        None => old
            .iter()
            .find_map(|name| [ORPHAN_FINALIZER, FOREGROUND_FINALIZER].into_iter().find(|known| name == known))
            .or((default == DependentsPolicy::Orphan).then_some(ORPHAN_FINALIZER)),
    }
}

fn mark_as_deleting(marked: &mut Value, stored: &Value, now: Timestamp) {
    bump_generation(marked, stored);
    let end = Timestamp::parse(object::meta_str(stored, "deletionTimestamp"));
    if end.is_none_or(|end| end > now) {
        object::set_meta(marked, "deletionTimestamp", now.to_string());
    }
    object::set_meta(marked, "deletionGracePeriodSeconds", 0);
}

/// Being deleted is a change of what is wanted, once.
fn bump_generation(marked: &mut Value, stored: &Value) {
    let generation = object::generation(stored);
    if generation > 0 && !object::is_deleting(stored) {
        object::set_meta(marked, "generation", generation + 1);
    }
}

/// Turns a plan into changes and an answer.
fn carry_out<S: Store + ?Sized>(
    call: &Call<'_, S>,
    stored: Arc<Value>,
    plan: Plan,
    mut earlier: Earlier,
) -> Effect {
    let key = call.key(object::name(&stored));
    let mut changes = Vec::new();
    let mut write = |before: &Arc<Value>, after: Option<Value>| {
        let version = call.version(&key, earlier);
        earlier = Earlier { writes: earlier.writes + 1, version };
        let after = after.map(|object| Arc::new(stamped(call, object, version)));
        let before = Some(before.clone());
        changes.push(Change { key: key.clone(), before, after: after.clone(), version });
        (version, after)
    };
    let response = match plan {
        Plan::Keep => Response::object(call.view(&stored)),
        Plan::Mark(marked) if marked == *stored => Response::object(call.view(&stored)),
        Plan::Mark(marked) => {
            let (_, after) = write(&stored, Some(marked));
            Response::object(call.view(&after.unwrap_or(stored)))
        }
        Plan::MarkAndRemove(marked) => {
            let (_, after) = write(&stored, Some(marked));
            let last = after.unwrap_or(stored);
            let (version, _) = write(&last, None);
            gone(call, &last, version)
        }
        Plan::Remove => {
            let (version, _) = write(&stored, None);
            gone(call, &stored, version)
        }
    };
    Effect { response, changes }
}

fn stamped<S: Store + ?Sized>(call: &Call<'_, S>, mut object: Value, version: u64) -> Value {
    if !call.request.options.dry_run {
        object::set_meta(&mut object, "resourceVersion", version.to_string());
    }
    object
}

/// The answer when an object is gone: its last state for some types, else a `Status` with its uid.
fn gone<S: Store + ?Sized>(call: &Call<'_, S>, last: &Arc<Value>, version: u64) -> Response {
    if call.info.returns_deleted_object() {
        return Response::object(stamped(call, (*call.view(last)).clone(), version));
    }
    let resource = &call.info.resource;
    let mut status = Status::success().about(&resource.group, &resource.plural, object::name(last));
    let details = status.details.get_or_insert_with(Details::default);
    details.uid = Some(object::uid(last).to_owned());
    Response::status(status)
}
