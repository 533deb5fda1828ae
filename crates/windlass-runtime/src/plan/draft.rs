//! The cluster as a reconcile would leave it: what it wrote so far lies over what the API server has.

use std::sync::Arc;

use serde_json::Value;
use windlass::ObjectRef;
use windlass::model::apply_merge_patch;
use windlass::model::selector::{FieldSelector, LabelSelector};
use windlass::model::{Body, List, PatchKind, Request, ResourceId, Response, Status, Verb, object};

use crate::api::Api;
use crate::operations::clock::now;

use super::Existing;

/// What was written so far.
pub(super) struct Draft {
    api: Api,
    written: Vec<Written>,
}

/// An object that was written, or that the plan begins with.
pub(super) struct Written {
    pub(super) resource: ResourceId,
    pub(super) key: ObjectRef,
    pub(super) before: Existing,
    pub(super) after: Existing,
}

impl Draft {
    pub(super) fn new(api: Api) -> Self {
        Draft { api, written: Vec::new() }
    }

    /// This object is there from the start.
    pub(super) fn start_with(&mut self, resource: &ResourceId, object: Arc<Value>) {
        let (key, before) = (ObjectRef::of(&object), Some(Arc::clone(&object)));
        self.written.push(Written { resource: resource.clone(), key, before, after: Some(object) });
    }

    pub(super) fn written(self) -> Vec<Written> {
        self.written
    }

    /// Answers a request as the API server would, if all writes before it had been real.
    pub(super) async fn perform(&mut self, request: &Request) -> Response {
        let key = key_of(request);
        let known = self
            .written
            .iter()
            .position(|written| written.resource == request.resource && written.key == key);
        match (request.verb, known.and_then(|index| self.written.get_mut(index))) {
            (Verb::Get, Some(written)) => found(request, written.after.as_ref()),
            (Verb::Get, None) => self.api.perform(request).await,
            (Verb::List, _) => self.list(request).await,
            (Verb::DeleteCollection, _) => unpredictable(request),
            // The server knows what applying means, and an apply says all that it wants.
            (Verb::Patch(PatchKind::Apply), Some(written)) => {
                let response = dry_run(&self.api, request).await;
                response.as_object().iter().for_each(|object| written.after = Some(Arc::clone(object)));
                response
            }
            (_, Some(written)) => write_again(request, written),
            (_, None) => self.write(request, key).await,
        }
    }

    /// The first write of an object: the server says what comes of it.
    async fn write(&mut self, request: &Request, key: ObjectRef) -> Response {
        let before = if key.name.is_empty() { None } else { self.live(request).await };
        let response = dry_run(&self.api, request).await;
        if response.failure().is_some() {
            return response;
        }
        let after = match (&response.body, request.verb) {
            (_, Verb::Delete) => before.as_deref().and_then(left_after_deletion),
            (Body::Object(object), _) if is_whole(request) => unless_deleted(object),
            _ => return response,
        };
        let key = after.as_deref().map_or(key, ObjectRef::of);
        self.written.push(Written { resource: request.resource.clone(), key, before, after });
        response
    }

    async fn live(&self, request: &Request) -> Existing {
        let get = Request {
            subresource: None,
            body: None,
            options: Default::default(),
            verb: Verb::Get,
            ..request.clone()
        };
        let get = Request { name: Some(key_of(request).name), ..get };
        self.api.perform(&get).await.as_object().cloned()
    }

    async fn list(&self, request: &Request) -> Response {
        let mut response = self.api.perform(request).await;
        let Body::List(list) = &mut response.body else { return response };
        let labels = LabelSelector::parse(request.options.label_selector.as_deref().unwrap_or_default());
        let fields = FieldSelector::parse(request.options.field_selector.as_deref().unwrap_or_default());
        let (Ok(labels), Ok(fields)) = (labels, fields) else { return response };
        let here = |written: &&Written| {
            let namespace = request.namespace.as_deref();
            written.resource == request.resource
                && namespace.is_none_or(|namespace| namespace == written.key.namespace)
        };
        let selected =
            |object: &Value| labels.matches(&object["metadata"]["labels"]) && fields.matches(object);
        for written in self.written.iter().filter(here) {
            lay_over(list, written, written.after.as_ref().filter(|object| selected(object)));
        }
        response
    }
}

