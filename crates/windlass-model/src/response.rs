//! The answer to a request, as data.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::status::Status;
use crate::types::Origin;

/// What the API answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Response {
    /// The HTTP status code.
    pub code: u16,
    /// The object, list or `Status`.
    pub body: Body,
    /// What goes into `Warning` headers.
    pub warnings: Vec<String>,
}

/// The body of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Body {
    /// One object.
    Object(Arc<Value>),
    /// A list.
    List(List),
    /// Success without an object, or a failure.
    Status(Status),
}

/// A page of a list, of objects or of what stands for them (see [`crate::list::ListSource`]).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct List<Item = Arc<Value>> {
    /// `v1`, `apps/v1`.
    pub api_version: String,
    /// `ConfigMapList`.
    pub kind: String,
    /// Items of built-in types do not say their type: the list does.
    pub origin: Origin,
    /// The version that this list shows.
    pub resource_version: String,
    /// The token for the next page.
    pub continue_token: Option<String>,
    /// How many items further pages have, where that is known.
    pub remaining_items: Option<u64>,
    /// The objects, by namespace and name.
    pub items: Vec<Item>,
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

impl<Item> List<Item> {
    /// The `metadata` of the list: its version, and how it goes on.
    pub fn metadata(&self) -> Value {
        let mut metadata = json!({ "resourceVersion": self.resource_version });
        match (&self.continue_token, self.origin) {
            (Some(token), _) => metadata["continue"] = token.as_str().into(),
            (None, Origin::Custom) => metadata["continue"] = "".into(),
            (None, Origin::BuiltIn) => {}
        }
        if let Some(remaining) = self.remaining_items {
            metadata["remainingItemCount"] = remaining.into();
        }
        metadata
    }
}

impl<Item> List<Item> {
    /// The same list of objects, with none in it.
    pub fn without_items(self) -> List {
        List {
            api_version: self.api_version,
            kind: self.kind,
            origin: self.origin,
            resource_version: self.resource_version,
            continue_token: self.continue_token,
            remaining_items: self.remaining_items,
            items: Vec::new(),
        }
    }
}

impl List {
    /// The JSON that goes over the wire.
    pub fn to_value(&self) -> Value {
        let shown = |item: &Arc<Value>| {
            if items_omit_type(self.origin) { without_type(item) } else { (**item).clone() }
        };
        let items: Vec<Value> = self.items.iter().map(shown).collect();
        json!({ "apiVersion": self.api_version, "kind": self.kind, "metadata": self.metadata(), "items": items })
    }
}

/// Whether the items of a list leave out their apiVersion and kind, which the list says for all of them.
pub fn items_omit_type(origin: Origin) -> bool {
    origin == Origin::BuiltIn
}

/// An object as an item of such a list.
pub fn without_type(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("apiVersion");
        fields.remove("kind");
    }
    object
}

impl From<Status> for Response {
    fn from(status: Status) -> Self {
        Response::status(status)
    }
}
