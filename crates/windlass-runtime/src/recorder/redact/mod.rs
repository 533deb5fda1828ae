//! Takes secrets out of what is shown: each becomes a placeholder, wherever it occurs.
//!
//! The same secret has the same placeholder as long as the process lives, so that it can be seen that a value was
//! copied or changed, and so that a reconcile that is run again with placeholders asks the same.

mod secrets;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::{Map, Value};
use windlass::model::{Body, Request, ResourceId, Status, object};
use windlass::recording::{RecordedEnd, Recording};
use windlass::{Answer, Ask, CallError, Event, KindInfo, RandomBytes, ReconcileResult};

use secrets::{Keyed, Secrets};

/// Clients write a copy of the whole object here.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// What says which object it is. None of this is secret, and a replay goes by it.
const IDENTITY: [&str; 9] = [
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "ownerReferences",
    "managedFields",
];

/// What is secret, and the key that makes placeholders of it.
#[derive(Default)]
pub(crate) struct Redaction {
    keyed: Keyed,
    /// Fields that the user has named, as JSON pointers.
    named: Vec<(KindInfo, String)>,
}

impl Redaction {
    /// Also redacts the strings at this JSON pointer in objects of this kind.
    pub(crate) fn add(&mut self, kind: KindInfo, pointer: &str) {
        self.named.push((kind, pointer.to_owned()));
    }

    /// Takes the secrets out of a recording.
    pub(crate) fn recording(&self, recording: &mut Recording) {
        let mut secrets = self.secrets();
        let exchanges = || recording.batches.iter().flat_map(|batch| &batch.exchanges);
        for exchange in exchanges() {
            self.learn(&mut secrets, &exchange.ask, &exchange.answer);
        }
        for exchange in recording.batches.iter_mut().flat_map(|batch| &mut batch.exchanges) {
            self.hide(&secrets, &mut exchange.ask, &mut exchange.answer);
        }
        self.hide_in_end(&secrets, &mut recording.end);
    }

    /// Takes the secrets out of how a reconcile ended.
    pub(crate) fn hide_in_end(&self, secrets: &Secrets<'_>, end: &mut RecordedEnd) {
        match end {
            RecordedEnd::Ended { result, bug, events, .. } => {
                hide_in_result(secrets, result);
                bug.iter_mut().for_each(|bug| secrets.hide_in(bug));
                events.iter_mut().for_each(|event| hide_in_event(secrets, event));
            }
            RecordedEnd::Bug(bug) => secrets.hide_in(bug),
            RecordedEnd::TimedOut => {}
        }
    }

