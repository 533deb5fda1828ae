//! Making an output what a state wants it to be, and refusing to take what is not ours.

use serde_json::Value;
use windlass_model::{Status, object};

use crate::ask::Shortcut;
use crate::bug::Bug;
use crate::output::{Output, shown};
use crate::ownership::is_ours;
use crate::reconcile::Ledger;
use crate::record::OutputRecord;
use crate::run::End;

/// Applies one output and adds it to what this run has ensured.
pub(crate) async fn apply(
    ledger: &mut Ledger,
    ensured: &mut Vec<OutputRecord>,
    output: &Output,
    deleting: bool,
) -> Result<(), End> {
    check_declared(ledger, output).map_err(End::bug)?;
    let target = ledger.target();
    let place = output.place(&target);
    let mut record = OutputRecord::new(&output.kind, &place, "");
    record.unowned = !output.is_owned(&ledger.declaration, &target);
    record.untied = !output.labelled;
    if ensured.iter().any(|known| known.same_object(&record)) {
        return Err(End::bug(Bug::OutputTwice {
            controller: ledger.declaration.name.clone(),
            state: ledger.io.state().to_owned(),
            output: shown(&output.kind, &place),
        }));
    }
    // What a cache says is good enough to find a stranger; a finalizer must not rely on it.
    let freshness = if deleting { Shortcut::None } else { Shortcut::Cache };
    let live = ledger.io.get(&output.kind, &place, freshness).await.map_err(End::failed)?;
    if let Some(live) = &live
        && !output.force
        && !is_ours(ledger, &record, live)
    {
        return Err(End::failed(taken(&record, live).into()));
    }
    let mut body = output.to_apply(&ledger.declaration, &ledger.parent);
    if let Some(live) = &live {
        // With a uid, apply changes this object or fails: another one that has got the name since is not ours to
        // change, and a finalizer creates nothing.
        object::set_meta(&mut body, "uid", object::uid(live));
    } else if deleting {
        return Ok(());
    }
    if !deleting && record.untied {
        ledger.record_before_creation(&record).await.map_err(End::failed)?;
    }
    let applied = ledger.io.apply(&output.kind, &place, body, output.force).await.map_err(End::failed)?;
    record.uid = object::uid(&applied).to_owned();
    ensured.push(record);
    Ok(())
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

/// An output must be of a declared kind, and in a place where what is declared can find it again.
fn check_declared(ledger: &Ledger, output: &Output) -> Result<(), Bug> {
    let declaration = &ledger.declaration;
    let target = ledger.target();
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
        state: ledger.io.state().to_owned(),
        output: shown(&output.kind, &output.place(&target)),
        remedy,
    })
}
