//! A reconcile from beginning to end: what happens around the states of a machine, and in which order.
//!
//! Read the parent; gone, not selected or complete: end; suspended: say so and end; deleting: run the finalizer machine, then
//! remove the finalizer; else add the finalizer if one is needed; run the states; prune what this run
//! no longer wants; write the status once.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use windlass_model::{Request, Verb, object};

use crate::ask::Shortcut;
use crate::coroutine::Coroutine;
use crate::declaration::{Declaration, SUSPEND_ANNOTATION};
use crate::io::{Io, names_a_missing_object, object_of};
use crate::kind::ObjectRef;
use crate::machine::Controller;
use crate::outcome::Error;
use crate::prune::{self, Scope};
use crate::reconcile_result::{ReconcileResult, Reconciled};
use crate::record::{ControllerRecord, OutputRecord, raw_record, read_record, with_record};
use crate::run::{End, Run};
use crate::status;

impl Controller {
    /// Starts a reconcile of one parent. Nothing happens until the coroutine is resumed.
    ///
    /// If the parent does not exist, and the machine says how to make one, it is made only if
    /// `create_missing`: that is, if a watched object triggered this, and not the parent's own deletion or
    /// that of an output.
    pub fn reconcile(&self, target: &ObjectRef, create_missing: bool) -> Coroutine<Reconciled> {
        let controller = self.clone();
        let target = target.clone();
        Coroutine::new(self.name(), move |slot| async move {
            let io = Io::new(slot, &controller.declaration);
            match run_phases(&controller, &io, &target, create_missing).await {
                Ok(ended) => ended,
                Err(error) if is_gone(&error) => Reconciled::without_run(ReconcileResult::Gone),
                Err(error) => Reconciled::without_run(End::failed(error).result()),
            }
        })
    }
}

/// What a reconcile knows about its parent, kept current across its own writes.
pub(crate) struct ReconcileState {
    pub(crate) declaration: Arc<Declaration>,
    pub(crate) io: Io,
    pub(crate) parent: Arc<Value>,
    pub(crate) record: ControllerRecord,
}

impl ReconcileState {
    pub(crate) fn target(&self) -> ObjectRef {
        ObjectRef::of(&self.parent)
    }

    /// Writes an output into the inventory before it exists, since nothing else would find it after a crash.
    pub(crate) async fn record_before_creation(&mut self, output: &OutputRecord) -> Result<(), Error> {
        match self.record.outputs.iter_mut().find(|known| known.same_object(output)) {
            Some(known) if known.untied => return Ok(()),
            Some(known) => *known = output.clone(),
            None => self.record.outputs.push(output.clone()),
        }
        let mut status = json!({});
        status["controllers"] = with_record(&self.parent, &self.record);
        self.write_status(status).await
    }

    /// Replaces fields of the status, if the parent is unchanged since it was read.
    pub(crate) async fn write_status(&mut self, fields: Value) -> Result<(), Error> {
        let mut patch = json!({ "metadata": { "resourceVersion": object::resource_version(&self.parent) } });
        // Moved, where `json!` would copy it.
        patch["status"] = fields;
        let target = self.target();
        self.parent = self.io.merge(&self.declaration.parent, &target, Some("status"), patch).await?;
        if raw_record(&self.parent, &self.declaration.name).is_some() {
            return Ok(());
        }
        Err(self.status_not_stored("`controllers`, the inventory"))
    }

    /// A structural schema silently drops a field that it does not know.
    pub(crate) fn status_not_stored(&self, what: &str) -> Error {
        let message = format!(
            "the status of {} cannot hold {what}: make its status windlass::MachineStatus, or a type with this field \
             that flattens that into it",
            self.declaration.parent.qualified()
        );
        Error::Terminal { reason: "StatusNotStored".to_owned(), message }
    }

    /// Replaces the parent's finalizers, if the parent is unchanged since it was read.
    async fn write_finalizers(&mut self, finalizers: Vec<&str>) -> Result<(), Error> {
        let patch = json!({
            "metadata": {
                "resourceVersion": object::resource_version(&self.parent),
                "finalizers": finalizers,
            },
        });
        let target = self.target();
        self.parent = self.io.merge(&self.declaration.parent, &target, None, patch).await?;
        Ok(())
    }
}

/// The phases of a reconcile, in order.
async fn run_phases(
    controller: &Controller,
    io: &Io,
    target: &ObjectRef,
    create_missing: bool,
) -> Result<Reconciled, Error> {
    let declaration = &controller.declaration;
    io.enter("(reading the parent)");
    let found = io.get(&declaration.parent, target, Shortcut::Cache).await?;
    let parent = match found {
        Some(parent) => parent,
        None if create_missing && declaration.creates_missing() => create(declaration, io, target).await?,
        None => {
            prune::leftovers_of_absent_parent(declaration, io, target).await?;
            return Ok(Reconciled::without_run(ReconcileResult::Gone));
        }
    };
    if !declaration.selects_parent(&parent) || declaration.is_completed(&parent) {
        return Ok(Reconciled::without_run(ReconcileResult::Idle));
    }
    let record = read_record(&parent, &declaration.name)?;
    let mut reconcile = ReconcileState { declaration: declaration.clone(), io: io.clone(), parent, record };
    if is_suspended(&reconcile.parent) {
        status::write_suspended(&mut reconcile).await?;
        return Ok(Reconciled::without_run(ReconcileResult::Idle));
    }
    if object::is_deleting(&reconcile.parent) {
        return finalize(controller, reconcile).await;
    }
    if (controller.finalizer.is_some() || declaration.needs_cleanup())
        && let Err(error) = add_finalizer(&mut reconcile).await
    {
        let run = Run::failed(controller.graph(), error);
        return Ok(status::conclude(controller, &mut reconcile, run).await);
    }
    let mut run = controller.machine.run_all(&mut reconcile, false).await;
    settle_inventory(&mut reconcile, &mut run).await;
    Ok(status::conclude(controller, &mut reconcile, run).await.requeued_within(declaration.resync))
}

