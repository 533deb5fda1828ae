//! The answer to a request, as data.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::status::Status;

/// What the API answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Response {
    /// The HTTP status code.
    pub code: u16,
    /// The object, list or `Status`.
    pub body: Body,
    /// What goes into `Warning` headers.
    pub warnings: Vec<String>,
}

/// The body of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Body {
    /// One object.
    Object(Arc<Value>),
    /// A list.
    List(List),
    /// Success without an object, or a failure.
    Status(Status),
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct List {
    /// `v1`, `apps/v1`.
    pub api_version: String,
    /// `ConfigMapList`.
    pub kind: String,
    /// The version that this list shows.
    pub resource_version: String,
    /// The token for the next page.
    pub continue_token: Option<String>,
    /// How many items further pages have, where that is known.
    pub remaining_items: Option<u64>,
    /// The objects, by namespace and name.
    pub items: Vec<Arc<Value>>,
}

impl Response {
    /// 200 with an object.
    pub fn object(object: impl Into<Arc<Value>>) -> Self {
        Response { code: 200, body: Body::Object(object.into()), warnings: Vec::new() }
    }

    /// A `Status` with its own code.
    pub fn status(status: Status) -> Self {
        Response { code: status.code, body: Body::Status(status), warnings: Vec::new() }
    }

    /// The failure, if it is one.
    pub fn failure(&self) -> Option<&Status> {
        match &self.body {
            Body::Status(status) if !status.is_success() => Some(status),
            _ => None,
        }
    }

    /// The object, if it is one.
    pub fn as_object(&self) -> Option<&Arc<Value>> {
        match &self.body {
            Body::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The JSON that goes over the wire.
    pub fn to_value(&self) -> Value {
        match &self.body {
            Body::Object(object) => (**object).clone(),
            Body::Status(status) => status.to_value(),
            Body::List(list) => list.to_value(),
        }
    }
}

impl List {
    /// The JSON that goes over the wire.
    pub fn to_value(&self) -> Value {
        let mut metadata = json!({ "resourceVersion": self.resource_version });
        if let Some(token) = &self.continue_token {
            metadata["continue"] = token.as_str().into();
        }
        if let Some(remaining) = self.remaining_items {
            metadata["remainingItemCount"] = remaining.into();
        }
        let items: Vec<Value> = self.items.iter().map(|item| (**item).clone()).collect();
        json!({ "apiVersion": self.api_version, "kind": self.kind, "metadata": metadata, "items": items })
    }
}

impl From<Status> for Response {
    fn from(status: Status) -> Self {
        Response::status(status)
    }
}
