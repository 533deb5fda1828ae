//! What one policy says to one request with one parameter.

use crate::status::Reason;
use windlass_cel::{RUNTIME_COST_BUDGET, Value};

use super::review::Review;
use super::scope::{Inputs, OUT_OF_BUDGET, PolicyScope};
use crate::policies::{Policy, Validation};

/// What all match conditions of a policy may cost together.
const CONDITIONS_BUDGET: u64 = 2_500_000;
/// Maximum length of a message that an expression makes. A longer one is not used.
const MAX_MESSAGE_BYTES: usize = 5 * 1024;

/// An objection to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Objection {
    pub(super) message: String,
    pub(super) reason: Reason,
}

impl Objection {
    /// Something could not be evaluated or is not set up.
    pub(super) fn failure(message: impl Into<String>) -> Self {
        Objection { message: message.into(), reason: Reason::Invalid }
    }
}

/// What a policy says.
#[derive(Debug, Default)]
pub(super) struct Decision {
    /// For the actions of the binding.
    pub(super) objections: Vec<Objection>,
    /// Refuses the request whatever the binding says: an audit annotation cannot be made.
    pub(super) failed_annotation: Option<Objection>,
}

impl Decision {
    fn failed(policy: &Policy, message: impl Into<String>) -> Self {
        let objections = if policy.fails_closed { vec![Objection::failure(message)] } else { Vec::new() };
        Decision { objections, failed_annotation: None }
    }
}

/// Evaluates a policy. Kubernetes shows match conditions another `request` and no namespace: `conditions` is that view.
pub(super) fn decide(
    review: &Review<'_>,
    policy: &Policy,
    inputs: Inputs<'_>,
    conditions: Inputs<'_>,
) -> Decision {
    match matches_conditions(review, policy, conditions) {
        Ok(true) => {}
        Ok(false) => return Decision::default(),
        Err(message) => return Decision::failed(policy, message),
    }
    let scope = PolicyScope::new(review, policy, inputs, RUNTIME_COST_BUDGET);
    let mut objections = Vec::new();
    for validation in &policy.validations {
        match scope.evaluate(&validation.expression) {
            None => return Decision::failed(policy, OUT_OF_BUDGET),
            Some(Ok(Value::Bool(true))) => {}
            Some(Ok(_)) => {
                let message = message(review, policy, inputs, validation, scope.remaining());
                objections.push(Objection { message, reason: validation.reason });
            }
            Some(Err(error)) if policy.fails_closed => objections.push(Objection::failure(error)),
            Some(Err(_)) => {}
        }
    }
    match failed_annotation(review, policy, inputs) {
        Ok(failed_annotation) => Decision { objections, failed_annotation },
        Err(message) => Decision::failed(policy, message),
    }
}

/// Whether all match conditions hold. One that does not hold wins over those that fail.
pub(super) fn matches_conditions(
    review: &Review<'_>,
    policy: &Policy,
    inputs: Inputs<'_>,
) -> Result<bool, String> {
    let scope = PolicyScope::new(review, policy, inputs, CONDITIONS_BUDGET);
    let mut values = Vec::with_capacity(policy.conditions.len());
    for condition in &policy.conditions {
        match scope.evaluate(condition) {
            None if policy.fails_closed => return Err(OUT_OF_BUDGET.to_owned()),
            None => return Ok(false),
            Some(value) => values.push(value),
        }
    }
    if values.iter().any(|value| matches!(value, Ok(Value::Bool(false)))) {
        return Ok(false);
    }
    let mut errors: Vec<String> = Vec::new();
    for error in values.into_iter().filter_map(Result::err) {
        if !errors.contains(&error) {
            errors.push(error);
        }
    }
    match errors.as_slice() {
        [] => Ok(true),
        _ if !policy.fails_closed => Ok(false),
        [one] => Err(one.clone()),
        many => Err(format!("[{}]", many.join(", "))),
    }
}

/// The message of a validation that does not hold: what its expression makes, or its text, or the rule itself.
fn message(
    review: &Review<'_>,
    policy: &Policy,
    inputs: Inputs<'_>,
    validation: &Validation,
    budget: u64,
) -> String {
    let scope = PolicyScope::new(review, policy, inputs, budget);
    let made = validation.message_expression.as_ref().and_then(|program| scope.run(program));
    if let Some(Ok(Value::String(text))) = &made {
        let text = text.trim();
        if !text.is_empty() && text.len() <= MAX_MESSAGE_BYTES && !text.contains('\n') {
            return text.to_owned();
        }
    }
    if validation.message.is_empty() {
        return format!("failed expression: {}", validation.expression.source.trim());
    }
    validation.message.to_string()
}

/// Evaluates the audit annotations, which are written nowhere; only one that fails can be noticed.
fn failed_annotation(
    review: &Review<'_>,
    policy: &Policy,
    inputs: Inputs<'_>,
) -> Result<Option<Objection>, String> {
    let scope = PolicyScope::new(review, policy, inputs, RUNTIME_COST_BUDGET);
    let mut failed = None;
    for annotation in &policy.annotations {
        match scope.evaluate(annotation) {
            None => return Err(OUT_OF_BUDGET.to_owned()),
            Some(Err(error)) if policy.fails_closed => {
                failed = failed.or_else(|| Some(Objection::failure(error)));
            }
            Some(_) => {}
        }
    }
    Ok(failed)
}