fn lay_over(list: &mut List, written: &Written, object: Option<&Arc<Value>>) {
    list.items.retain(|item| ObjectRef::of(item) != written.key);
    if let Some(object) = object {
        let index = list.items.partition_point(|item| ObjectRef::of(item) < written.key);
        list.items.insert(index, Arc::clone(object));
    }
}

/// Where the object of a request is, or will be.
fn key_of(request: &Request) -> ObjectRef {
    let named = request.body.as_ref().filter(|_| request.verb == Verb::Create).map(object::name);
    let name = request.name.as_deref().or(named).unwrap_or_default();
    ObjectRef::new(request.namespace.as_deref().unwrap_or_default(), name)
}

/// Whether a write is answered with the object itself.
fn is_whole(request: &Request) -> bool {
    matches!(request.subresource.as_deref(), None | Some("status"))
}

async fn dry_run(api: &Api, request: &Request) -> Response {
    let mut request = request.clone();
    request.options.dry_run = true;
    api.perform(&request).await
}

fn found(request: &Request, object: Option<&Arc<Value>>) -> Response {
    match object {
        Some(object) => Response::object(Arc::clone(object)),
        None => missing(request),
    }
}

fn missing(request: &Request) -> Response {
    let name = request.name.as_deref().unwrap_or_default();
    Status::not_found(&request.resource.group, &request.resource.plural, name).into()
}

fn unpredictable(request: &Request) -> Response {
    let (verb, plural) = (request.verb.name(), &request.resource.plural);
    Status::internal(format!("a plan cannot predict what {verb} of {plural} would do here")).into()
}

/// A further write of an object: the server would go by what it has, and not by the first write.
fn write_again(request: &Request, written: &mut Written) -> Response {
    let Some(current) = written.after.clone() else {
        return match (request.verb, &request.body) {
            (Verb::Create, Some(body)) => {
                written.after = Some(Arc::new(body.clone()));
                found(request, written.after.as_ref())
            }
            _ => missing(request),
        };
    };
    let (group, plural) = (&request.resource.group, &request.resource.plural);
    let body = request.body.as_ref();
    match (request.verb, body) {
        (Verb::Create, _) => Status::already_exists(group, plural, &written.key.name).into(),
        (Verb::Delete, _) => {
            written.after = left_after_deletion(&current);
            Status::success().into()
        }
        (Verb::Patch(PatchKind::Merge) | Verb::Update, Some(body)) if is_whole(request) => {
            let expected = object::resource_version(body);
            if !expected.is_empty() && expected != object::resource_version(&current) {
                let why = "it was changed by somebody else";
                return Status::conflict(group, plural, &written.key.name, why).into();
            }
            let merged = match request.verb {
                Verb::Update => body.clone(),
                _ => apply_merge_patch(&current, body),
            };
            let left = Arc::new(combined(&current, merged, request.subresource.is_some()));
            written.after = unless_deleted(&left);
            Response::object(left)
        }
        _ => unpredictable(request),
    }
}

/// What a write leaves: the status is changed through its subresource only, and nothing else is changed there.
fn combined(current: &Value, written: Value, is_status: bool) -> Value {
    let (mut whole, status) = if is_status {
        (current.clone(), written["status"].clone())
    } else {
        (written, current["status"].clone())
    };
    if let Some(fields) = whole.as_object_mut() {
        fields.remove("status");
        if !status.is_null() {
            fields.insert("status".to_owned(), status);
        }
    }
    for field in ["uid", "resourceVersion", "creationTimestamp"] {
        object::set_meta(&mut whole, field, current["metadata"][field].clone());
    }
    whole
}

/// An object, unless it is being deleted and has no finalizers left.
fn unless_deleted(object: &Arc<Value>) -> Existing {
    let is_held = object::finalizers(object).next().is_some();
    (is_held || !object::is_deleting(object)).then(|| Arc::clone(object))
}

/// What is left of an object that is deleted: nothing, unless it has finalizers.
fn left_after_deletion(current: &Value) -> Existing {
    object::finalizers(current).next()?;
    let mut left = current.clone();
    object::set_meta(&mut left, "deletionTimestamp", now().to_string());
    Some(Arc::new(left))
}
