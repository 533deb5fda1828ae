//! The rules for custom resource definitions.

mod conversion;
mod version;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{condition, list, text};
use crate::field::{FieldError, FieldPath};
use crate::object;
use version::Placement;
use windlass_cel::formats::names;

/// Validates a CRD that is created, or updated from an old one.
///
/// Expects defaults to be filled in and status to be set. What all versions have in common is reported
/// at the level of spec (`spec.validation.openAPIV3Schema`), where Kubernetes keeps it.
pub(crate) fn validate(crd: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if old.is_none() {
        check_name(crd, &mut errors);
    }
    check_spec(crd, old, &mut errors);
    if let Some(old) = old {
        check_immutable(crd, old, &mut errors);
    }
    let status = FieldPath::of("status");
    check_names(&crd["status"]["acceptedNames"], &status.child("acceptedNames"), &mut errors);
    check_stored_versions(crd, &status.child("storedVersions"), &mut errors);
    check_approval(crd, old, &mut errors);
    let preserves = |crd: &Value| crd["spec"]["preserveUnknownFields"] == true;
    if preserves(crd) && !old.is_some_and(preserves) {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        errors.push(FieldError::invalid(&FieldPath::of("spec.preserveUnknownFields"), true, detail));
    }
    errors
}

fn check_name(crd: &Value, errors: &mut Vec<FieldError>) {
    let path = FieldPath::of("metadata.name");
    let name = object::name(crd);
    if name.is_empty() {
        return errors.push(FieldError::required(&path, "name or generateName is required"));
    }
    errors.extend(
        names::is_dns1123_subdomain(name).into_iter().map(|why| FieldError::invalid(&path, name, why)),
    );
    let spec = &crd["spec"];
    if name != format!("{}.{}", text(&spec["names"], "plural"), text(spec, "group")) {
        errors.push(FieldError::invalid(&path, name, "must be spec.names.plural+\".\"+spec.group"));
    }
}

fn check_spec(crd: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    let spec = &crd["spec"];
    let path = FieldPath::of("spec");
    check_group(text(spec, "group"), &path.child("group"), errors);
    check_choice(text(spec, "scope"), &["Cluster", "Namespaced"], &path.child("scope"), errors);
    let versions = list(spec, "versions");
    for (index, version) in versions.iter().enumerate() {
        if !version["schema"]["openAPIV3Schema"].is_object() {
            let path = path.child("versions").index(index).child("schema").child("openAPIV3Schema");
            errors.push(FieldError::required(&path, ""));
        }
    }
    let placement = Placement::of(versions);
    for (index, version) in versions.iter().enumerate() {
        version::check(version, &placement, old, &path.child("versions").index(index), errors);
    }
    check_versions(versions, &path.child("versions"), errors);
    // The first version is also known as the version.
    let first = versions.first().map_or("", |version| text(version, "name"));
    let broken = names::is_dns1035_label(first);
    if !first.is_empty() && !broken.is_empty() {
        errors.push(FieldError::invalid(&path.child("version"), first, broken.join(",")));
    }
    for name in ["plural", "singular", "kind", "listKind"] {
        if text(&spec["names"], name).is_empty() {
            errors.push(FieldError::required(&path.child("names").child(name), ""));
        }
    }
    check_names(&spec["names"], &path.child("names"), errors);
    version::check_shared(versions, &placement, old, &path, errors);
    conversion::check(spec, &path.child("conversion"), errors);
}

fn check_group(group: &str, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let broken = names::is_dns1123_subdomain(group);
    if group.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else if !broken.is_empty() {
        errors.push(FieldError::invalid(path, group, broken.join(",")));
    } else if !group.contains('.') {
        errors.push(FieldError::invalid(path, group, "should be a domain with at least one dot"));
    }
}

fn check_choice(value: &str, allowed: &[&str], path: &FieldPath, errors: &mut Vec<FieldError>) {
    if value.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else if !allowed.contains(&value) {
        errors.push(FieldError::not_supported(path, value, allowed));
    }
}

fn check_versions(versions: &[Value], path: &FieldPath, errors: &mut Vec<FieldError>) {
    let names: BTreeSet<&str> = versions.iter().map(|version| text(version, "name")).collect();
    let mut fail = |detail: &str| {
        let shown = if versions.is_empty() { Value::Null } else { versions.to_vec().into() };
        errors.push(FieldError::invalid(path, shown, detail));
    };
    if names.len() < versions.len() {
        fail("must contain unique version names");
    }
    if versions.iter().filter(|version| version["storage"] == true).count() != 1 {
        fail("must have exactly one version marked as storage version");
    }
}

