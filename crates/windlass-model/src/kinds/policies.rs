//! Validating admission policies and their bindings, and what mutating ones have in common with them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::selectors::check_selector;
use super::values::{Errors, invalid_all, list, one_of, text};
use crate::field::{FieldError, FieldPath};
use crate::object;
use crate::policies::{Purpose, Variables, compile};
use windlass_cel::formats::names;
use windlass_cel::is_reserved;

const MAX_CONDITIONS: usize = 64;
const MAX_ANNOTATIONS: usize = 20;
const MAX_ANNOTATION_BYTES: usize = 5 * 1024;
const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const SCOPES: [&str; 3] = ["*", "Cluster", "Namespaced"];
const REASONS: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
const ACTIONS: [&str; 3] = ["Audit", "Deny", "Warn"];
/// The rules of ValidatingAdmissionPolicies: above all, each expression must compile.
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
    } else {
        errors.push(FieldError::required(&constraints, ""));
    }
    let mut variables = Variables::new(has_params);
    check_conditions(errors, &path.child("matchConditions"), list(&spec["matchConditions"]), &variables);
    check_variables(errors, &path.child("variables"), list(&spec["variables"]), &mut variables);
    let (validations, annotations) = (list(&spec["validations"]), list(&spec["auditAnnotations"]));
    if validations.is_empty() && annotations.is_empty() {
        let detail = "validations or auditAnnotations must contain at least one item";
        errors.push(FieldError::required(&path.child("validations"), detail));
        errors.push(FieldError::required(&path.child("auditAnnotations"), detail));
        return;
    }
    for (index, validation) in validations.iter().enumerate() {
        check_validation(errors, &path.child("validations").index(index), validation, &variables);
    }
    check_annotations(errors, &path.child("auditAnnotations"), policy, annotations, &variables);
}

/// The rules of what a type checker writes to the status of a policy.
pub(super) fn check_status(errors: &mut Errors, policy: &Value) {
    let path = FieldPath::of("status.typeChecking.expressionWarnings");
    for (index, warning) in list(&policy["status"]["typeChecking"]["expressionWarnings"]).iter().enumerate() {
        for field in ["warning", "fieldRef"] {
            if text(&warning[field]).trim().is_empty() {
                errors.push(FieldError::required(&path.index(index).child(field), ""));
            }
        }
    }
}

/// The rules of ValidatingAdmissionPolicyBindings.
pub(super) fn check_binding(errors: &mut Errors, binding: &Value) {
    check_bound(errors, binding);
    let actions = FieldPath::of("spec").child("validationActions");
    check_actions(errors, &actions, &binding["spec"]["validationActions"]);
}

/// What bindings of either kind say: of which policy, with which parameters, for what.
pub(super) fn check_bound(errors: &mut Errors, binding: &Value) {
    let (spec, path) = (&binding["spec"], FieldPath::of("spec"));
    match text(&spec["policyName"]) {
        "" => errors.push(FieldError::required(&path.child("policyName"), "")),
        name => {
            let violations = names::subdomain_name(name, false);
            invalid_all(errors, &path.child("policyName"), &spec["policyName"], violations);
        }
    }
    if spec["paramRef"].is_object() {
        check_param_ref(errors, &path.child("paramRef"), &spec["paramRef"]);
    }
    if spec["matchResources"].is_object() {
        check_matching(errors, &path.child("matchResources"), &spec["matchResources"]);
    }
}

pub(super) fn check_param_kind(errors: &mut Errors, path: &FieldPath, kind: &Value) {
    let version_path = path.child("apiVersion");
    let given = text(&kind["apiVersion"]);
    let parts: Vec<&str> = given.split('/').collect();
    match parts.as_slice() {
        [""] => errors.push(FieldError::required(&version_path, "")),
        [version] | ["", version] => check_version(errors, &version_path, given, version),
        [group, version] => {
            joined(errors, &version_path, group, "", &names::is_dns1123_subdomain(group));
            check_version(errors, &version_path, given, version);
        }
        _ => {
            let detail = format!("unexpected GroupVersion string: {given}");
            errors.push(FieldError::invalid(&version_path, given, detail));
        }
    }
    match text(&kind["kind"]) {
        "" => errors.push(FieldError::required(&path.child("kind"), "")),
        name => {
            let violations = names::is_dns1035_label(&name.to_lowercase());
            let but = "may have mixed case, but should otherwise match: ";
            joined(errors, &path.child("kind"), name, but, &violations);
        }
    }
}

