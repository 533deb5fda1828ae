//! Documents that describe the API: discovery and OpenAPI. They are pure functions of the types that are served.

pub mod discovery;
pub mod openapi;
#[cfg(test)]
mod widgets;

use ring::digest::{SHA256, digest};
use serde_json::Value;
use windlass_model::Status;

/// A document as it goes over the wire. It depends on nothing but the types that are served and the request,
/// so whoever serves it may keep it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The HTTP status.
    pub code: u16,
    /// The `Content-Type` header.
    pub content_type: String,
    /// Other headers.
    pub headers: Vec<(&'static str, String)>,
    /// What stands between the quotes of the `ETag` header, if there is one. A request whose `If-None-Match` is
    /// that very tag, in quotes, is answered with 304 and no body.
    pub etag: Option<String>,
    /// The body.
    pub body: Vec<u8>,
}

impl Document {
    /// A document in JSON.
    pub(crate) fn json(content_type: impl Into<String>, value: &Value) -> Self {
        Document::of(200, content_type, serde_json::to_vec(value).expect("a value has text as keys"))
    }

    /// A refusal.
    pub(crate) fn refusal(status: &Status) -> Self {
        Document { code: status.code, ..Document::json("application/json", &status.to_value()) }
    }

    /// What Go's HTTP library says of a path that nothing is registered for.
    pub(crate) fn page_not_found() -> Self {
        let mut document = Document::of(404, "text/plain; charset=utf-8", b"404 page not found\n".to_vec());
        document.headers.push(("X-Content-Type-Options", "nosniff".to_owned()));
        document
    }

    pub(crate) fn of(code: u16, content_type: impl Into<String>, body: Vec<u8>) -> Self {
        Document { code, content_type: content_type.into(), headers: Vec::new(), etag: None, body }
    }

    /// Adds the tag of its body, with which clients keep it.
    pub(crate) fn tagged(mut self) -> Self {
        // In capital hexadecimal digits, as Kubernetes writes it.
        let hash = digest(&SHA256, &self.body);
        self.etag = Some(hash.as_ref().iter().map(|byte| format!("{byte:02X}")).collect());
        self
    }

    pub(crate) fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}
