//! `Cx`: what a state may do. It does no I/O; every method that awaits is one ask to the driver.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use windlass_model::{Body, PatchKind, Reason, Request, Response, Status, Timestamp, Verb, object};

use crate::ask::{Answer, Ask, Shortcut};
use crate::coroutine::{All, Slot};
use crate::declaration::Declaration;
use crate::ended::Event;
use crate::kind::{Kind, KindInfo, ObjectRef, from_value, to_value};
use crate::outcome::{CallError, Error};
use crate::output::Output;
use crate::report::Report;

/// What a state may do, and the parent that it does it for.
pub struct Cx<P> {
    parent: P,
    io: Io,
    target: ObjectRef,
    /// Whether this is the finalizer's run.
    deleting: bool,
    pending: Mutex<Pending>,
}

/// What the current state has collected; taken when it ends.
#[derive(Default)]
struct Pending {
    outputs: Vec<Output>,
    events: Vec<Event>,
    report: Report,
}

/// An external service: a name, and the types that go in and out.
///
/// In production a real client answers; in the checker, a small pure model.
pub trait Service {
    /// The name under which drivers know it.
    const NAME: &'static str;
    /// What is sent.
    type Request: Serialize + Send;
    /// What comes back.
    type Response: DeserializeOwned;
}

/// Which objects a list is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Select {
    namespace: Place,
    labels: Option<String>,
    fields: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Parent,
    Everywhere,
    In(String),
}

impl Select {
    /// All objects in the parent's namespace.
    pub fn all() -> Self {
        Select::default()
    }

    /// Only those that a label selector matches.
    #[must_use]
    pub fn labels(mut self, selector: &str) -> Self {
        self.labels = Some(selector.to_owned());
        self
    }

    /// Only those that a field selector matches.
    #[must_use]
    pub fn fields(mut self, selector: &str) -> Self {
        self.fields = Some(selector.to_owned());
        self
    }

    /// In this namespace.
    #[must_use]
    pub fn in_namespace(mut self, namespace: &str) -> Self {
        self.namespace = Place::In(namespace.to_owned());
        self
    }

    /// In all namespaces.
    #[must_use]
    pub fn everywhere(mut self) -> Self {
        self.namespace = Place::Everywhere;
        self
    }
}

impl<P: Kind> Cx<P> {
    pub(crate) fn new(parent: P, target: ObjectRef, io: Io, deleting: bool) -> Self {
        Cx { parent, io, target, deleting, pending: Mutex::default() }
    }

    /// The object that is reconciled, as it was when the reconcile began.
    pub fn parent(&self) -> &P {
        &self.parent
    }

    /// The parent's name.
    pub fn name(&self) -> &str {
        &self.target.name
    }

    /// The parent's namespace; empty if it is cluster-scoped.
    pub fn namespace(&self) -> &str {
        &self.target.namespace
    }

    /// Whether the parent is being deleted, that is, whether this is the finalizer's run.
    pub fn is_deleting(&self) -> bool {
        self.deleting
    }

    /// Ensures that an object is as given: applied when this state is done, pruned once no run ensures it.
    ///
    /// In a finalizer's run it changes what is there and never creates.
    pub fn ensure(&self, output: impl Into<Output>) {
        self.pending().outputs.push(output.into());
    }

    /// An object in the parent's namespace, or cluster-scoped; `None` if there is none. Never stale.
    ///
    /// # Errors
    /// When the API refuses, or the object is not what the type says.
    pub async fn get<K: Kind>(&self, name: &str) -> Result<Option<K>, Error> {
        self.get_in(&self.target.namespace, name).await
    }

    /// An object in any namespace; `None` if there is none. Never stale.
    ///
    /// # Errors
    /// When the API refuses, or the object is not what the type says.
    pub async fn get_in<K: Kind>(&self, namespace: &str, name: &str) -> Result<Option<K>, Error> {
        self.read_one(namespace, name, Shortcut::None).await
    }

    /// As [`Cx::get`], but the driver may answer from its watch cache: cheap, and perhaps a moment old.
    ///
    /// # Errors
    /// When the API refuses, or the object is not what the type says.
    pub async fn cached<K: Kind>(&self, name: &str) -> Result<Option<K>, Error> {
        self.read_one(&self.target.namespace, name, Shortcut::Cache).await
    }

    /// The objects of a kind that match. Never stale.
    ///
    /// # Errors
    /// When the API refuses, or an object is not what the type says.
    pub async fn list<K: Kind>(&self, select: Select) -> Result<Vec<K>, Error> {
        self.read_many(select, Shortcut::None).await
    }