fn check_version(errors: &mut Errors, path: &FieldPath, given: &str, version: &str) {
    if version.is_empty() {
        errors.push(FieldError::invalid(path, given, "version must be specified"));
        return;
    }
    joined(errors, path, version, "", &names::is_dns1035_label(version));
}

/// Adds one error for all violations of a value.
fn joined(errors: &mut Errors, path: &FieldPath, value: &str, before: &str, violations: &[String]) {
    if !violations.is_empty() {
        errors.push(FieldError::invalid(path, value, format!("{before}{}", violations.join(","))));
    }
}

pub(super) fn check_param_ref(errors: &mut Errors, path: &FieldPath, reference: &Value) {
    let (name, selector) = (text(&reference["name"]), &reference["selector"]);
    let both = "name and selector are mutually exclusive";
    if !name.is_empty() {
        invalid_all(errors, &path.child("name"), &reference["name"], names::path_segment_name(name, false));
        if selector.is_object() {
            errors.push(FieldError::forbidden(&path.child("name"), both));
        }
    }
    if selector.is_object() {
        check_selector(errors, &path.child("selector"), selector);
        if !name.is_empty() {
            errors.push(FieldError::forbidden(&path.child("selector"), both));
        }
    } else if name.is_empty() {
        errors.push(FieldError::required(path, "one of name or selector must be specified"));
    }
    let action = &reference["parameterNotFoundAction"];
    one_of(errors, &path.child("parameterNotFoundAction"), action, &["Deny", "Allow"]);
}

fn check_actions(errors: &mut Errors, path: &FieldPath, actions: &Value) {
    let mut seen = BTreeSet::new();
    for (index, action) in list(actions).iter().enumerate() {
        if !ACTIONS.contains(&text(action)) {
            errors.push(FieldError::not_supported(&path.index(index), action.clone(), &ACTIONS));
        }
        if !seen.insert(text(action)) {
            errors.push(FieldError::duplicate(&path.index(index), action.clone()));
        }
    }
    if seen.contains("Deny") && seen.contains("Warn") {
        let detail = "must not contain both Deny and Warn (repeating the same validation failure information in \
                      the API response and headers serves no purpose)";
        errors.push(FieldError::invalid(path, actions.clone(), detail));
    }
    if seen.is_empty() {
        errors.push(FieldError::required(path, "at least one validation action is required"));
    }
}

/// `matchConstraints` and `matchResources`.
pub(super) fn check_matching(errors: &mut Errors, path: &FieldPath, matching: &Value) {
    one_of(errors, &path.child("matchPolicy"), &matching["matchPolicy"], &["Equivalent", "Exact"]);
    for field in ["namespaceSelector", "objectSelector"] {
        check_selector(errors, &path.child(field), &matching[field]);
    }
    for field in ["resourceRules", "excludeResourceRules"] {
        for (index, rule) in list(&matching[field]).iter().enumerate() {
            check_rule(errors, &path.child(field).index(index), rule);
        }
    }
}

