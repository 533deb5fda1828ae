//! Making an output what a state wants it to be, and refusing to take what is not ours.

use std::sync::Arc;

use serde_json::Value;
use windlass_model::{Reason, Request, Status, Verb, object};

use crate::ask::Shortcut;
use crate::bug::Bug;
use crate::detail::Detail;
use crate::field_manager;
use crate::io::object_of;
use crate::kind::ObjectRef;
use crate::outcome::Error;
use crate::output::{Fence, Output, shown};
use crate::ownership::{is_ours, is_unclaimed};
use crate::reconcile::ReconcileState;
use crate::record::OutputRecord;
use crate::run::End;

/// Applies one output and adds it to what this run has ensured.
pub(crate) async fn apply(
    reconcile: &mut ReconcileState,
    ensured: &mut Vec<OutputRecord>,
    output: &Output,
    deleting: bool,
) -> Result<(), End> {
    check_declared(reconcile, output).map_err(End::bug)?;
    let target = reconcile.target();
    let key = output.key(&target);
    let mut record = OutputRecord::new(&output.kind, &key, "");
    record.unowned = !output.is_owned(&reconcile.declaration, &target);
    record.untied = !output.labelled;
    if ensured.iter().any(|known| known.same_object(&record)) {
        return Err(End::bug(Bug::OutputTwice {
            controller: reconcile.declaration.name.clone(),
            state: reconcile.io.state().to_owned(),
            output: shown(&output.kind, &key),
        }));
    }
    // What a cache says is good enough to find a stranger; a finalizer must not rely on it.
    let freshness = if deleting { Shortcut::None } else { Shortcut::Cache };
    let live =
        reconcile.io.get_detail(&output.kind, &key, freshness, detail(output)).await.map_err(End::failed)?;
    if let Some(live) = &live
        && !output.force
        && !is_ours(reconcile, &record, live)
        && !is_unclaimed(reconcile, live)
    {
        return Err(End::failed(taken(&record, live).into()));
    }
    if live.is_none() && deleting {
        return Ok(());
    }
    if !deleting && record.untied {
        reconcile.record_before_creation(&record).await.map_err(End::failed)?;
    }
    let written = write(reconcile, output, &key, &record, live).await.map_err(End::failed)?;
    record.uid = object::uid(&written).to_owned();
    ensured.push(record);
    Ok(())
}

/// Writes the output as its fence allows, and returns what is there then.
async fn write(
    reconcile: &ReconcileState,
    output: &Output,
    key: &ObjectRef,
    record: &OutputRecord,
    live: Option<Arc<Value>>,
) -> Result<Arc<Value>, Error> {
    let body = output.to_apply(&reconcile.declaration, &reconcile.parent);
    match (&output.fence, live) {
        (Fence::Absent, Some(live)) => Ok(live),
        (Fence::Absent, None) => match create(reconcile, output, key, body).await {
            Err(Error::Api(status)) if status.reason == Some(Reason::AlreadyExists) => {
                created_meanwhile(reconcile, output, key, record, *status).await
            }
            created => created,
        },
        (Fence::Unchanged, None) => create(reconcile, output, key, body).await,
        (Fence::Unchanged, Some(live)) => {
            let version = object::resource_version(&live).to_owned();
            apply_to(reconcile, output, key, body, Some(live), Some(&version)).await
        }
        (Fence::Version { uid, resource_version }, live) => {
            let mut body = body;
            object::set_meta(&mut body, "uid", uid.as_str());
            apply_to(reconcile, output, key, body, live, Some(resource_version)).await
        }
        (Fence::None, live) => apply_to(reconcile, output, key, body, live, None).await,
    }
}

/// A create, unlike an apply, fails if the object exists, however late it arrives.
async fn create(
    reconcile: &ReconcileState,
    output: &Output,
    key: &ObjectRef,
    body: Value,
) -> Result<Arc<Value>, Error> {
    let request = Request::new(Verb::Create, output.kind.resource.clone())
        .in_namespace(&key.namespace)
        .with_body(body)
        .as_manager(&reconcile.declaration.field_manager());
    object_of(reconcile.io.send(request, Shortcut::None).await)
}

/// The cache did not show it yet: it is fine if it is ours.
async fn created_meanwhile(
    reconcile: &ReconcileState,
    output: &Output,
    key: &ObjectRef,
    record: &OutputRecord,
    exists: Status,
) -> Result<Arc<Value>, Error> {
    match reconcile.io.get(&output.kind, key, Shortcut::None).await? {
        Some(live) if output.force || is_ours(reconcile, record, &live) || is_unclaimed(reconcile, &live) => {
            Ok(live)
        }
        Some(live) => Err(taken(record, &live).into()),
        None => Err(exists.into()),
    }
}

