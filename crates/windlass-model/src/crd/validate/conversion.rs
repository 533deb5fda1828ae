//! The rules for the conversion between versions.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::{list, text};
use super::check_choice;
use crate::field::{FieldError, FieldPath};
use windlass_cel::formats::names;

/// Checks `spec.conversion`; `spec` is the spec around it.
pub(super) fn check(spec: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let conversion = &spec["conversion"];
    if !conversion.is_object() {
        return;
    }
    let strategy = text(conversion, "strategy");
    if strategy != "None" && spec["preserveUnknownFields"] == true {
        let detail = "must be None if spec.preserveUnknownFields is true";
        errors.push(FieldError::invalid(&path.child("strategy"), strategy, detail));
    }
    check_choice(strategy, &["None", "Webhook"], &path.child("strategy"), errors);
    let webhook = &conversion["webhook"];
    let client = webhook.get("clientConfig").filter(|client| client.is_object());
    let (client_path, versions_path) =
        (path.child("webhookClientConfig"), path.child("conversionReviewVersions"));
    if strategy == "Webhook" {
        match client {
            None => {
                errors.push(FieldError::required(&client_path, "required when strategy is set to Webhook"))
            }
            Some(client) => check_client(client, &client_path, errors),
        }
        return check_review_versions(list(webhook, "conversionReviewVersions"), &versions_path, errors);
    }
    const STRAY: &str = "should not be set when strategy is not set to Webhook";
    if client.is_some() {
        errors.push(FieldError::forbidden(&client_path, STRAY));
    }
    if !list(webhook, "conversionReviewVersions").is_empty() {
        errors.push(FieldError::forbidden(&versions_path, STRAY));
    }
}

fn check_client(client: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    match (client["url"].as_str(), client["service"].is_object()) {
        (Some(_), true) | (None, false) => {
            errors.push(FieldError::required(path, "exactly one of url or service is required"));
        }
        (Some(url), false) => check_url(url, &path.child("url"), errors),
        (None, true) => {
            for field in
                ["name", "namespace"].into_iter().filter(|field| text(&client["service"], field).is_empty())
            {
                errors.push(FieldError::required(&path.child("service").child(field), ""));
            }
        }
    }
}

fn check_url(url: &str, path: &FieldPath, errors: &mut Vec<FieldError>) {
    const FORM: &str = "; desired format: https://host[/path]";
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    if scheme != "https" {
        let detail = format!("'https' is the only allowed URL scheme{FORM}");
        errors.push(FieldError::invalid(path, scheme, detail));
    }
    if scheme.is_empty() || rest.is_empty() || rest.starts_with('/') {
        errors.push(FieldError::invalid(path, "", format!("host must be specified{FORM}")));
    }
}

fn check_review_versions(versions: &[Value], path: &FieldPath, errors: &mut Vec<FieldError>) {
    if versions.is_empty() {
        return errors.push(FieldError::required(path, ""));
    }
    let mut seen = BTreeSet::new();
    for (index, version) in versions.iter().enumerate() {
        let name = version.as_str().unwrap_or("");
        if !seen.insert(name) {
            errors.push(FieldError::invalid(&path.index(index), name, "duplicate version"));
            continue;
        }
        errors.extend(
            names::is_dns1035_label(name)
                .into_iter()
                .map(|why| FieldError::invalid(&path.index(index), name, why)),
        );
    }
    if !seen.contains("v1") && !seen.contains("v1beta1") {
        errors.push(FieldError::invalid(path, versions.to_vec(), "must include at least one of v1, v1beta1"));
    }
}
