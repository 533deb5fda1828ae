//! Discovery and OpenAPI: documents that depend on the types alone, made once and kept until the types change.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use hyper::header::{ACCEPT, ETAG, HeaderName, HeaderValue, IF_NONE_MATCH};
use hyper::http::request::Parts;
use windlass_model::discovery::{self, Document};
use windlass_model::{Types, openapi};

use crate::http::answer::{Answer, AnswerBody, of_bytes, with_body};
use crate::http::api::header;

/// Far more than clients ask for; since they choose what they accept, there must be a bound.
const KEPT_MAX: usize = 512;

/// The documents of the newest types.
#[derive(Default)]
pub(crate) struct Documents(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    types: Types,
    by_request: HashMap<(String, String), Arc<Ready>>,
}

/// A document as it goes out.
struct Ready {
    document: Document,
    body: Bytes,
}

impl Documents {
    /// The document that a request asks for; `None` if it asks for something else.
    pub(crate) fn answer(&self, types: &Types, parts: &Parts) -> Option<Answer> {
        if !matches!(parts.method.as_str(), "GET" | "HEAD") {
            return None;
        }
        let ready = self.ready(types, parts.uri.path(), header(&parts.headers, &ACCEPT))?;
        let Document { code, content_type, headers, etag, .. } = &ready.document;
        let etag = etag.as_ref().map(|tag| format!("\"{tag}\""));
        let known = header(&parts.headers, &IF_NONE_MATCH);
        let mut answer = if known.is_some() && known == etag.as_deref() {
            with_body(304, content_type, AnswerBody::Whole(None))
        } else {
            of_bytes(*code, content_type, ready.body.clone())
        };
        for (name, value) in headers {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(*name), HeaderValue::from_str(value)) {
                answer.headers_mut().insert(name, value);
            }
        }
        if let Some(etag) = etag.and_then(|etag| HeaderValue::try_from(etag).ok()) {
            answer.headers_mut().insert(ETAG, etag);
        }
        Some(answer)
    }

    fn ready(&self, types: &Types, path: &str, accept: Option<&str>) -> Option<Arc<Ready>> {
        // Objects are asked for far more often than documents, and their paths have more parts.
        if !may_be_document(path) {
            return None;
        }
        let key = (path.to_owned(), accept.unwrap_or_default().to_owned());
        if let Some(ready) = self.kept(types).by_request.get(&key) {
            return Some(Arc::clone(ready));
        }
        // Made outside of the lock: a large one takes a while.
        let mut document =
            discovery::answer(types, path, accept).or_else(|| openapi::document(types, path, accept))?;
        let body = Bytes::from(std::mem::take(&mut document.body));
        let ready = Arc::new(Ready { document, body });
        let mut kept = self.kept(types);
        if ready.document.code == 200 && kept.by_request.len() < KEPT_MAX {
            kept.by_request.insert(key, Arc::clone(&ready));
        }
        Some(ready)
    }

    /// What is kept of these types.
    fn kept(&self, types: &Types) -> MutexGuard<'_, Kept> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.types.is_same(types) {
            *kept = Kept { types: types.clone(), by_request: HashMap::new() };
        }
        kept
    }
}

fn may_be_document(path: &str) -> bool {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    match parts.next() {
        Some("api") => parts.count() <= 1,
        Some("apis") => parts.count() <= 2,
        _ => true,
    }
}
