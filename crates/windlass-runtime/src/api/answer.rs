//! From an HTTP answer to a [`Response`].

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{RETRY_AFTER, WARNING};
use serde_json::Value;
use windlass::model::Origin;
use windlass::model::{Body, List, Request, Response, Status, Verb};

use super::failure;

/// An answer as it came over the wire.
#[derive(Clone, Debug)]
pub(crate) struct Answered {
    pub(crate) code: u16,
    pub(crate) body: Bytes,
    /// What the `Retry-After` header says.
    pub(crate) retry_after_seconds: Option<u32>,
    /// Whether a server has answered each attempt, whatever it said: nothing of the request is on its way any more.
    pub(crate) has_arrived: bool,
    warnings: Vec<String>,
}

impl Answered {
    pub(super) fn new(head: &http::response::Parts, body: Bytes) -> Self {
        let retry_after = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let warnings = head.headers.get_all(WARNING).iter().filter_map(|value| value.to_str().ok());
        Answered {
            code: head.status.as_u16(),
            body,
            retry_after_seconds: retry_after.and_then(|seconds| seconds.trim().parse().ok()),
            // A gateway, or a server that gave up waiting, may still have it under way.
            has_arrived: head.status.as_u16() < 500,
            warnings: warnings.map(warning_text).collect(),
        }
    }

    /// A failure that no server reported.
    pub(super) fn of_failure(status: Status) -> Self {
        let body = Bytes::from(status.to_value().to_string());
        Answered {
            code: status.code,
            body,
            retry_after_seconds: None,
            has_arrived: false,
            warnings: Vec::new(),
        }
    }

    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// How long to wait before the same request is sent again, if the server says so. It has then done nothing.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        let asks = self.code == 429 || self.code >= 500;
        self.retry_after_seconds.filter(|_| asks).map(|seconds| Duration::from_secs(seconds.into()))
    }
}

/// `299 - "text"`: only the text is for people.
fn warning_text(header: &str) -> String {
    let quoted = header.split_once('"').map_or(header, |(_, rest)| rest.trim_end());
    quoted.strip_suffix('"').unwrap_or(quoted).replace("\\\"", "\"").replace("\\\\", "\\")
}

/// What an answer to a request says.
pub(crate) fn read(request: &Request, answered: &Answered) -> Response {
    let mut response = if answered.is_success() {
        match serde_json::from_slice(&answered.body) {
            Ok(value) => success(request, value, answered.code),
            Err(error) => {
                let message = format!("the answer of the API server is not JSON: {error}");
                Response::status(Status::unclassified(message))
            }
        }
    } else {
        Response::status(failure::of_answer(answered))
    };
    response.warnings.clone_from(&answered.warnings);
    response
}

fn success(request: &Request, value: Value, code: u16) -> Response {
    let is_list = matches!(request.verb, Verb::List | Verb::DeleteCollection) && value["items"].is_array();
    let body = if value["kind"] == "Status" && value["apiVersion"] == "v1" {
        Body::Status(failure::read_status(&value, code))
    } else if is_list {
        Body::List(list(value))
    } else {
        Body::Object(Arc::new(value))
    };
    Response { code, body, warnings: Vec::new() }
}

fn list(mut value: Value) -> List {
    let items = value["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &value["metadata"];
    let mut list = List {
        api_version: text(&value["apiVersion"]),
        kind: text(&value["kind"]),
        origin: Origin::BuiltIn,
        resource_version: text(&metadata["resourceVersion"]),
        continue_token: Some(text(&metadata["continue"])).filter(|token| !token.is_empty()),
        remaining_items: metadata["remainingItemCount"].as_u64(),
        items: Vec::new(),
    };
    list.items = items.into_iter().map(|item| Arc::new(with_type(item, &list))).collect();
    list
}

/// Items of built-in types do not say what they are: the list does.
fn with_type(mut item: Value, list: &List) -> Value {
    if let Some(fields) = item.as_object_mut() {
        let kind = list.kind.strip_suffix("List").unwrap_or(&list.kind);
        fields.entry("apiVersion").or_insert_with(|| list.api_version.as_str().into());
        fields.entry("kind").or_insert_with(|| kind.into());
    }
    item
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windlass::model::{Reason, ResourceId};

    use super::*;

    fn answered(code: u16, body: &Value) -> Answered {
        Answered {
            code,
            body: body.to_string().into(),
            retry_after_seconds: None,
            has_arrived: true,
            warnings: Vec::new(),
        }
    }

    fn request(verb: Verb) -> Request {
        Request::new(verb, ResourceId::new("", "v1", "configmaps")).in_namespace("default")
    }

    #[test]
    fn items_get_the_type_of_their_list() {
        let body = json!({
            "apiVersion": "v1", "kind": "ConfigMapList", "metadata": {"resourceVersion": "7", "continue": "x"},
            "items": [{"metadata": {"name": "a"}}],
        });
        let response = read(&request(Verb::List), &answered(200, &body));
        let Body::List(list) = response.body else { panic!("{response:?}") };
        assert_eq!((list.resource_version.as_str(), list.continue_token.as_deref()), ("7", Some("x")));
        assert_eq!(
            *list.items[0],
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
        );
    }

    #[test]
    fn distinguishes_a_status_from_an_object() {
        let status = Status::success().to_value();
        let response = read(&request(Verb::Delete), &answered(200, &status));
        assert!(matches!(&response.body, Body::Status(status) if status.is_success()), "{response:?}");
        let missing = Status::not_found("", "configmaps", "a");
        let response = read(&request(Verb::Get), &answered(404, &missing.to_value()));
        assert_eq!(response.failure(), Some(&missing));
    }

    #[test]
    fn what_is_no_json_is_a_failure() {
        let broken = Answered { body: Bytes::from_static(b"<html>"), ..answered(200, &json!(null)) };
        assert_eq!(read(&request(Verb::Get), &broken).failure().map(|status| status.code), Some(500));
        let gateway = Answered { code: 502, ..broken };
        let response = read(&request(Verb::Get), &gateway);
        let status = response.failure().expect("a failure");
        assert_eq!((status.code, status.message.as_str()), (502, "the server answered 502: <html>"));
    }

    #[test]
    fn when_to_come_again_is_kept() {
        let busy = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 429});
        let busy = Answered { retry_after_seconds: Some(3), ..answered(429, &busy) };
        assert_eq!(busy.retry_after(), Some(Duration::from_secs(3)));
        let response = read(&request(Verb::Get), &busy);
        let status = response.failure().expect("a failure");
        assert_eq!(status.reason, Some(Reason::TooManyRequests));
        assert_eq!(status.details.as_ref().and_then(|details| details.retry_after_seconds), Some(3));
        assert_eq!(Answered { code: 409, ..busy }.retry_after(), None);
    }

    #[test]
    fn warnings_are_for_people() {
        assert_eq!(warning_text("299 - \"unknown field \\\"spec.x\\\"\""), "unknown field \"spec.x\"");
    }
}