    /// A collection of secrets, empty so far.
    pub(crate) fn secrets(&self) -> Secrets<'_> {
        Secrets::new(&self.keyed)
    }

    /// Learns the secrets in an exchange.
    pub(crate) fn learn(&self, secrets: &mut Secrets<'_>, ask: &Ask, answer: &Answer) {
        match ask {
            Ask::Api { request, .. } => {
                request.body.iter().for_each(|body| self.learn_from(secrets, body, Some(&request.resource)));
            }
            Ask::Call { request, .. } => self.learn_from(secrets, request, None),
            Ask::Now | Ask::Random { .. } => {}
        }
        let resource = match ask {
            Ask::Api { request, .. } => Some(&request.resource),
            _ => None,
        };
        match answer {
            Answer::Api(response) => match &response.body {
                Body::Object(object) => self.learn_from(secrets, object, resource),
                Body::List(list) => {
                    list.items.iter().for_each(|item| self.learn_from(secrets, item, resource))
                }
                Body::Status(_) => {}
            },
            Answer::Call(Ok(value)) => self.learn_from(secrets, value, None),
            Answer::Call(Err(_)) | Answer::Now(_) | Answer::Random(_) => {}
        }
    }

    /// Learns the secrets in a value: in the object that it is, and in every object inside it.
    pub(crate) fn learn_from(&self, secrets: &mut Secrets<'_>, value: &Value, resource: Option<&ResourceId>) {
        for (text, form) in self.secret_texts(value, resource) {
            secrets.learn(text, form);
        }
        match value {
            Value::Object(fields) => fields.values().for_each(|value| self.learn_from(secrets, value, None)),
            Value::Array(items) => items.iter().for_each(|value| self.learn_from(secrets, value, None)),
            _ => {}
        }
    }

    /// The texts of an object that are secret.
    fn secret_texts<'a>(&self, value: &'a Value, resource: Option<&ResourceId>) -> Vec<(&'a str, Form)> {
        let mut found = Vec::new();
        if is_secret(value, resource) {
            texts(&value["data"], Form::Base64, &mut found);
            texts(&value["stringData"], Form::Plain, &mut found);
            texts(&value["metadata"]["annotations"][LAST_APPLIED], Form::Plain, &mut found);
            // A JSON patch.
            for operation in value.as_array().into_iter().flatten() {
                let path = operation["path"].as_str().unwrap_or_default();
                let form = if path.starts_with("/stringData") { Form::Plain } else { Form::Base64 };
                texts(&operation["value"], form, &mut found);
            }
        }
        for pointer in self.pointers(value, resource) {
            value.pointer(pointer).iter().for_each(|value| texts(value, Form::Plain, &mut found));
        }
        found
    }

    /// Where the user says that an object has secrets.
    fn pointers(&self, value: &Value, resource: Option<&ResourceId>) -> Vec<&str> {
        let (group, _) = object::split_api_version(value["apiVersion"].as_str().unwrap_or_default());
        let named = self.named.iter().filter(|(kind, _)| {
            let by_type = value["kind"] == *kind.kind && group == kind.resource.group;
            // A patch does not say its type.
            let same = |of: &ResourceId| of.group == kind.resource.group && of.plural == kind.resource.plural;
            by_type || resource.is_some_and(same)
        });
        named.map(|(_, pointer)| pointer.as_str()).collect()
    }

    fn hide(&self, secrets: &Secrets<'_>, ask: &mut Ask, answer: &mut Answer) {
        // A replay draws the same for all of them; what is made of it is hidden where it goes into a Secret.
        let is_secret_draw = matches!(ask, Ask::Random { secret: true });
        let resource = match ask {
            Ask::Api { request, .. } => {
                let Request { resource, body, options, .. } = &mut **request;
                body.iter_mut().for_each(|body| self.hide_in_object(secrets, body, Some(resource)));
                let selectors = [&mut options.label_selector, &mut options.field_selector];
                selectors.into_iter().flatten().for_each(|selector| secrets.hide_in(selector));
                Some(&*resource)
            }
            Ask::Call { request, .. } => {
                self.hide_in_value(secrets, request);
                None
            }
            Ask::Now | Ask::Random { .. } => None,
        };
        match answer {
            Answer::Api(response) => {
                let hide = |object: &mut Arc<Value>| {
                    let mut own = (**object).clone();
                    self.hide_in_object(secrets, &mut own, resource);
                    *object = Arc::new(own);
                };
                match &mut response.body {
                    Body::Object(object) => hide(object),
                    Body::List(list) => list.items.iter_mut().for_each(hide),
                    Body::Status(status) => hide_in_status(secrets, status),
                }
                response.warnings.iter_mut().for_each(|warning| secrets.hide_in(warning));
            }
            Answer::Call(Ok(value)) => self.hide_in_value(secrets, value),
            Answer::Call(Err(
                CallError::Unavailable { message, .. } | CallError::Refused { message, .. },
            )) => {
                secrets.hide_in(message);
            }
            Answer::Random(drawn) if is_secret_draw => *drawn = RandomBytes::numbered(0),
            Answer::Call(Err(CallError::Timeout { .. })) | Answer::Now(_) | Answer::Random(_) => {}
        }
    }

    /// Hides secrets in an object, or in a patch of one, but not in what says which object it is.
    pub(crate) fn hide_in_object(
        &self,
        secrets: &Secrets<'_>,
        object: &mut Value,
        resource: Option<&ResourceId>,
    ) {
        for pointer in self.pointers(object, resource) {
            object.pointer_mut(pointer).into_iter().for_each(|value| hide_whole(secrets, value));
        }
        let is_secret = is_secret(object, resource);
        let Some(fields) = object.as_object_mut() else {
            if is_secret {
                // A JSON patch.
                let operations = object.as_array_mut().into_iter().flatten();
                let values = operations.filter_map(|operation| operation.get_mut("value"));
                values.for_each(|value| hide_whole(secrets, value));
            }
            return self.hide_in_value(secrets, object);
        };
        for (name, value) in fields {
            match (name.as_str(), value) {
                ("apiVersion" | "kind", _) => {}
                ("metadata", Value::Object(metadata)) => {
                    let others = metadata.iter_mut().filter(|(name, _)| !IDENTITY.contains(&name.as_str()));
                    others.for_each(|(_, value)| self.hide_in_value(secrets, value));
                }
                ("status", Value::Object(status)) => self.hide_in_machine_status(secrets, status),
                ("data" | "stringData", value) if is_secret => hide_whole(secrets, value),
                (_, value) => self.hide_in_value(secrets, value),
            }
        }
    }

    /// Hides secrets in a status, but not in the framework's own notes of which objects there are.
    fn hide_in_machine_status(&self, secrets: &Secrets<'_>, status: &mut Map<String, Value>) {
        for (name, value) in status {
            match value.as_array_mut() {
                Some(records) if name == "controllers" => {
                    let fields = records.iter_mut().filter_map(Value::as_object_mut).flatten();
                    let others = fields.filter(|(name, _)| !matches!(name.as_str(), "name" | "outputs"));
                    others.for_each(|(_, value)| self.hide_in_value(secrets, value));
                }
                _ => self.hide_in_value(secrets, value),
            }
        }
    }

    pub(crate) fn hide_in_value(&self, secrets: &Secrets<'_>, value: &mut Value) {
        match value {
            Value::String(text) => secrets.hide_in(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide_in_value(secrets, item)),
            Value::Object(_) if is_secret(value, None) => self.hide_in_object(secrets, value, None),
            Value::Object(fields) => {
                fields.values_mut().for_each(|value| self.hide_in_value(secrets, value));
            }
            _ => {}
        }
    }
}