    /// As [`Cx::list`], but the driver may answer from its watch cache.
    ///
    /// # Errors
    /// When the API refuses, or an object is not what the type says.
    pub async fn list_cached<K: Kind>(&self, select: Select) -> Result<Vec<K>, Error> {
        self.read_many(select, Shortcut::Cache).await
    }

    /// Creates an object now, outside the outputs: it is neither watched nor pruned.
    ///
    /// Prefer [`Cx::ensure`]: a crash after this call repeats it.
    ///
    /// # Errors
    /// When the API refuses; a name that is taken is an `AlreadyExists`.
    pub async fn create<K: Kind>(&self, object: &K) -> Result<K, Error> {
        let body = to_value(object)?;
        let request = Request::new(Verb::Create, K::kind_info().resource)
            .in_namespace(&self.place_of(&body, &K::kind_info()));
        self.write_typed(request.with_body(body)).await
    }

    /// Writes a whole object now. Its resource version, if it has one, must be the current one.
    ///
    /// # Errors
    /// When the API refuses; a resource version that is not current is a conflict.
    pub async fn update<K: Kind>(&self, object: &K) -> Result<K, Error> {
        let body = to_value(object)?;
        let request = Request::new(Verb::Update, K::kind_info().resource)
            .in_namespace(&self.place_of(&body, &K::kind_info()))
            .named(object::name(&body));
        self.write_typed(request.with_body(body)).await
    }

    /// Deletes exactly this object: one of the same name with another uid is left alone. Gone is fine.
    ///
    /// # Errors
    /// When the API refuses, or another object has the name by now (a conflict).
    pub async fn delete<K: Kind>(&self, object: &K) -> Result<(), Error> {
        let body = to_value(object)?;
        let mut request = Request::new(Verb::Delete, K::kind_info().resource)
            .in_namespace(&self.place_of(&body, &K::kind_info()))
            .named(object::name(&body));
        let uid = object::uid(&body);
        request.options.preconditions.uid = (!uid.is_empty()).then(|| uid.to_owned());
        match self.request(request).await.failure() {
            Some(status) if !names_a_missing_object(status) => Err(status.clone().into()),
            _ => Ok(()),
        }
    }

    /// Sends any request: the way out for what the other methods do not cover.
    pub async fn request(&self, request: Request) -> Response {
        self.io.send(request, Shortcut::None).await
    }

    /// Runs several futures of this `Cx` side by side: their requests go out together and land in any order.
    pub async fn all<F: Future>(&self, futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
        All::new(futures).await
    }

    /// Calls an external service.
    ///
    /// # Errors
    /// When the service cannot be reached, refuses, or answers with something else than its type says.
    pub async fn call<S: Service>(&self, _service: S, request: S::Request) -> Result<S::Response, CallError> {
        let refused = |message: String| CallError::Refused { service: S::NAME.to_owned(), message };
        let request = serde_json::to_value(&request).map_err(|error| refused(error.to_string()))?;
        let answer = self.io.call(S::NAME, request).await?;
        serde_json::from_value(answer).map_err(|error| refused(format!("its answer makes no sense: {error}")))
    }

    /// What time it is. The only clock that a state may read.
    pub async fn now(&self) -> Timestamp {
        self.io.now().await
    }

    /// Publishes a Kubernetes Event about the parent when the reconcile ends.
    pub fn event(&self, event: Event) {
        self.pending().events.push(event);
    }

    /// Shows fields of the machine's own in the parent's status: written with the conditions, in the same request,
    /// however the reconcile ends, and not at all if they are so already.
    ///
    /// Each field is replaced whole; one that is null goes, and those that are not named stay. Flatten
    /// [`MachineStatus`](crate::MachineStatus) into the type of the status and give it these fields too: a structural
    /// schema drops what it does not name. Parents of built-in kinds have no room for this, and it is ignored.
    ///
    /// # Errors
    /// When it is no JSON object, or has a field that the framework writes.
    pub fn report(&self, fields: &impl Serialize) -> Result<(), Error> {
        self.pending().report.extend(Report::of(fields)?);
        Ok(())
    }

    pub(crate) fn io(&self) -> &Io {
        &self.io
    }

    pub(crate) fn take_outputs(&self) -> Vec<Output> {
        std::mem::take(&mut self.pending().outputs)
    }

