//! What the expression of a mutation makes, and what that makes of an object.

use serde_json::Value as Json;
use windlass_cel::{Message, Value};

use crate::apply;
use crate::patch::{PatchFailure, explained_json_patch};
use crate::policies::Mutation;
use crate::types::TypeInfo;

use super::scope::{OUT_OF_BUDGET, PolicyScope};

impl Mutation {
    /// The object that the mutation makes of another one, before defaults are filled in.
    ///
    /// # Errors
    /// Why it makes none.
    pub(super) fn apply(
        &self,
        scope: &PolicyScope<'_, '_>,
        object: &Json,
        info: &TypeInfo,
    ) -> Result<Json, String> {
        let (Mutation::Apply(expression) | Mutation::Patch(expression)) = self;
        if let Err(error) = &expression.program {
            return Err(error.clone());
        }
        let value = scope.evaluate(expression).unwrap_or_else(|| Err(OUT_OF_BUDGET.to_owned()))?;
        match (self, value) {
            (Mutation::Apply(_), Value::Message(configuration)) => merge(&configuration, object, info),
            (Mutation::Patch(_), Value::List(operations)) => patch(operations.iter(), object),
            (_, value) => Err(format!("unsupported return type from expression: {}", value.type_name())),
        }
    }
}

/// Merges a configuration into an object.
fn merge(configuration: &Message<'_>, object: &Json, info: &TypeInfo) -> Result<Json, String> {
    check_names(configuration)?;
    let mut wanted = Value::Message(configuration.clone()).to_json();
    wanted["apiVersion"] = object["apiVersion"].clone();
    wanted["kind"] = object["kind"].clone();
    apply::merge_configuration(info, object, &wanted).map_err(|why| format!("error applying patch: {why}"))
}

fn check_names(message: &Message<'_>) -> Result<(), String> {
    let misnamed = message.misnamed();
    if misnamed.is_empty() { Ok(()) } else { Err(format!("type mismatch: {}", misnamed.join("\n"))) }
}

/// Performs operations on an object. If one of them is a test that fails, the object stays as it is.
fn patch<'a>(operations: impl Iterator<Item = Value<'a>>, object: &Json) -> Result<Json, String> {
    let mut patch = Vec::new();
    for operation in operations {
        if let Value::Message(message) = &operation
            && let Some(Value::Message(value)) = message.field("value")
        {
            check_names(value)?;
        }
        patch.push(operation.to_json());
    }
    match explained_json_patch(object, &patch.into()) {
        Ok(patched) => Ok(patched),
        Err(PatchFailure::TestFailed) => Ok(object.clone()),
        Err(PatchFailure::NotApplicable(why)) => Err(format!("JSON Patch: {why}")),
    }
}
