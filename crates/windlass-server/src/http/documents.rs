//! Discovery and OpenAPI: documents that depend only on the types, made once and kept until the types change.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use hyper::header::{ACCEPT, ETAG, HeaderName, HeaderValue, IF_NONE_MATCH};
use hyper::http::request::Parts;
use windlass_model::Types;

use crate::documents::{Document, discovery, openapi};
use crate::http::answer::{Answer, AnswerBody, of_bytes, with_body};
use crate::http::api::header;

/// Room for what all kinds of clients ask for; since they choose what they accept, there must be a bound.
const KEPT_BYTES_MAX: usize = 24 << 20;

/// The documents of the newest types.
#[derive(Default)]
pub(crate) struct Documents(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    types: Types,
    by_request: HashMap<(String, String), Arc<Ready>>,
    bytes: usize,
}

/// A document as it goes out; its body is beside it.
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
        let path = parts.uri.path();
        let ready = self.ready(types, path, header(&parts.headers, &ACCEPT))?;
        let document = match parts.uri.query() {
            Some(query) if path.starts_with("/openapi/v3/") && ready.document.code == 200 => {
                openapi::with_hash(ready.document.clone(), path, query)
            }
            _ => ready.document.clone(),
        };
        let Document { code, content_type, headers, etag, .. } = document;
        let etag = etag.map(|tag| format!("\"{tag}\""));
        let known = header(&parts.headers, &IF_NONE_MATCH);
        let mut answer = if known.is_some() && known == etag.as_deref() {
            with_body(304, &content_type, AnswerBody::Whole(None))
        } else if code == ready.document.code {
            of_bytes(code, &content_type, ready.body.clone())
        } else {
            with_body(code, &content_type, AnswerBody::Whole(None))
        };
        for (name, value) in &headers {
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
        if ready.document.code == 200 {
            self.kept(types).keep(key, Arc::clone(&ready));
        }
        Some(ready)
    }

    /// What is kept of these types.
    fn kept(&self, types: &Types) -> MutexGuard<'_, Kept> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.types.is_same(types) {
            *kept = Kept { types: types.clone(), ..Kept::default() };
        }
        kept
    }
}

impl Kept {
    /// When there is no more room, all go: what is asked for often is soon there again.
    fn keep(&mut self, key: (String, String), ready: Arc<Ready>) {
        let bytes = key.0.len() + key.1.len() + ready.body.len();
        if self.bytes + bytes > KEPT_BYTES_MAX {
            self.by_request.clear();
            self.bytes = 0;
        }
        if bytes <= KEPT_BYTES_MAX && self.by_request.insert(key, ready).is_none() {
            self.bytes += bytes;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn get(documents: &Documents, path: &str, accept: &str) -> Answer {
        let request = hyper::Request::get(path).header(ACCEPT, accept).body(()).expect("a request");
        documents.answer(&Types::built_in(), &request.into_parts().0).expect("a document")
    }

    #[test]
    fn a_hash_that_is_right_is_for_ever_and_another_leads_there() {
        let documents = Documents::default();
        let plain = get(&documents, "/openapi/v3/apis/apps/v1", "application/json");
        let etag = plain.headers()[ETAG].to_str().expect("text").trim_matches('"').to_owned();
        let right = format!("/openapi/v3/apis/apps/v1?hash={etag}");
        let for_ever = get(&documents, &right, "application/json");
        assert_eq!(
            (for_ever.status().as_u16(), &for_ever.headers()["cache-control"]),
            (200, &HeaderValue::from_static("public, immutable"))
        );
        let moved = get(&documents, "/openapi/v3/apis/apps/v1?hash=OLD", "application/json");
        assert_eq!(
            (moved.status().as_u16(), moved.headers()["location"].as_bytes()),
            (301, right.as_bytes())
        );
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let documents = Documents::default();
        let long = "x".repeat(100_000);
        for number in 0..400 {
            get(&documents, "/version", &format!("application/json, a/{number}{long}"));
        }
        let kept = documents.0.lock().expect("no panic");
        let held: usize = kept.by_request.iter().map(|(key, ready)| key.1.len() + ready.body.len()).sum();
        assert!(held <= KEPT_BYTES_MAX && kept.bytes <= KEPT_BYTES_MAX, "{held}");
        assert!(kept.by_request.len() > 10);
    }
}
