//! One mutation of a policy, as it says it.

use serde_json::Value as Json;

use super::expression::{Expression, Purpose, Variables};

/// A mutation of a policy.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Mutation {
    /// A part of an object is merged into it, as server-side apply would do it.
    Apply(Expression),
    /// A list of operations is performed on it.
    Patch(Expression),
}

impl Mutation {
    /// Compiles a mutation; `None` if it has no expression, which validation refuses.
    pub(crate) fn of(object: &Json, variables: &Variables) -> Option<Self> {
        let (apply, patch) = (&object["applyConfiguration"], &object["jsonPatch"]);
        let compile = |part: &Json, purpose| Expression::of(part, "expression", purpose, variables);
        match object["patchType"].as_str()? {
            "ApplyConfiguration" => Some(Mutation::Apply(compile(apply, Purpose::ApplyConfiguration))),
            "JSONPatch" => Some(Mutation::Patch(compile(patch, Purpose::JsonPatch))),
            _ => None,
        }
    }
}