/// The rules for names, both wanted and accepted; empty ones are not checked here.
fn check_names(names: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    for (field, mixed_case) in [("plural", false), ("singular", false), ("kind", true), ("listKind", true)] {
        let name = text(names, field);
        let broken = names::is_dns1035_label(&if mixed_case { name.to_lowercase() } else { name.to_owned() });
        if !name.is_empty() && !broken.is_empty() {
            let prefix = if mixed_case { "may have mixed case, but should otherwise match: " } else { "" };
            let detail = format!("{prefix}{}", broken.join(","));
            errors.push(FieldError::invalid(&path.child(field), name, detail));
        }
    }
    check_labels(names, "shortNames", path, errors);
    let kind = text(names, "kind");
    if !kind.is_empty() && kind == text(names, "listKind") {
        let detail = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(&path.child("listKind"), kind, detail));
    }
    check_labels(names, "categories", path, errors);
}

fn check_labels(names: &Value, field: &str, path: &FieldPath, errors: &mut Vec<FieldError>) {
    for (index, name) in list(names, field).iter().enumerate() {
        let broken = names::is_dns1035_label(name.as_str().unwrap_or(""));
        if !broken.is_empty() {
            let path = path.child(field).index(index);
            errors.push(FieldError::invalid(&path, name.clone(), broken.join(",")));
        }
    }
}

/// What names the storage cannot change; what names the type cannot either, once it is served.
fn check_immutable(crd: &Value, old: &Value, errors: &mut Vec<FieldError>) {
    let served =
        ["/spec/scope", "/spec/names/kind"].into_iter().filter(|_| condition(old, "Established") == "True");
    for pointer in served.chain(["/spec/group", "/spec/names/plural"]) {
        let value = crd.pointer(pointer).cloned().unwrap_or_default();
        if old.pointer(pointer) != Some(&value) {
            let path = FieldPath::of(&pointer.trim_start_matches('/').replace('/', "."));
            errors.push(FieldError::invalid(&path, value, "field is immutable"));
        }
    }
}

fn check_stored_versions(crd: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let stored = list(&crd["status"], "storedVersions");
    let shown = || if stored.is_empty() { Value::Null } else { json!(stored) };
    if stored.is_empty() {
        return errors.push(FieldError::invalid(path, shown(), "must have at least one stored version"));
    }
    let versions = list(&crd["spec"], "versions");
    for version in versions.iter().filter(|version| version["storage"] == true) {
        let name = text(version, "name");
        if !stored.iter().any(|stored| stored == name) {
            errors.push(FieldError::invalid(path, shown(), format!("must have the storage version {name}")));
        }
    }
    let names: BTreeSet<&str> = versions.iter().map(|version| text(version, "name")).collect();
    for (index, stored) in stored.iter().enumerate() {
        let name = stored.as_str().unwrap_or("");
        if !names.contains(name) {
            let detail = format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
            );
            errors.push(FieldError::invalid(&path.index(index), name, detail));
        }
    }
}

const APPROVAL_ANNOTATION: &str = "api-approved.kubernetes.io";

/// What a CRD in a group of the Kubernetes project says about its approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Approval {
    Invalid,
    Missing,
    Approved,
    Bypassed,
}

/// The approval of a CRD with its explanation; `None` in groups that need none.
pub(super) fn approval(crd: &Value) -> Option<(Approval, String)> {
    let group = text(&crd["spec"], "group");
    let of =
        |domain: &str| group.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    if !of("k8s.io") && !of("kubernetes.io") {
        return None;
    }
    let annotation = object::annotation(crd, APPROVAL_ANNOTATION).unwrap_or("");
    let is_url = annotation
        .split_once("://")
        .is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty() && !rest.starts_with('/'));
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    let must = format!("protected groups must have approval annotation \"{APPROVAL_ANNOTATION}\"");
    Some(if annotation.is_empty() {
        (Approval::Missing, format!("{must}, {see}"))
    } else if annotation.starts_with("unapproved") {
        (Approval::Bypassed, format!("not approved: {}", crate::field::quoted(annotation)))
    } else if is_url {
        (Approval::Approved, format!("approved in {annotation}"))
    } else {
        (
            Approval::Invalid,
            format!("{must} with either a URL or a reason starting with \"unapproved\", {see}"),
        )
    })
}

/// Checks an approval, unless it has not changed.
fn check_approval(crd: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    let Some((state, why)) = approval(crd) else { return };
    if old.and_then(approval).is_some_and(|(before, _)| before == state) {
        return;
    }
    let path = FieldPath::of("metadata.annotations").key(APPROVAL_ANNOTATION);
    match state {
        Approval::Missing => errors.push(FieldError::required(&path, why)),
        Approval::Invalid => {
            let value = object::annotation(crd, APPROVAL_ANNOTATION).unwrap_or("");
            errors.push(FieldError::invalid(&path, value, why));
        }
        Approval::Approved | Approval::Bypassed => {}
    }
}

#[cfg(test)]
mod tests;
