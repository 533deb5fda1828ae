//! The plan: what a reconcile would change on a live cluster, without changing it.
//!
//! Reads go to the API server. So does every first write of an object, as a dry run, so that defaults and refusals are
//! real; what it would have made is remembered, and later reads and writes of the same reconcile see it.

mod draft;
mod show;

use std::sync::Arc;

use serde_json::Value;
use windlass::model::{Body, PatchKind, Request, Status, Verb, object};
use windlass::recording::{Exchange, RecordedEnd};
use windlass::{Answer, Ask, Controller, CoroutineState, Event, Kind, KindInfo, ObjectRef};

use crate::api::Api;
use crate::operations::clock::now;
use crate::operations::entropy::random_bytes;
use crate::recorder::Redaction;

use draft::Draft;

/// Who would have written the parent that is given.
const MANAGER: &str = "windlass-plan";
/// A reconcile that asks more often than this will not come to an end by itself.
const MAX_BATCHES: usize = 10_000;

/// What a reconcile would do. Secrets are redacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The name of the controller.
    pub controller: String,
    /// The parent.
    pub target: ObjectRef,
    /// The objects that would be different, in the order in which they would be written first.
    pub changes: Vec<PlannedChange>,
    /// The external services that it would call next, each with what it would say. A plan calls nothing, so it ends
    /// there: what comes after depends on the answers.
    pub calls: Vec<(String, Value)>,
    /// The Events that it would publish.
    pub events: Vec<Event>,
    /// How it would end; `None` if that depends on the answers to its calls.
    pub end: Option<RecordedEnd>,
}

/// An object that would be different.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedChange {
    /// What would happen to it.
    pub action: PlannedAction,
    /// `ConfigMap`, or `Deployment.apps`.
    pub kind: String,
    /// Which object.
    pub object: ObjectRef,
    /// What would differ, like YAML, in lines that begin with `-`, `+` or a blank.
    pub difference: String,
}

/// What would happen to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each says it")]
pub enum PlannedAction {
    Create,
    Change,
    Delete,
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The parent that is given is of another kind.
    #[error("the object is a {given}, and {controller} looks after {expected}: give one of these")]
    WrongKind {
        /// What is given.
        given: String,
        /// What the controller reconciles.
        expected: String,
        /// The controller.
        controller: String,
    },
    /// The parent that is given has no name.
    #[error("the object has no metadata.name: give it one")]
    NoName,
    /// The API server does not take the parent that is given.
    #[error("the API server refuses the object: {}", .0.message)]
    Refused(Box<Status>),
}

/// Plans what the reconcile of a parent that is on the cluster would do.
///
/// If there is no such parent, the plan says that it is gone.
pub async fn plan(api: &Api, controller: &Controller, target: &ObjectRef) -> Plan {
    Planner::new(api.clone()).plan(controller, target).await
}

/// Makes plans.
pub struct Planner {
    api: Api,
    redaction: Redaction,
}

impl Planner {
    /// For the cluster that this reaches.
    pub fn new(api: Api) -> Self {
        Planner { api, redaction: Redaction::default() }
    }

    /// Hides the texts that a JSON pointer, such as `/spec/password`, leads to in objects of a kind, and hides them
    /// wherever else they occur. What is in Secrets is always hidden.
    #[must_use]
    pub fn redact<Hidden: Kind>(mut self, pointer: &str) -> Self {
        self.redaction.add(Hidden::kind_info(), pointer);
        self
    }

    /// What the reconcile of a parent that is on the cluster would do.
    pub async fn plan(&self, controller: &Controller, target: &ObjectRef) -> Plan {
        self.drive(controller, target, Draft::new(self.api.clone())).await
    }

    /// What the first reconcile would do if this parent were applied.
    ///
    /// # Errors
    /// When the parent is none of this controller, or the API server does not take it.
    pub async fn plan_applied(&self, controller: &Controller, parent: &Value) -> Result<Plan, PlanError> {
        let kind = controller.declaration().parent();
        check(kind, parent, controller.name())?;
        let target = ObjectRef::of(parent);
        let mut draft = Draft::new(self.api.clone());
        match self.api.perform(&apply(kind, parent, &target)).await.body {
            Body::Object(applied) => draft.start_with(&kind.resource, applied),
            Body::Status(status) => return Err(PlanError::Refused(Box::new(status))),
            Body::List(_) => {
                return Err(PlanError::Refused(Box::new(Status::internal("it answered with a list"))));
            }
        }
        Ok(self.drive(controller, &target, draft).await)
    }

    async fn drive(&self, controller: &Controller, target: &ObjectRef, mut draft: Draft) -> Plan {
        let mut coroutine = controller.reconcile(target, false);
        let (mut answers, mut exchanges, mut calls) = (Vec::new(), Vec::new(), Vec::new());
        let mut batches = 0;
        let end = loop {
            batches += 1;
            let asks = match coroutine.resume(std::mem::take(&mut answers)) {
                CoroutineState::End(ended) => break Some(RecordedEnd::of(&ended)),
                CoroutineState::Bug(bug) => break Some(RecordedEnd::Bug(bug.to_string())),
                CoroutineState::Ask(_) if batches > MAX_BATCHES => break Some(RecordedEnd::TimedOut),
                CoroutineState::Ask(asks) => asks,
            };
            for ask in asks {
                let answer = match &ask {
                    Ask::Api { request, .. } => Answer::Api(draft.perform(request).await),
                    Ask::Now => Answer::Now(now()),
                    Ask::Random { .. } => Answer::Random(random_bytes()),
                    Ask::Call { service, request } => {
                        calls.push((service.clone(), request.clone()));
                        continue;
                    }
                };
                answers.push(answer.clone());
                exchanges.push(Exchange { ask, answer });
            }
            if !calls.is_empty() {
                break None;
            }
        };
        self.show(controller, target, draft, &exchanges, calls, end)
    }
}

fn check(kind: &KindInfo, parent: &Value, controller: &str) -> Result<(), PlanError> {
    let text = |field: &str| parent[field].as_str().unwrap_or("?").to_owned();
    if (text("apiVersion"), text("kind")) != (kind.api_version(), kind.kind.clone()) {
        return Err(PlanError::WrongKind {
            given: format!("{} {}", text("apiVersion"), text("kind")),
            expected: format!("{} {}", kind.api_version(), kind.kind),
            controller: controller.to_owned(),
        });
    }
    if object::name(parent).is_empty() { Err(PlanError::NoName) } else { Ok(()) }
}

/// The dry run of applying a parent. What only the server decides is left out: the object may come from a cluster.
fn apply(kind: &KindInfo, parent: &Value, target: &ObjectRef) -> Request {
    let mut body = parent.clone();
    if let Some(fields) = body.as_object_mut() {
        fields.remove("status");
    }
    for field in ["managedFields", "resourceVersion", "uid", "creationTimestamp", "generation"] {
        object::remove_meta(&mut body, field);
    }
    let mut request = Request::new(Verb::Patch(PatchKind::Apply), kind.resource.clone())
        .in_namespace(&target.namespace)
        .named(&target.name)
        .with_body(body)
        .as_manager(MANAGER);
    (request.options.dry_run, request.options.force) = (true, true);
    request
}

/// An object that is there or not.
type Existing = Option<Arc<Value>>;