async fn create(declaration: &Declaration, io: &Io, target: &ObjectRef) -> Result<Arc<Value>, Error> {
    let Some(make) = &declaration.create_missing else {
        return Err(Error::Failed { reason: "NotFound".to_owned(), message: format!("{target} is gone") });
    };
    let mut body = make(target);
    object::set_meta(&mut body, "name", target.name.as_str());
    if declaration.parent.namespaced {
        object::set_meta(&mut body, "namespace", target.namespace.as_str());
    }
    let request = Request::new(Verb::Create, declaration.parent.resource.clone())
        .in_namespace(&target.namespace)
        .with_body(body)
        .as_manager(&declaration.field_manager());
    object_of(io.send(request, Shortcut::None).await)
}

/// Present and not "false": a mere `windlass.dev/suspend: ""` suspends.
fn is_suspended(parent: &Value) -> bool {
    object::annotation(parent, SUSPEND_ANNOTATION).is_some_and(|value| value != "false")
}

async fn add_finalizer(reconcile: &mut ReconcileState) -> Result<(), Error> {
    let ours = reconcile.declaration.finalizer();
    let parent = reconcile.parent.clone();
    let mut finalizers: Vec<&str> = object::finalizers(&parent).collect();
    if finalizers.contains(&ours.as_str()) {
        return Ok(());
    }
    finalizers.push(&ours);
    reconcile.write_finalizers(finalizers).await
}

/// The parent is being deleted: runs the finalizer machine, deletes outputs without an owner reference, and removes the
/// finalizer.
async fn finalize(controller: &Controller, mut reconcile: ReconcileState) -> Result<Reconciled, Error> {
    let ours = reconcile.declaration.finalizer();
    if !object::finalizers(&reconcile.parent).any(|finalizer| finalizer == ours) {
        return Ok(Reconciled::without_run(ReconcileResult::Idle));
    }
    let mut run = match &controller.finalizer {
        Some(machine) => machine.run_all(&mut reconcile, true).await,
        None => Run::nothing(),
    };
    // "Done, but requeue" is not done: a machine that asks to be requeued wants the parent to be there.
    if run.end != (End::Done { requeue_after: None }) {
        remember(&mut reconcile, std::mem::take(&mut run.ensured));
        return Ok(status::conclude(controller, &mut reconcile, run).await);
    }
    reconcile.io.enter("(letting go)");
    if reconcile.declaration.needs_cleanup() || reconcile.record.outputs.iter().any(|output| output.unowned) {
        match prune::prune(&reconcile, &[], Scope::WithoutOwner).await {
            Ok(_) => {}
            Err(stuck) => {
                run.end = End::failed(stuck.error);
                return Ok(status::conclude(controller, &mut reconcile, run).await);
            }
        }
    }
    let parent = reconcile.parent.clone();
    let others: Vec<&str> = object::finalizers(&parent).filter(|finalizer| *finalizer != ours).collect();
    reconcile.write_finalizers(others).await?;
    Ok(Reconciled { result: run.end.result(), path: run.path(), bug: None, events: run.events, ready: None })
}

/// Brings the inventory up to date. Only a run that came to its end knows what is no longer wanted.
async fn settle_inventory(reconcile: &mut ReconcileState, run: &mut Run) {
    reconcile.io.enter("(pruning)");
    let ensured = std::mem::take(&mut run.ensured);
    if !run.end.is_done() {
        remember(reconcile, ensured);
        return;
    }
    reconcile.record.outputs = match prune::prune(reconcile, &ensured, Scope::All).await {
        Ok(remaining) => ensured.into_iter().chain(remaining).collect(),
        Err(stuck) => {
            run.end = End::failed(stuck.error);
            ensured.into_iter().chain(stuck.remaining).collect()
        }
    };
}

/// Adds what an unfinished run ensured to the inventory, which keeps all that it had.
fn remember(reconcile: &mut ReconcileState, ensured: Vec<OutputRecord>) {
    for output in ensured {
        match reconcile.record.outputs.iter_mut().find(|known| known.same_object(&output)) {
            Some(known) => *known = output,
            None => reconcile.record.outputs.push(output),
        }
    }
}

/// Whether a write failed because its object is gone.
pub(crate) fn is_gone(error: &Error) -> bool {
    matches!(error, Error::Api(status) if names_a_missing_object(status))
}

impl Reconciled {
    /// The same, but a completed reconcile is requeued after this time at the latest.
    fn requeued_within(mut self, latest: Option<Duration>) -> Self {
        if let ReconcileResult::Done { requeue_after } = &mut self.result {
            *requeue_after = requeue_after.iter().copied().chain(latest).min();
        }
        self
    }

    fn without_run(result: ReconcileResult) -> Self {
        Reconciled { result, path: Vec::new(), bug: None, events: Vec::new(), ready: None }
    }
}
