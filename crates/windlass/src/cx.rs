//! `Cx`: what a state may do. It does no I/O; every method that awaits is one ask to the driver.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;
use windlass_model::{Request, Timestamp, Verb};

use crate::ask::Shortcut;
use crate::coroutine::All;
use crate::detail::Detail;
use crate::io::Io;
use crate::kind::{Kind, ObjectRef, from_value};
use crate::outcome::{CallError, Error};
use crate::output::Output;
use crate::reconcile_result::Event;
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
    namespace: NamespaceScope,
    labels: Option<String>,
    fields: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum NamespaceScope {
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
        self.namespace = NamespaceScope::In(namespace.to_owned());
        self
    }

    /// In all namespaces.
    #[must_use]
    pub fn everywhere(mut self) -> Self {
        self.namespace = NamespaceScope::Everywhere;
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

    /// Ensures that an object is as given: applied when this state is done or waits, pruned once a completed run no
    /// longer ensures it.
    ///
    /// A state that fails applies nothing. If the failure comes from the API or a service, the state runs again and
    /// ensures it then; if the machine itself returns [`fail`](crate::fail) or [`fail_for_good`](crate::fail_for_good)
    /// after this call, that is a [`Bug::OutputNotApplied`](crate::Bug::OutputNotApplied).
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

    /// As [`Cx::get`], but the driver may answer from its watch cache: cheap, and possibly stale.
    ///
    /// # Errors
    /// When the API refuses, or the object is not what the type says.
    pub async fn cached<K: Kind>(&self, name: &str) -> Result<Option<K>, Error> {
        self.cached_in(&self.target.namespace, name).await
    }

    /// As [`Cx::get_in`], but the driver may answer from its watch cache.
    ///
    /// # Errors
    /// When the API refuses, or the object is not what the type says.
    pub async fn cached_in<K: Kind>(&self, namespace: &str, name: &str) -> Result<Option<K>, Error> {
        self.read_one(namespace, name, Shortcut::Cache).await
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

    pub(crate) fn target(&self) -> &ObjectRef {
        &self.target
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
            NamespaceScope::Parent => &self.target.namespace,
            NamespaceScope::Everywhere => "",
            NamespaceScope::In(namespace) => namespace,
        };
        let mut request = Request::new(Verb::List, kind.resource).in_namespace(namespace);
        request.options.label_selector = select.labels;
        request.options.field_selector = select.fields;
        let items = self.io.list(request, shortcut, Detail::Whole).await?;
        items.iter().map(|item| from_value(item)).collect()
    }
}
