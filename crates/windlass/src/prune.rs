//! Pruning: deleting what this controller made and a finished run no longer wants.
//!
//! Two sources say what there is: the inventory in the parent's status, and the labels on the outputs
//! themselves. The second finds what a crash kept out of the first.

use std::sync::Arc;

use serde_json::Value;
use windlass_model::{Propagation, Reason, Request, Status, Verb, object};

use crate::ask::Shortcut;
use crate::declaration::{CONTROLLER_LABEL, Declaration, OWNER_LABEL, OutputKind, owner_label};
use crate::detail::Detail;
use crate::io::{Io, names_a_missing_object};
use crate::kind::{KindInfo, ObjectRef};
use crate::outcome::Error;
use crate::ownership::{has_owner, is_annotated, is_marked, is_ours};
use crate::reconcile::ReconcileState;
use crate::record::OutputRecord;

/// Which outputs are to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All that are not kept.
    All,
    /// Only those that no owner reference ties to the parent: the garbage collector takes the others.
    WithoutOwner,
}

/// A prune that could not be finished.
pub(crate) struct Stuck {
    pub(crate) error: Error,
    /// What stays in the inventory.
    pub(crate) remaining: Vec<OutputRecord>,
}

/// An output that was found by its labels.
struct Found {
    record: OutputRecord,
    object: Arc<Value>,
}

/// Deletes every output that is not in `keep`, the last made first. Returns those that are still on their way out.
pub(crate) async fn prune(
    reconcile: &ReconcileState,
    keep: &[OutputRecord],
    scope: Scope,
) -> Result<Vec<OutputRecord>, Stuck> {
    let unwanted = |record: &OutputRecord| !keep.iter().any(|kept| kept.same_object(record));
    let in_scope = |record: &OutputRecord| scope == Scope::All || record.unowned;
    let mut candidates: Vec<OutputRecord> = reconcile
        .record
        .outputs
        .iter()
        .filter(|record| unwanted(record) && in_scope(record))
        .cloned()
        .collect();
    let found = match find_outputs(reconcile, scope).await {
        Ok(found) => found,
        Err(error) => return Err(Stuck { error, remaining: candidates }),
    };
    let unrecorded = found.iter().map(|found| &found.record).filter(|record| unwanted(record));
    let unrecorded: Vec<OutputRecord> = unrecorded
        .filter(|record| !candidates.iter().any(|known| known.same_object(record)))
        .cloned()
        .collect();
    candidates.extend(unrecorded);
    if !candidates.is_empty()
        && let Err(error) = check_parent_is_current(reconcile).await
    {
        return Err(Stuck { error, remaining: candidates });
    }
    let mut remaining = Vec::new();
    // In reverse: what was made last may depend on what was made first.
    while let Some(candidate) = candidates.pop() {
        match remove(reconcile, &candidate, &found).await {
            Ok(Removed::Gone) => {}
            Ok(Removed::OnItsWay) => remaining.insert(0, candidate),
            Err(error) => {
                candidates.push(candidate);
                candidates.extend(remaining);
                return Err(Stuck { error, remaining: candidates });
            }
        }
    }
    Ok(remaining)
}

/// The parent may have been read from a cache. Before anything is deleted, make sure that what this run
/// wants is what the user wants now.
async fn check_parent_is_current(reconcile: &ReconcileState) -> Result<(), Error> {
    let (kind, target) = (&reconcile.declaration.parent, reconcile.target());
    let now = reconcile.io.get(kind, &target, Shortcut::None).await?;
    let current =
        now.is_some_and(|now| object::resource_version(&now) == object::resource_version(&reconcile.parent));
    if current {
        return Ok(());
    }
    let why = "it changed while it was reconciled; nothing was pruned";
    Err(Status::conflict(&kind.resource.group, &kind.resource.plural, &target.name, why).into())
}

enum Removed {
    Gone,
    OnItsWay,
}

async fn remove(
    reconcile: &ReconcileState,
    candidate: &OutputRecord,
    found: &[Found],
) -> Result<Removed, Error> {
    let kind = candidate.kind_info();
    let object = match found.iter().find(|found| found.record.same_object(candidate)) {
        Some(found) => found.object.clone(),
        // Its labels would have found it.
        None if !candidate.untied && is_searched(reconcile, &kind, &candidate.key()) => {
            return Ok(Removed::Gone);
        }
        None => {
            match reconcile.io.get_detail(&kind, &candidate.key(), Shortcut::None, Detail::Identity).await? {
                Some(object) if is_ours(reconcile, candidate, &object) => object,
                _ => return Ok(Removed::Gone),
            }
        }
    };
    if object::is_deleting(&object) {
        return Ok(Removed::OnItsWay);
    }
    delete(&reconcile.io, &kind, &object).await
}

