//! May I, may they, and what may I do at all?

use serde_json::{Map, Value, json};

use super::Reviewer;
use crate::authentication::User;
use crate::authorization::{Attributes, ResourceAttributes, Rule};
use crate::field::{FieldError, FieldPath};
use crate::object::{self, texts};
use crate::request::Request;
use crate::selector::{FieldSelector, LabelSelector};
use crate::status::Status;

const GROUP: &str = "authorization.k8s.io";

/// `SelfSubjectAccessReview`: may who asks do this?
pub(super) fn own(reviewer: Reviewer<'_>, question: Value) -> Result<Value, Status> {
    let mut errors = spec_errors(&question["spec"]);
    errors.extend(metadata_error(&question, false));
    refuse(&errors)?;
    Ok(answered(reviewer, reviewer.user, question))
}

/// `SubjectAccessReview`: may somebody do this?
pub(super) fn of_subject(reviewer: Reviewer<'_>, question: Value) -> Result<Value, Status> {
    let mut errors = subject_errors(&question["spec"]);
    errors.extend(metadata_error(&question, false));
    refuse(&errors)?;
    let user = subject(&question["spec"]);
    Ok(answered(reviewer, &user, question))
}

/// `LocalSubjectAccessReview`: may somebody do this in one namespace?
pub(super) fn local(reviewer: Reviewer<'_>, question: Value, request: &Request) -> Result<Value, Status> {
    let spec = &question["spec"];
    let mut errors = subject_errors(spec);
    errors.extend(metadata_error(&question, true));
    let namespace = request.namespace.as_deref().unwrap_or_default();
    let resource = &spec["resourceAttributes"];
    let given = resource["namespace"].as_str().unwrap_or_default();
    if resource.is_object() && given != namespace {
        let path = FieldPath::of("spec.resourceAttributes.namespace");
        errors.push(FieldError::invalid(&path, given, "must match metadata.namespace"));
    }
    if spec["nonResourceAttributes"].is_object() {
        let path = FieldPath::of("spec.nonResourceAttributes");
        let value = shown_path(&spec["nonResourceAttributes"]);
        errors.push(FieldError::invalid(&path, value, "disallowed on this kind of request"));
    }
    refuse(&errors)?;
    let user = subject(&question["spec"]);
    Ok(answered(reviewer, &user, question))
}

/// `SelfSubjectRulesReview`: all that who asks may do in a namespace.
pub(super) fn rules(reviewer: Reviewer<'_>, question: &Value) -> Result<Value, Status> {
    let namespace = question["spec"]["namespace"].as_str().unwrap_or_default();
    if namespace.is_empty() {
        return Err(Status::bad_request("no namespace on request"));
    }
    let grants = reviewer.authorizer.grants(reviewer.user, namespace);
    let with = |has: fn(&Rule) -> bool, fields: &[&str]| -> Vec<Value> {
        let rules = grants.rules.iter().filter(|rule| has(rule)).map(Rule::to_value);
        rules.map(|rule| only(rule, fields)).collect()
    };
    let resources =
        with(|rule| !rule.resources.is_empty(), &["verbs", "apiGroups", "resources", "resourceNames"]);
    let paths = with(|rule| !rule.non_resource_urls.is_empty(), &["verbs", "nonResourceURLs"]);
    let mut status = json!({ "resourceRules": resources, "nonResourceRules": paths, "incomplete": false });
    if !grants.error.is_empty() {
        status["evaluationError"] = grants.error.into();
    }
    Ok(json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "SelfSubjectRulesReview",
        "metadata": {}, "spec": {}, "status": status,
    }))
}

fn only(rule: Value, fields: &[&str]) -> Value {
    let Value::Object(all) = rule else { return rule };
    all.into_iter().filter(|(name, _)| fields.contains(&name.as_str())).collect::<Map<_, _>>().into()
}

fn answered(reviewer: Reviewer<'_>, user: &User, mut question: Value) -> Value {
    let attributes = attributes_of(&question["spec"]);
    let decision = reviewer.authorizer.authorize(user, &attributes);
    let mut status = json!({ "allowed": decision.allowed });
    if !decision.reason.is_empty() {
        status["reason"] = decision.reason.into();
    }
    let ignored = ignored_selectors(&question["spec"]["resourceAttributes"]);
    if !ignored.is_empty() {
        status["evaluationError"] = ignored.join("; ").into();
    }
    question["status"] = status;
    question
}