fn check_rule(errors: &mut Errors, path: &FieldPath, rule: &Value) {
    let mut seen = BTreeSet::new();
    for (index, name) in list(&rule["resourceNames"]).iter().enumerate() {
        let at = path.child("resourceNames").index(index);
        invalid_all(errors, &at, name, names::path_segment_name(text(name), false));
        if !seen.insert(text(name)) {
            errors.push(FieldError::duplicate(&at, name.clone()));
        }
    }
    some_or_all(errors, path, rule, "operations", "operations");
    for (index, operation) in list(&rule["operations"]).iter().enumerate() {
        if !OPERATIONS.contains(&text(operation)) {
            let at = path.child("operations").index(index);
            errors.push(FieldError::not_supported(&at, operation.clone(), &OPERATIONS));
        }
    }
    some_or_all(errors, path, rule, "apiGroups", "API groups");
    some_or_all(errors, path, rule, "apiVersions", "API versions");
    for (index, version) in list(&rule["apiVersions"]).iter().enumerate() {
        if text(version).is_empty() {
            errors.push(FieldError::required(&path.child("apiVersions").index(index), ""));
        }
    }
    check_resources(errors, &path.child("resources"), &rule["resources"]);
    if rule["scope"].is_string() && !SCOPES.contains(&text(&rule["scope"])) {
        errors.push(FieldError::not_supported(&path.child("scope"), rule["scope"].clone(), &SCOPES));
    }
}

/// A list must name something, and `*` stands alone.
fn some_or_all(errors: &mut Errors, path: &FieldPath, rule: &Value, field: &str, what: &str) {
    let (values, path) = (list(&rule[field]), path.child(field));
    if values.is_empty() {
        errors.push(FieldError::required(&path, ""));
    }
    if values.len() > 1 && values.iter().any(|value| value == "*") {
        let detail = format!("if '*' is present, must not specify other {what}");
        errors.push(FieldError::invalid(&path, rule[field].clone(), detail));
    }
}

fn check_resources(errors: &mut Errors, path: &FieldPath, given: &Value) {
    let resources = list(given);
    if resources.is_empty() {
        errors.push(FieldError::required(path, ""));
    }
    let (mut all_below, mut everywhere) = (BTreeSet::new(), BTreeSet::new());
    let mut names_one = false;
    for (index, resource) in resources.iter().enumerate() {
        let (at, name) = (path.index(index), text(resource));
        if name.is_empty() {
            errors.push(FieldError::required(&at, ""));
            continue;
        }
        let Some((main, sub)) = name.split_once('/') else {
            names_one = name != "*";
            continue;
        };
        let redundant = |pattern: String| {
            FieldError::invalid(&at, name, format!("if '{pattern}' is present, must not specify {name}"))
        };
        errors.extend(all_below.contains(main).then(|| redundant(format!("{main}/*"))));
        errors.extend(everywhere.contains(sub).then(|| redundant(format!("*/{sub}"))));
        if sub == "*" {
            all_below.insert(main);
        }
        if main == "*" {
            everywhere.insert(sub);
        }
    }
    let has = |wanted: &str| resources.iter().any(|resource| resource == wanted);
    if resources.len() > 1 && has("*/*") {
        let detail = "if '*/*' is present, must not specify other resources";
        errors.push(FieldError::invalid(path, given.clone(), detail));
    }
    if has("*") && names_one {
        let detail = "if '*' is present, must not specify other resources without subresources";
        errors.push(FieldError::invalid(path, given.clone(), detail));
    }
}

/// Match conditions know none of the policy's variables.
pub(super) fn check_conditions(
    errors: &mut Errors,
    path: &FieldPath,
    conditions: &[Value],
    variables: &Variables,
) {
    if conditions.len() > MAX_CONDITIONS {
        errors.push(FieldError::too_many(path, conditions.len(), MAX_CONDITIONS));
    }
    let mut seen = BTreeSet::new();
    for (index, condition) in conditions.iter().enumerate() {
        let (path, name) = (path.index(index), text(&condition["name"]));
        let expression = path.child("expression");
        match text(&condition["expression"]).trim() {
            "" => errors.push(FieldError::required(&expression, "")),
            source => check_expression(errors, &expression, source, Purpose::MatchCondition, variables),
        }
        let at = path.child("name");
        if name.is_empty() {
            errors.push(FieldError::required(&at, ""));
            continue;
        }
        invalid_all(errors, &at, &condition["name"], names::is_qualified_name(name));
        if !seen.insert(name) {
            errors.push(FieldError::duplicate(&at, name));
        }
    }
}