    pub(crate) fn take_events(&self) -> Vec<Event> {
        std::mem::take(&mut self.pending().events)
    }

    pub(crate) fn take_report(&self) -> Report {
        std::mem::take(&mut self.pending().report)
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn read_one<K: Kind>(
        &self,
        namespace: &str,
        name: &str,
        shortcut: Shortcut,
    ) -> Result<Option<K>, Error> {
        let kind = K::kind_info();
        let namespace = if kind.namespaced { namespace } else { "" };
        let found = self.io.get(&kind, &ObjectRef::new(namespace, name), shortcut).await?;
        found.map(|value| from_value(&value)).transpose()
    }

    async fn read_many<K: Kind>(&self, select: Select, shortcut: Shortcut) -> Result<Vec<K>, Error> {
        let kind = K::kind_info();
        let namespace = match &select.namespace {
            _ if !kind.namespaced => "",
            Place::Parent => &self.target.namespace,
            Place::Everywhere => "",
            Place::In(namespace) => namespace,
        };
        let mut request = Request::new(Verb::List, kind.resource).in_namespace(namespace);
        request.options.label_selector = select.labels;
        request.options.field_selector = select.fields;
        let items = self.io.list(request, shortcut).await?;
        items.iter().map(|item| from_value(item)).collect()
    }

    async fn write_typed<K: Kind>(&self, request: Request) -> Result<K, Error> {
        let response = self.io.send(request.as_manager(&self.io.manager), Shortcut::None).await;
        from_value(&*object_of(response)?)
    }

    fn place_of(&self, body: &Value, kind: &KindInfo) -> String {
        match object::namespace(body) {
            _ if !kind.namespaced => String::new(),
            "" => self.target.namespace.clone(),
            given => given.to_owned(),
        }
    }
}

/// The framework's own view of the driver, shared by states and by what runs around them.
#[derive(Clone)]
pub(crate) struct Io {
    slot: Slot,
    manager: String,
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
        match self.slot.ask(Ask::Api { request: Box::new(request), shortcut }).await {
            Answer::Api(response) => response,
            other => {
                Response::status(Status::internal(format!("the driver answered a request with {other:?}")))
            }
        }
    }

    pub(crate) async fn get(
        &self,
        kind: &KindInfo,
        place: &ObjectRef,
        shortcut: Shortcut,
    ) -> Result<Option<Arc<Value>>, Error> {
        let request =
            Request::new(Verb::Get, kind.resource.clone()).in_namespace(&place.namespace).named(&place.name);
        let response = self.send(request, shortcut).await;
        match response.failure() {
            Some(status) if names_a_missing_object(status) => Ok(None),
            _ => object_of(response).map(Some),
        }
    }

    pub(crate) async fn list(&self, request: Request, shortcut: Shortcut) -> Result<Vec<Arc<Value>>, Error> {
        match self.send(request, shortcut).await.body {
            Body::List(list) => Ok(list.items),
            Body::Status(status) => Err(status.into()),
            Body::Object(_) => Err(Status::internal("a list was answered with one object").into()),
        }
    }

    pub(crate) async fn apply(
        &self,
        kind: &KindInfo,
        place: &ObjectRef,
        body: Value,
        force: bool,
    ) -> Result<Arc<Value>, Error> {
        let mut request = Request::new(Verb::Patch(PatchKind::Apply), kind.resource.clone())
            .in_namespace(&place.namespace)
            .named(&place.name)
            .with_body(body)
            .as_manager(&self.manager);
        request.options.force = force;
        object_of(self.send(request, Shortcut::SkipIfUnchanged).await)
    }

    /// A merge patch; `subresource` is `status` or nothing.
    pub(crate) async fn merge(
        &self,
        kind: &KindInfo,
        place: &ObjectRef,
        subresource: Option<&str>,
        patch: Value,
    ) -> Result<Arc<Value>, Error> {
        let mut request = Request::new(Verb::Patch(PatchKind::Merge), kind.resource.clone())
            .in_namespace(&place.namespace)
            .named(&place.name)
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

    pub(crate) async fn now(&self) -> Timestamp {
        match self.slot.ask(Ask::Now).await {
            Answer::Now(now) => now,
            _ => Timestamp::default(),
        }
    }

    /// Whether an object carries fields that this controller applied.
    pub(crate) fn applied(&self, object: &Value) -> bool {
        let mut entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
        entries.any(|entry| entry["operation"] == "Apply" && entry["manager"] == self.manager.as_str())
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