/// Messages about selectors that cannot be parsed. Roles do not use selectors, so they are ignored.
fn ignored_selectors(resource: &Value) -> Vec<String> {
    let raw = |field: &str| resource[field]["rawSelector"].as_str().unwrap_or_default();
    let field = FieldSelector::parse(raw("fieldSelector")).err().map(|_| "fieldSelector");
    let label = LabelSelector::parse(raw("labelSelector")).err().map(|_| "labelSelector");
    let unreadable = field.into_iter().chain(label);
    unreadable.map(|name| format!("spec.resourceAttributes.{name} ignored due to parse error")).collect()
}

fn subject(spec: &Value) -> User {
    let text = |field: &str| spec[field].as_str().unwrap_or_default().to_owned();
    let extra = spec["extra"].as_object().into_iter().flatten();
    User {
        name: text("user"),
        uid: text("uid"),
        groups: texts(&spec["groups"]),
        extra: extra.map(|(key, values)| (key.clone(), texts(values))).collect(),
    }
}

fn attributes_of(spec: &Value) -> Attributes {
    let resource = &spec["resourceAttributes"];
    if resource.is_object() {
        let text = |field: &str| resource[field].as_str().unwrap_or_default().to_owned();
        return Attributes::Resource(ResourceAttributes {
            verb: text("verb"),
            group: text("group"),
            version: text("version"),
            resource: text("resource"),
            subresource: text("subresource"),
            namespace: text("namespace"),
            name: text("name"),
        });
    }
    let text = |field: &str| spec["nonResourceAttributes"][field].as_str().unwrap_or_default().to_owned();
    Attributes::NonResource { verb: text("verb"), path: text("path") }
}

fn refuse(errors: &[FieldError]) -> Result<(), Status> {
    // Kubernetes has forgotten the kind when it comes to say so.
    if errors.is_empty() { Ok(()) } else { Err(Status::invalid(GROUP, "", "", errors)) }
}

fn subject_errors(spec: &Value) -> Vec<FieldError> {
    let mut errors = attributes_errors(spec);
    let unnamed = spec["user"].as_str().unwrap_or_default().is_empty() && texts(&spec["groups"]).is_empty();
    if unnamed {
        let detail = "at least one of user or group must be specified";
        errors.push(FieldError::invalid(&FieldPath::of("spec.user"), "", detail));
    }
    errors.extend(selector_errors(&spec["resourceAttributes"]));
    errors
}

fn spec_errors(spec: &Value) -> Vec<FieldError> {
    let mut errors = attributes_errors(spec);
    errors.extend(selector_errors(&spec["resourceAttributes"]));
    errors
}

fn attributes_errors(spec: &Value) -> Vec<FieldError> {
    let path = FieldPath::of("spec");
    match (spec["resourceAttributes"].is_object(), spec["nonResourceAttributes"].is_object()) {
        (true, true) => {
            let value = shown_path(&spec["nonResourceAttributes"]);
            let detail = "cannot be specified in combination with resourceAttributes";
            vec![FieldError::invalid(&path.child("nonResourceAttributes"), value, detail)]
        }
        (false, false) => {
            let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            vec![FieldError::invalid(&path.child("resourceAttributes"), Value::Null, detail)]
        }
        _ => Vec::new(),
    }
}

/// As errors show it: with the names that the fields have inside the API server.
fn shown_path(attributes: &Value) -> Value {
    let text = |field: &str| attributes[field].as_str().unwrap_or_default();
    json!({ "Path": text("path"), "Verb": text("verb") })
}

fn selector_errors(resource: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for field in ["fieldSelector", "labelSelector"] {
        let selector = &resource[field];
        if !selector.is_object() {
            continue;
        }
        let path = FieldPath::of("spec.resourceAttributes").child(field);
        let raw = selector["rawSelector"].as_str().unwrap_or_default();
        let has_requirements = selector["requirements"].as_array().is_some_and(|list| !list.is_empty());
        match (raw.is_empty(), has_requirements) {
            (false, true) => {
                let detail = "may not specified at the same time as requirements";
                errors.push(FieldError::invalid(&path.child("rawSelector"), raw, detail));
            }
            (true, false) => {
                let detail = format!("when {path} is specified, requirements or rawSelector is required");
                errors.push(FieldError::required(&path.child("requirements"), detail));
            }
            _ => {}
        }
    }
    errors
}

/// A review has no name; a local one has a namespace.
fn metadata_error(question: &Value, is_local: bool) -> Option<FieldError> {
    let mut rest = question.clone();
    object::remove_meta(&mut rest, "managedFields");
    let detail = if is_local {
        object::remove_meta(&mut rest, "namespace");
        "must be empty except for namespace"
    } else {
        "must be empty"
    };
    let empty = rest["metadata"].as_object().is_none_or(Map::is_empty);
    (!empty).then(|| FieldError::invalid(&FieldPath::of("metadata"), question["metadata"].clone(), detail))
}
