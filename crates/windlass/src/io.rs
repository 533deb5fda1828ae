//! The framework's own way to the driver: each method is one ask.

use std::sync::Arc;

use serde_json::Value;
use windlass_model::{Body, PatchKind, Reason, Request, Response, Status, Timestamp, Verb};

use crate::ask::{Answer, Ask, Shortcut};
use crate::coroutine::Slot;
use crate::declaration::Declaration;
use crate::detail::Detail;
use crate::field_manager;
use crate::kind::{KindInfo, ObjectRef};
use crate::outcome::{CallError, Error};
use crate::random::RandomBytes;

/// Shared by states and by what runs around them.
#[derive(Clone)]
pub(crate) struct Io {
    slot: Slot,
    /// The field manager of all that is written.
    pub(crate) manager: String,
}

impl Io {
    pub(crate) fn new(slot: Slot, declaration: &Declaration) -> Self {
        Io { slot, manager: declaration.field_manager() }
    }

    pub(crate) fn enter(&self, state: &'static str) {
        self.slot.enter(state);
    }

    pub(crate) fn state(&self) -> &'static str {
        self.slot.state()
    }

    pub(crate) fn is_waiting(&self) -> bool {
        self.slot.is_waiting()
    }

    pub(crate) async fn send(&self, request: Request, shortcut: Shortcut) -> Response {
        self.ask(request, shortcut, Detail::Whole).await
    }

    /// Sends a request and reduces the response to `detail`.
    async fn ask(&self, request: Request, shortcut: Shortcut, detail: Detail) -> Response {
        match self.slot.ask(Ask::Api { request: Box::new(request), shortcut, detail }).await {
            Answer::Api(response) => detail.of(response),
            other => {
                Response::status(Status::internal(format!("the driver answered a request with {other:?}")))
            }
        }
    }

    pub(crate) async fn get(
        &self,
        kind: &KindInfo,
        key: &ObjectRef,
        shortcut: Shortcut,
    ) -> Result<Option<Arc<Value>>, Error> {
        self.get_detail(kind, key, shortcut, Detail::Whole).await
    }

    pub(crate) async fn get_detail(
        &self,
        kind: &KindInfo,
        key: &ObjectRef,
        shortcut: Shortcut,
        detail: Detail,
    ) -> Result<Option<Arc<Value>>, Error> {
        let request =
            Request::new(Verb::Get, kind.resource.clone()).in_namespace(&key.namespace).named(&key.name);
        let response = self.ask(request, shortcut, detail).await;
        match response.failure() {
            Some(status) if names_a_missing_object(status) => Ok(None),
            _ => object_of(response).map(Some),
        }
    }

    pub(crate) async fn list(
        &self,
        request: Request,
        shortcut: Shortcut,
        detail: Detail,
    ) -> Result<Vec<Arc<Value>>, Error> {
        match self.ask(request, shortcut, detail).await.body {
            Body::List(list) => Ok(list.items),
            Body::Status(status) => Err(status.into()),
            Body::Object(_) => Err(Status::internal("a list was answered with one object").into()),
        }
    }

    pub(crate) async fn apply(
        &self,
        kind: &KindInfo,
        key: &ObjectRef,
        body: Value,
        force: bool,
        detail: Detail,
    ) -> Result<Arc<Value>, Error> {
        let mut request = Request::new(Verb::Patch(PatchKind::Apply), kind.resource.clone())
            .in_namespace(&key.namespace)
            .named(&key.name)
            .with_body(body)
            .as_manager(&self.manager);
        request.options.force = force;
        object_of(self.ask(request, Shortcut::SkipIfUnchanged, detail).await)
    }

    /// A merge patch; `subresource` is `status` or nothing.
    pub(crate) async fn merge(
        &self,
        kind: &KindInfo,
        key: &ObjectRef,
        subresource: Option<&str>,
        patch: Value,
    ) -> Result<Arc<Value>, Error> {
        let mut request = Request::new(Verb::Patch(PatchKind::Merge), kind.resource.clone())
            .in_namespace(&key.namespace)
            .named(&key.name)
            .with_body(patch)
            .as_manager(&self.manager);
        request.subresource = subresource.map(str::to_owned);
        object_of(self.send(request, Shortcut::None).await)
    }

    pub(crate) async fn call(&self, service: &str, request: Value) -> Result<Value, CallError> {
        match self.slot.ask(Ask::Call { service: service.to_owned(), request }).await {
            Answer::Call(answer) => answer,
            other => Err(CallError::Refused {
                service: service.to_owned(),
                message: format!("the driver answered a call with {other:?}"),
            }),
        }
    }

    pub(crate) async fn random(&self, secret: bool) -> RandomBytes {
        match self.slot.ask(Ask::Random { secret }).await {
            Answer::Random(bytes) => bytes,
            other => unreachable!("a coroutine refuses an answer of another kind: {other:?}"),
        }
    }

    pub(crate) async fn now(&self) -> Timestamp {
        match self.slot.ask(Ask::Now).await {
            Answer::Now(now) => now,
            _ => Timestamp::default(),
        }
    }

    /// Whether an object carries fields that this controller has written.
    pub(crate) fn has_written(&self, object: &Value) -> bool {
        field_manager::has_written(object, &self.manager)
    }
}

/// Whether a refusal means that the object does not exist, and not that the API does not know the resource.
pub(crate) fn names_a_missing_object(status: &Status) -> bool {
    let names_an_object = status.details.as_ref().is_some_and(|details| details.name.is_some());
    status.reason == Some(Reason::NotFound) && names_an_object
}

/// The object of an answer, or its failure as an error.
pub(crate) fn object_of(response: Response) -> Result<Arc<Value>, Error> {
    match response.body {
        Body::Object(object) => Ok(object),
        Body::Status(status) => Err(status.into()),
        Body::List(_) => Err(Status::internal("one object was answered with a list").into()),
    }
}
