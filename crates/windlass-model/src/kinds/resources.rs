//! Amounts of resources that containers and claims ask for.

use serde_json::Value;

use super::values::{Errors, entries, invalid_all, text};
use crate::field::{FieldError, FieldPath};
use windlass_cel::formats::names;
use windlass_cel::formats::quantity::Quantity;

/// Checks `limits` and `requests` of a container.
pub(super) fn check_requirements(errors: &mut Errors, path: &FieldPath, requirements: &Value) {
    let (limits, requests) = (path.child("limits"), path.child("requests"));
    for (name, amount) in entries(&requirements["limits"]) {
        let path = limits.key(name);
        check_name(errors, &path, name);
        check_amount(errors, &path, name, amount);
    }
    for (name, amount) in entries(&requirements["requests"]) {
        let path = requests.key(name);
        check_name(errors, &path, name);
        check_amount(errors, &path, name, amount);
        check_against_limit(errors, (&limits, &requests), name, amount, requirements["limits"].get(name));
    }
}

fn check_against_limit(
    errors: &mut Errors,
    (limits, requests): (&FieldPath, &FieldPath),
    name: &str,
    amount: &Value,
    limit: Option<&Value>,
) {
    let Some(limit) = limit else {
        if !can_overcommit(name) {
            errors.push(FieldError::required(limits, "Limit must be set for non overcommitable resources"));
        }
        return;
    };
    let (Ok(asked), Ok(allowed)) = (Quantity::parse(text(amount)), Quantity::parse(text(limit))) else {
        return;
    };
    if asked != allowed && !can_overcommit(name) {
        let detail = format!("must be equal to {name} limit of {allowed}");
        errors.push(FieldError::invalid(requests, asked.to_string(), detail));
    } else if asked > allowed {
        let detail = format!("must be less than or equal to {name} limit of {allowed}");
        errors.push(FieldError::invalid(requests, asked.to_string(), detail));
    }
}

/// An amount must be a quantity and not negative; some must be whole.
pub(super) fn check_amount(errors: &mut Errors, path: &FieldPath, name: &str, amount: &Value) {
    let quantity = match Quantity::parse(text(amount)) {
        Ok(quantity) => quantity,
        Err(message) => {
            errors.push(FieldError::invalid(path, amount.clone(), message));
            return;
        }
    };
    if quantity.is_negative() {
        errors.push(FieldError::invalid(path, amount.clone(), "must be greater than or equal to 0"));
    }
    if is_extended(name) && !quantity.is_whole() {
        errors.push(FieldError::invalid(path, amount.clone(), "must be an integer"));
    }
}

fn check_name(errors: &mut Errors, path: &FieldPath, name: &str) {
    let messages = names::is_qualified_name(name);
    let known = matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-");
    if messages.is_empty() && !name.contains('/') && !known {
        for detail in [
            "must be a standard resource type or fully qualified",
            "must be a standard resource for containers",
        ] {
            errors.push(FieldError::invalid(path, name, detail));
        }
    }
    invalid_all(errors, path, &name.into(), messages);
}

/// Resources of Kubernetes itself may be promised more than once.
fn can_overcommit(name: &str) -> bool {
    is_native(name) && !name.starts_with("hugepages-")
}

fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

fn is_extended(name: &str) -> bool {
    !is_native(name) && !name.starts_with("requests.")
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use serde_json::{Value, json};

    fn pod(resources: Value) -> Value {
        json!({ "spec": { "containers": [{ "name": "c", "image": "i", "resources": resources }] } })
    }

    #[test]
    fn amounts_are_checked() {
        check(
            "Pod",
            None,
            pod(json!({ "limits": { "cpu": "1", "memory": "1Gi" }, "requests": { "cpu": 0.5 } })),
            &[],
        );
        check(
            "Pod",
            None,
            pod(json!({ "limits": { "cpu": "1" }, "requests": { "cpu": "2" } })),
            &[
                "spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1",
            ],
        );
        check(
            "Pod",
            None,
            pod(json!({ "limits": { "cpu": "-1" } })),
            &[
                "spec.containers[0].resources.limits[cpu]: Invalid value: \"-1\": must be greater than or equal to 0",
                "spec.containers[0].resources.requests[cpu]: Invalid value: \"-1\": must be greater than or equal to 0",
            ],
        );
        check(
            "Pod",
            None,
            pod(json!({ "requests": { "example.com/gpu": "1" } })),
            &[
                "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources",
            ],
        );
    }

    #[test]
    fn names_are_standard_or_qualified() {
        check(
            "Pod",
            None,
            pod(json!({ "requests": { "gpu": "1" } })),
            &[
                "spec.containers[0].resources.requests[gpu]: Invalid value: \"gpu\": must be a standard resource type or fully qualified",
                "spec.containers[0].resources.requests[gpu]: Invalid value: \"gpu\": must be a standard resource for containers",
            ],
        );
    }
}
