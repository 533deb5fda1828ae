//! Mutating admission policies and their bindings.

use serde_json::Value;

use super::policies::{
    check_bound, check_conditions, check_expression, check_matching, check_param_kind, check_variables,
};
use super::values::{Errors, list, one_of, text};
use crate::field::{FieldError, FieldPath};
use crate::policies::{Purpose, Variables};

/// There is nothing to change in what is deleted.
const OPERATIONS: [&str; 4] = ["*", "CONNECT", "CREATE", "UPDATE"];

/// The rules of MutatingAdmissionPolicies: above all, each expression must compile.
pub(super) fn check_policy(errors: &mut Errors, policy: &Value) {
    let (spec, path) = (&policy["spec"], FieldPath::of("spec"));
    one_of(errors, &path.child("failurePolicy"), &spec["failurePolicy"], &["Fail", "Ignore"]);
    let has_params = spec["paramKind"].is_object();
    if has_params {
        check_param_kind(errors, &path.child("paramKind"), &spec["paramKind"]);
    }
    let constraints = path.child("matchConstraints");
    if spec["matchConstraints"].is_object() {
        check_matching(errors, &constraints, &spec["matchConstraints"]);
        if list(&spec["matchConstraints"]["resourceRules"]).is_empty() {
            errors.push(FieldError::required(&constraints.child("resourceRules"), ""));
        }
        check_operations(errors, &constraints, &spec["matchConstraints"]);
    } else {
        errors.push(FieldError::required(&constraints, ""));
    }
    let mut variables = Variables::new(has_params);
    check_conditions(errors, &path.child("matchConditions"), list(&spec["matchConditions"]), &variables);
    check_variables(errors, &path.child("variables"), list(&spec["variables"]), &mut variables);
    let mutations = list(&spec["mutations"]);
    if mutations.is_empty() {
        let detail = "mutations must contain at least one item";
        errors.push(FieldError::required(&path.child("mutations"), detail));
    }
    for (index, mutation) in mutations.iter().enumerate() {
        check_mutation(errors, &path.child("mutations").index(index), mutation, &variables);
    }
    one_of(errors, &path.child("reinvocationPolicy"), &spec["reinvocationPolicy"], &["IfNeeded", "Never"]);
}

/// The rules of MutatingAdmissionPolicyBindings.
pub(super) fn check_binding(errors: &mut Errors, binding: &Value) {
    check_bound(errors, binding);
    let matching = FieldPath::of("spec").child("matchResources");
    check_operations(errors, &matching, &binding["spec"]["matchResources"]);
}

fn check_operations(errors: &mut Errors, path: &FieldPath, matching: &Value) {
    // Kubernetes does not say which rule it is.
    let at = path.child("resourceRules").child("operations");
    for operation in list(&matching["resourceRules"]).iter().flat_map(|rule| list(&rule["operations"])) {
        if !OPERATIONS.contains(&text(operation)) {
            errors.push(FieldError::not_supported(&at, operation.clone(), &OPERATIONS));
        }
    }
}

fn check_mutation(errors: &mut Errors, path: &FieldPath, mutation: &Value, variables: &Variables) {
    let patch_type = text(&mutation["patchType"]);
    let (wanted, other, purpose) = match patch_type {
        "" => return errors.push(FieldError::required(&path.child("patchType"), "")),
        "ApplyConfiguration" => ("applyConfiguration", "jsonPatch", Purpose::ApplyConfiguration),
        "JSONPatch" => ("jsonPatch", "applyConfiguration", Purpose::JsonPatch),
        _ => {
            let known = ["ApplyConfiguration", "JSONPatch"];
            let given = mutation["patchType"].clone();
            return errors.push(FieldError::not_supported(&path.child("patchType"), given, &known));
        }
    };
    let at = path.child(wanted);
    if mutation[wanted].is_object() {
        match text(&mutation[wanted]["expression"]).trim() {
            "" => errors.push(FieldError::required(&at.child("expression"), "")),
            source => check_expression(errors, &at.child("expression"), source, purpose, variables),
        }
    } else {
        let detail = format!("must be specified when patchType is {patch_type}");
        errors.push(FieldError::required(&at, detail));
    }
    if mutation[other].is_object() {
        let detail = format!("must not be specified when patchType is {patch_type}");
        errors.push(FieldError::invalid(&path.child(other), format!("{{{other}}}"), detail));
    }
}