/// How a secret is written where it is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Plain,
    Base64,
}

fn is_secret(value: &Value, resource: Option<&ResourceId>) -> bool {
    let by_resource = resource.is_some_and(|of| of.group.is_empty() && of.plural == "secrets");
    by_resource || (value["kind"] == "Secret" && value["apiVersion"] == "v1")
}

/// All texts in a value.
fn texts<'a>(value: &'a Value, form: Form, found: &mut Vec<(&'a str, Form)>) {
    match value {
        Value::String(text) => found.push((text, form)),
        Value::Array(items) => items.iter().for_each(|item| texts(item, form, found)),
        Value::Object(fields) => fields.values().for_each(|value| texts(value, form, found)),
        _ => {}
    }
}

/// Hides texts that are secret as a whole, however short they are.
fn hide_whole(secrets: &Secrets<'_>, value: &mut Value) {
    match value {
        Value::String(text) => secrets.hide_whole(text),
        Value::Array(items) => items.iter_mut().for_each(|item| hide_whole(secrets, item)),
        Value::Object(fields) => fields.values_mut().for_each(|value| hide_whole(secrets, value)),
        _ => {}
    }
}

fn hide_in_status(secrets: &Secrets<'_>, status: &mut Status) {
    secrets.hide_in(&mut status.message);
    let causes = status.details.iter_mut().flat_map(|details| &mut details.causes);
    causes.flat_map(|cause| &mut cause.message).for_each(|message| secrets.hide_in(message));
}

fn hide_in_result(secrets: &Secrets<'_>, result: &mut ReconcileResult) {
    match result {
        ReconcileResult::Requeue { reason, .. } => secrets.hide_in(reason),
        ReconcileResult::Conflict { message, .. } => secrets.hide_in(message),
        ReconcileResult::Failed { reason, message } | ReconcileResult::Terminal { reason, message } => {
            secrets.hide_in(reason);
            secrets.hide_in(message);
        }
        ReconcileResult::Gone | ReconcileResult::Idle | ReconcileResult::Done { .. } => {}
    }
}

fn hide_in_event(secrets: &Secrets<'_>, event: &mut Event) {
    secrets.hide_in(&mut event.reason);
    secrets.hide_in(&mut event.message);
}
