//! Paths with their operations, as documents write them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::parameters;

/// Path, then method, then operation.
pub(super) type Paths = BTreeMap<String, BTreeMap<&'static str, Operation>>;

/// An operation, but for its parameters.
pub(super) struct Operation {
    pub(super) fields: Map<String, Value>,
    /// The parameters that its query may have.
    pub(super) query: &'static [&'static str],
    /// What `{name}` in its path is the name of.
    pub(super) kind: String,
}

/// The items of `paths` in a document.
pub(super) fn items(paths: Paths) -> Map<String, Value> {
    paths.into_iter().map(|(path, operations)| (path.clone(), item(&path, operations))).collect()
}

/// What all operations of a path have is said once.
fn item(path: &str, operations: BTreeMap<&'static str, Operation>) -> Value {
    let first = operations.values().next().map_or(&[][..], |operation| operation.query);
    let is_shared = |name: &&str| operations.values().all(|operation| operation.query.contains(name));
    let shared: Vec<&str> = first.iter().copied().filter(is_shared).collect();
    let mut in_common: Vec<Value> = shared.iter().map(|name| parameters::query(name)).collect();
    if path.contains("{namespace}") {
        in_common.insert(0, parameters::namespace());
    }
    if let Some(operation) = operations.values().next().filter(|_| path.contains("{name}")) {
        in_common.insert(0, parameters::name(&operation.kind));
    }
    let mut item = Map::new();
    for (method, Operation { mut fields, query, .. }) in operations {
        let own = query.iter().filter(|name| !shared.contains(name));
        let own: Vec<Value> = own.map(|name| parameters::query(name)).collect();
        if !own.is_empty() {
            fields.insert("parameters".to_owned(), own.into());
        }
        item.insert(method.to_owned(), fields.into());
    }
    if !in_common.is_empty() {
        item.insert("parameters".to_owned(), in_common.into());
    }
    item.into()
}

/// A path with one operation that takes nothing.
pub(super) fn single(path: &str, operation: Map<String, Value>) -> Map<String, Value> {
    Map::from_iter([(path.to_owned(), json!({ "get": operation }))])
}
