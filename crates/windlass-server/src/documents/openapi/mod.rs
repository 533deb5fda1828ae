//! OpenAPI: the shapes of all objects and all operations on them, for `kubectl explain` and its like.

mod components;
mod custom;
mod names;
mod operations;
mod parameters;
mod paths;
mod protobuf;
mod schemas;
#[cfg(test)]
mod tests;
mod v2;
mod v3;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value, json};

use crate::documents::Document;
use windlass_model::http::first_acceptable;
use windlass_model::{Origin, Types};

use schemas::Schemas;

/// How Go clients name the encoding of v2, and how it is named in answers.
const PROTOBUF: [&str; 2] =
    ["com.github.proto-openapi.spec.v2@v1.0+protobuf", "com.github.proto-openapi.spec.v2.v1.0+protobuf"];

/// The document behind `/openapi/v2`, `/openapi/v3` or below it.
///
/// `None` if the path is none of these. Documents are large, and the list of documents takes making all of
/// them: whoever serves them keeps them for as long as the types stay the same. `path` may carry a query:
/// documents are asked for with the hash that the list of documents has.
pub fn document(types: &Types, path: &str, accept: Option<&str>) -> Option<Document> {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    match path {
        "/openapi/v2" => Some(version_2(types, accept)),
        "/openapi/v3" => Some(index(types)),
        _ => Some(version_3(types, path.strip_prefix("/openapi/v3/")?, query, accept)),
    }
}

fn version_2(types: &Types, accept: Option<&str>) -> Document {
    let document = match first_acceptable(accept, &["json", PROTOBUF[0], PROTOBUF[1]]) {
        None => return not_acceptable(),
        Some("json") => Document::json("application/json", &v2::document(types)),
        Some(_) => {
            let body = protobuf::document(&v2::document(types));
            Document::of(200, format!("application/{}", PROTOBUF[1]), body)
        }
    };
    document.tagged().with_header("Vary", "Accept")
}

fn version_3(types: &Types, path: &str, query: &str, accept: Option<&str>) -> Document {
    let Some(value) = v3::document(types, &Schemas::of(types), path) else {
        return Document::of(404, "text/plain; charset=utf-8", Vec::new());
    };
    if first_acceptable(accept, &["json"]).is_none() {
        return not_acceptable();
    }
    let document = Document::json("application/json", &value).tagged().with_header("Vary", "Accept");
    with_hash(document, path, query)
}

/// The document, or where it is, if it is asked for by a hash: what has that hash never changes.
///
/// Whoever keeps documents keeps them without, and passes on what this makes of them.
pub fn with_hash(document: Document, path: &str, query: &str) -> Document {
    let path = path.strip_prefix("/openapi/v3/").unwrap_or(path);
    let asked = query.split('&').find_map(|pair| pair.strip_prefix("hash="));
    match (asked, &document.etag) {
        (Some(asked), Some(tag)) if asked == tag => {
            document.with_header("Cache-Control", "public, immutable")
        }
        (Some(asked), Some(tag)) if !asked.is_empty() => redirect(path, tag),
        _ => document,
    }
}

fn not_acceptable() -> Document {
    Document::of(406, "text/plain; charset=utf-8", Vec::new()).with_header("Vary", "Accept")
}

/// What was asked for is no more: see there.
fn redirect(path: &str, tag: &str) -> Document {
    Document::of(301, "text/plain", Vec::new()).with_header("Location", url(path, tag))
}

fn url(path: &str, tag: &str) -> String {
    format!("/openapi/v3/{path}?hash={tag}")
}

fn index(types: &Types) -> Document {
    let schemas = Schemas::of(types);
    let known = tags_of_built_in(types);
    let paths: Map<String, Value> = v3::document_paths(types)
        .into_iter()
        .filter_map(|path| {
            let tag = match known.and_then(|known| known.get(&path)) {
                Some(tag) if !v3::is_extended(types, &path) => tag.clone(),
                _ => tag_of(types, &schemas, &path)?,
            };
            Some((path.clone(), json!({ "serverRelativeURL": url(&path, &tag) })))
        })
        .collect();
    // Kubernetes does not say that this is JSON.
    Document::json("text/plain; charset=utf-8", &json!({ "paths": paths })).tagged()
}

fn tag_of(types: &Types, schemas: &Schemas<'_>, path: &str) -> Option<String> {
    Document::json("application/json", &v3::document(types, schemas, path)?).tagged().etag
}

/// The hashes of the documents of Kubernetes' own types, made once: definitions come and go, these stay.
///
/// `None` if other built-in types than usual are served.
fn tags_of_built_in(types: &Types) -> Option<&'static BTreeMap<String, String>> {
    static TAGS: OnceLock<BTreeMap<String, String>> = OnceLock::new();
    let usual = Types::built_in();
    let served = types.iter().filter(|info| info.origin == Origin::BuiltIn);
    if !served.map(Arc::as_ptr).eq(usual.iter().map(Arc::as_ptr)) {
        return None;
    }
    Some(TAGS.get_or_init(|| {
        let schemas = Schemas::of(&usual);
        let tag = |path: String| Some((path.clone(), tag_of(&usual, &schemas, &path)?));
        v3::document_paths(&usual).into_iter().filter_map(tag).collect()
    }))
}

fn info() -> Value {
    json!({ "title": "Kubernetes", "version": "1.35" })
}

fn security() -> Value {
    json!({ "BearerToken": {
        "type": "apiKey",
        "description": "Bearer Token authentication",
        "name": "authorization",
        "in": "header",
    } })
}