fn is_searched(reconcile: &ReconcileState, kind: &KindInfo, key: &ObjectRef) -> bool {
    reconcile.declaration.outputs.iter().any(|output| {
        output.kind.resource == kind.resource
            && (output.anywhere
                || !reconcile.declaration.parent.namespaced
                || key.namespace == reconcile.target().namespace)
    })
}

async fn delete(io: &Io, kind: &KindInfo, object: &Value) -> Result<Removed, Error> {
    let mut request = Request::new(Verb::Delete, kind.resource.clone())
        .in_namespace(object::namespace(object))
        .named(object::name(object));
    request.options.preconditions.uid = Some(object::uid(object).to_owned());
    request.options.propagation = Some(Propagation::Background);
    let response = io.send(request, Shortcut::None).await;
    if let Some(status) = response.failure() {
        // A conflict means that another object has the name by now.
        let gone = names_a_missing_object(status) || status.reason == Some(Reason::Conflict);
        return if gone { Ok(Removed::Gone) } else { Err(status.clone().into()) };
    }
    let held = response.as_object().is_some_and(|object| object::finalizers(object).next().is_some());
    Ok(if held { Removed::OnItsWay } else { Removed::Gone })
}

/// The outputs of this parent that carry labels, by kind in the order of their declaration.
async fn find_outputs(reconcile: &ReconcileState, scope: Scope) -> Result<Vec<Found>, Error> {
    // A finalizer has no second chance: it does not rely on a cache.
    let freshness = if scope == Scope::All { Shortcut::Cache } else { Shortcut::None };
    let mut found = Vec::new();
    for output in reconcile.declaration.outputs.iter().filter(|output| scope == Scope::All || output.anywhere)
    {
        for object in
            labelled(&reconcile.declaration, &reconcile.io, output, &reconcile.target(), freshness).await?
        {
            let owned = has_owner(&object, &reconcile.parent);
            // One that had an owner and has it no more was orphaned on purpose.
            let unowned = !owned && is_annotated(&reconcile.declaration, &reconcile.target(), &object);
            if is_marked(reconcile, &object) && (unowned || owned && scope == Scope::All) {
                let mut record =
                    OutputRecord::new(&output.kind, &ObjectRef::of(&object), object::uid(&object));
                record.unowned = unowned;
                found.push(Found { record, object });
            }
        }
    }
    Ok(found)
}

async fn labelled(
    declaration: &Declaration,
    io: &Io,
    output: &OutputKind,
    target: &ObjectRef,
    freshness: Shortcut,
) -> Result<Vec<Arc<Value>>, Error> {
    let namespace = if output.anywhere { "" } else { &target.namespace };
    let mut request = Request::new(Verb::List, output.kind.resource.clone()).in_namespace(namespace);
    request.options.label_selector =
        Some(format!("{CONTROLLER_LABEL}={},{OWNER_LABEL}={}", declaration.name, owner_label(target)));
    io.list(request, freshness, Detail::Identity).await
}

/// A parent that does not exist can still have left outputs that no owner reference ties: a request of a
/// crashed process may arrive after its successor has cleaned up.
pub(crate) async fn leftovers_of_absent_parent(
    declaration: &Declaration,
    io: &Io,
    target: &ObjectRef,
) -> Result<(), Error> {
    let mut leftovers = Vec::new();
    for output in declaration.outputs.iter().filter(|output| output.anywhere) {
        for object in labelled(declaration, io, output, target, Shortcut::Cache).await? {
            let ours = is_annotated(declaration, target, &object) && io.has_written(&object);
            if ours && !object::is_deleting(&object) {
                leftovers.push((&output.kind, object));
            }
        }
    }
    // A cache that has not seen the parent yet is no proof that there is none.
    if leftovers.is_empty() || io.get(&declaration.parent, target, Shortcut::None).await?.is_some() {
        return Ok(());
    }
    for (kind, object) in leftovers {
        delete(io, kind, &object).await?;
    }
    Ok(())
}