/// Each variable may use those before it; one that does not compile may be anything.
pub(super) fn check_variables(
    errors: &mut Errors,
    path: &FieldPath,
    all: &[Value],
    variables: &mut Variables,
) {
    for (index, variable) in all.iter().enumerate() {
        let (path, name) = (path.index(index), text(&variable["name"]));
        if name.trim().is_empty() {
            errors.push(FieldError::required(&path.child("name"), "name is not specified"));
        } else if !is_identifier(name) {
            errors.push(FieldError::invalid(&path.child("name"), name, "must be a valid CEL identifier"));
        }
        let source = text(&variable["expression"]);
        if source.trim().is_empty() {
            errors.push(FieldError::required(&path.child("expression"), "expression is not specified"));
            continue;
        }
        let error = variables.declare(name, source).err();
        errors.extend(error.map(|detail| FieldError::invalid(&path.child("expression"), source, detail)));
    }
}

fn check_validation(errors: &mut Errors, path: &FieldPath, validation: &Value, variables: &Variables) {
    let expression = text(&validation["expression"]);
    if expression.trim().is_empty() {
        errors.push(FieldError::required(&path.child("expression"), "expression is not specified"));
    } else {
        check_expression(errors, &path.child("expression"), expression, Purpose::Validation, variables);
    }
    let (at, source) = (path.child("messageExpression"), text(&validation["messageExpression"]));
    if !source.trim().is_empty() {
        check_expression(errors, &at, source, Purpose::Message, variables);
    } else if !source.is_empty() {
        errors.push(FieldError::invalid(&at, source, "must be non-empty if specified"));
    }
    let (at, message) = (path.child("message"), text(&validation["message"]));
    if !message.is_empty() && message.trim().is_empty() {
        errors.push(FieldError::invalid(&at, message, "must be non-empty if specified"));
    } else if message.trim().contains(['\n', '\r']) {
        errors.push(FieldError::invalid(&at, message, "must not contain line breaks"));
    }
    let reason = &validation["reason"];
    if reason.is_string() && !REASONS.contains(&text(reason)) {
        errors.push(FieldError::not_supported(&path.child("reason"), reason.clone(), &REASONS));
    }
}

fn check_annotations(
    errors: &mut Errors,
    path: &FieldPath,
    policy: &Value,
    annotations: &[Value],
    variables: &Variables,
) {
    if annotations.len() > MAX_ANNOTATIONS {
        let detail = format!("must not have more than {MAX_ANNOTATIONS} auditAnnotations");
        errors.push(FieldError::invalid(path, annotations.to_vec(), detail));
    }
    let mut seen = BTreeSet::new();
    for (index, annotation) in annotations.iter().enumerate() {
        let (path, key) = (path.index(index), text(&annotation["key"]));
        let full = format!("{}/{key}", object::name(policy));
        invalid_all(errors, &path.child("key"), &full.as_str().into(), names::is_qualified_name(&full));
        let (at, source) = (path.child("valueExpression"), text(&annotation["valueExpression"]));
        match source.trim() {
            "" => errors.push(FieldError::required(&at, "valueExpression is not specified")),
            long if long.len() > MAX_ANNOTATION_BYTES => {
                let detail = format!("must not exceed {MAX_ANNOTATION_BYTES} bytes in length");
                errors.push(FieldError::required(&at, detail));
            }
            trimmed => {
                let error = compile(trimmed, Purpose::Annotation, variables).err();
                errors.extend(error.map(|detail| FieldError::invalid(&at, source, detail)));
            }
        }
        if !seen.insert(key) {
            errors.push(FieldError::duplicate(&path.child("key"), key));
        }
    }
}

pub(super) fn check_expression(
    errors: &mut Errors,
    path: &FieldPath,
    source: &str,
    purpose: Purpose,
    variables: &Variables,
) {
    let error = compile(source, purpose, variables).err();
    errors.extend(error.map(|detail| FieldError::invalid(path, source, detail)));
}

fn is_identifier(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(plain) && !is_reserved(name)
}
