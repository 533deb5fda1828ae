//! Requests, answers and objects in one line, for traces.

use serde_json::Value;
use windlass::{Answer, Ask};
use windlass_model::{Body, Change, Key, PatchKind, Request, Verb, object};

use crate::trace::{ObjectChange, ServiceChange};
use crate::values::changed_values;

/// `apply configmaps default/cm1 -> 201`: an ask and its answer, in one line.
pub fn exchange(ask: &Ask, answer: &Answer) -> String {
    format!("{} -> {}", self::ask(ask), self::answer(answer))
}

/// `apply configmaps default/cm1`
pub(crate) fn ask(ask: &Ask) -> String {
    match ask {
        Ask::Api { request, .. } => self::request(request),
        Ask::Call { service, request } => format!("call {service} {request}"),
        Ask::Now => "read the clock".to_owned(),
        Ask::Random { .. } => "draw a random value".to_owned(),
    }
}

/// As [`ask`], with the body.
pub(crate) fn ask_in_full(ask: &Ask) -> String {
    match ask {
        Ask::Api { request, .. } if request.body.is_some() => {
            let body = request.body.as_ref().map(Value::to_string).unwrap_or_default();
            format!("{} {body}", self::ask(ask))
        }
        _ => self::ask(ask),
    }
}

pub(crate) fn request(request: &Request) -> String {
    let verb = match request.verb {
        Verb::Get => "get",
        Verb::List => "list",
        Verb::Create => "create",
        Verb::Update => "update",
        Verb::Patch(PatchKind::Apply) => "apply",
        Verb::Patch(_) => "patch",
        Verb::Delete => "delete",
        Verb::DeleteCollection => "delete all",
    };
    let name = match (&request.name, &request.body) {
        (Some(name), _) => name.clone(),
        (None, Some(body)) => new_name(body),
        (None, None) => String::new(),
    };
    let target = match &request.namespace {
        Some(namespace) if name.is_empty() => format!(" in {namespace}"),
        Some(namespace) => format!(" {namespace}/{name}"),
        None if name.is_empty() => " everywhere".to_owned(),
        None => format!(" {name}"),
    };
    let subresource = request.subresource.as_ref().map_or(String::new(), |part| format!("/{part}"));
    format!("{verb} {}{subresource}{target}", request.resource.plural)
}

/// `cm1`; `web-*` if the rest of the name is made up.
fn new_name(body: &Value) -> String {
    let prefix = object::meta_str(body, "generateName");
    match object::name(body) {
        "" if !prefix.is_empty() => format!("{prefix}*"),
        name => name.to_owned(),
    }
}

/// `200`, `409 Conflict: ...`
pub(crate) fn answer(answer: &Answer) -> String {
    match answer {
        Answer::Api(response) => match &response.body {
            Body::Status(status) if !status.is_success() => {
                let reason = status.reason.map_or(String::new(), |reason| format!(" {reason:?}"));
                format!("{}{reason}: {}", response.code, status.message)
            }
            Body::List(list) => format!("{} with {} items", response.code, list.items.len()),
            _ => response.code.to_string(),
        },
        Answer::Call(Ok(value)) => value.to_string(),
        Answer::Call(Err(error)) => error.to_string(),
        Answer::Now(now) => now.to_string(),
        Answer::Random(drawn) => format!("{:02x}..", drawn.0[0]),
    }
}

/// What a stale answer does not know yet: `; by now spec.replicas: 2 -> 3`.
pub(crate) fn by_now(stale: &Answer, real: &Answer) -> String {
    let body = |answer: &Answer| match answer {
        Answer::Api(response) => Some(response.body.clone()),
        _ => None,
    };
    match (body(stale), body(real)) {
        (Some(Body::Object(stale)), Some(Body::Object(real))) => {
            format!("; by now {}", changed_values(&stale, &real))
        }
        _ => format!("; by now {}", answer(real)),
    }
}

/// What a stale answer does not know yet, if it was of an object that is gone.
pub(crate) fn by_now_another(key: &Key) -> String {
    format!("; by now another object has the name: {}", object_name(key))
}

/// That a write hits another object than the one it was decided on.
pub(crate) fn decided_on(key: &Key) -> String {
    format!("; it was decided on another object: {}", object_name(key))
}

/// What a write did to an object: `+ configmaps default/cm1`, `~ pairs default/a: spec.value: "1" -> "2"`.
pub(crate) fn object_change(change: &Change) -> ObjectChange {
    ObjectChange {
        summary: self::change(change),
        object: object_name(&change.key),
        before: change.before.as_deref().cloned(),
        after: change.after.as_deref().cloned(),
    }
}

/// What a step did to a service: `~ service bank: 0 -> 1`.
pub(crate) fn service_change(service: &str, before: &Value, after: &Value) -> ServiceChange {
    ServiceChange {
        service: service.to_owned(),
        summary: format!("~ service {service}: {}", changed_values(before, after)),
        before: before.clone(),
        after: after.clone(),
    }
}

/// `configmaps default/cm1`, `namespaces default`
pub(crate) fn object_name(key: &Key) -> String {
    format!("{} {}/{}", key.plural, key.namespace, key.name).replace(" /", " ")
}

/// The same in one line.
pub(crate) fn change(change: &Change) -> String {
    let name = object_name(&change.key);
    match (&change.before, &change.after) {
        (None, _) => format!("+ {name}"),
        (Some(_), None) => format!("- {name}"),
        (Some(before), Some(after)) => format!("~ {name}: {}", changed_values(before, after)),
    }
}