/// Applies the body to the object that was seen, if one was.
async fn apply_to(
    reconcile: &ReconcileState,
    output: &Output,
    key: &ObjectRef,
    mut body: Value,
    live: Option<Arc<Value>>,
    version: Option<&str>,
) -> Result<Arc<Value>, Error> {
    let io = &reconcile.io;
    let mut version = version.map(str::to_owned);
    let mut live = live;
    if let Some(seen) = &live {
        // With a uid, apply changes this object or fails: another one that has got the name since is not ours to
        // change, and a finalizer creates nothing.
        if object::uid(&body).is_empty() {
            object::set_meta(&mut body, "uid", object::uid(seen));
        }
        // What this controller has created by a plain request, it owns as an updater, not as an applier. If the fence
        // is another version than the one that was seen, the apply fails, and must.
        let is_current = version.as_deref().is_none_or(|version| version == object::resource_version(seen));
        let manager = &reconcile.declaration.field_manager();
        if let Some(patch) = field_manager::take_over_creation(seen, manager).filter(|_| is_current) {
            let taken_over = io.merge(&output.kind, key, None, patch).await?;
            version = version.map(|_| object::resource_version(&taken_over).to_owned());
            live = Some(taken_over);
        }
    }
    if let Some(version) = &version {
        object::set_meta(&mut body, "resourceVersion", version.as_str());
    }
    let applied = io.apply(&output.kind, key, body, output.force, detail(output)).await;
    match (&applied, &live) {
        (Err(Error::Api(status)), Some(seen))
            if field_manager::is_conflict_with(status, &reconcile.declaration.field_manager())
                && (version.is_some() || !object::resource_version(seen).is_empty()) =>
        {
            // The only rival is this controller itself, with an update of its own. No other writer can get in between,
            // since the version is that of the fence, or of the object that was seen. (If there was no such update then,
            // the next try sees it.)
            let mut body = output.to_apply(&reconcile.declaration, &reconcile.parent);
            object::set_meta(&mut body, "uid", object::uid(seen));
            let seen = version.as_deref().unwrap_or(object::resource_version(seen));
            object::set_meta(&mut body, "resourceVersion", seen);
            io.apply(&output.kind, key, body, true, detail(output)).await
        }
        _ => applied,
    }
}

/// How much of an output must be known to write it: a fence is about its version.
fn detail(output: &Output) -> Detail {
    match output.fence {
        Fence::None | Fence::Absent => Detail::Identity,
        Fence::Unchanged | Fence::Version { .. } => Detail::Whole,
    }
}

fn taken(record: &OutputRecord, live: &Value) -> Status {
    let holder = match object::owner_references(live).iter().find(|owner| owner["controller"] == true) {
        Some(owner) => format!(
            "it belongs to {} {}",
            owner["kind"].as_str().unwrap_or("?"),
            owner["name"].as_str().unwrap_or("?")
        ),
        None => format!("it was made by {}, and not for this object", managers(live)),
    };
    let why = format!("{holder}; remove it, choose another name, or take it over with Output::forced");
    let (group, _) = object::split_api_version(&record.api_version);
    Status::conflict(group, &record.resource, &record.name, &why)
}

/// Who has written to an object: `"kubectl", "helm"`.
fn managers(live: &Value) -> String {
    let entries = live["metadata"]["managedFields"].as_array().into_iter().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry["manager"].as_str()).map(|name| format!("{name:?}")).collect();
    names.dedup();
    if names.is_empty() { "somebody else".to_owned() } else { names.join(", ") }
}

/// An output must be of a declared kind, and in a key where what is declared can find it again.
fn check_declared(reconcile: &ReconcileState, output: &Output) -> Result<(), Bug> {
    let declaration = &reconcile.declaration;
    let target = reconcile.target();
    let declared = declaration.outputs.iter().find(|known| known.kind.resource == output.kind.resource);
    let kind = &output.kind.kind;
    let remedy = match declared {
        None => format!("Add `output::<{kind}>()` to declare()"),
        Some(_) if !output.labelled && !declaration.keeps_status() => {
            format!("A {} has no room for an inventory: let the output have labels", declaration.parent.kind)
        }
        Some(declared) if declared.anywhere || output.is_owned(declaration, &target) => return Ok(()),
        Some(_) => {
            format!("No owner reference ties it to its parent: declare it with `output_anywhere::<{kind}>()`")
        }
    };
    Err(Bug::UndeclaredOutput {
        controller: declaration.name.clone(),
        state: reconcile.io.state().to_owned(),
        output: shown(&output.kind, &output.key(&target)),
        remedy,
    })
}
