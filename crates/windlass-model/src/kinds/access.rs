//! Roles and role bindings.

use serde_json::Value;

use super::selectors::check_selector;
use super::values::{Errors, invalid_all, list, required, text};
use crate::field::{FieldError, FieldPath};
use windlass_cel::formats::names;

const GROUP: &str = "rbac.authorization.k8s.io";

/// The rules of Roles and ClusterRoles.
pub(super) fn check_role(errors: &mut Errors, role: &Value, namespaced: bool) {
    for (index, rule) in list(&role["rules"]).iter().enumerate() {
        check_rule(errors, &FieldPath::of("rules").index(index), rule, namespaced);
    }
    if !role["aggregationRule"].is_object() {
        return;
    }
    let path = FieldPath::of("aggregationRule.clusterRoleSelectors");
    let selectors = list(&role["aggregationRule"]["clusterRoleSelectors"]);
    if selectors.is_empty() {
        let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        errors.push(FieldError::required(&path, detail));
    }
    for (index, selector) in selectors.iter().enumerate() {
        check_selector(errors, &path.index(index), selector);
    }
}

fn check_rule(errors: &mut Errors, path: &FieldPath, rule: &Value, namespaced: bool) {
    let has = |field: &str| !list(&rule[field]).is_empty();
    if !has("verbs") {
        errors.push(FieldError::required(&path.child("verbs"), "verbs must contain at least one value"));
    }
    if has("nonResourceURLs") {
        let mut refuse = |detail: &str| {
            errors.push(FieldError::invalid(
                &path.child("nonResourceURLs"),
                rule["nonResourceURLs"].clone(),
                detail,
            ));
        };
        if namespaced {
            refuse("namespaced rules cannot apply to non-resource URLs");
        }
        if has("apiGroups") || has("resources") || has("resourceNames") {
            refuse("rules cannot apply to both regular resources and non-resource URLs");
        }
        return;
    }
    for (field, detail) in [
        ("apiGroups", "resource rules must supply at least one api group"),
        ("resources", "resource rules must supply at least one resource"),
    ] {
        if !has(field) {
            errors.push(FieldError::required(&path.child(field), detail));
        }
    }
}

/// The rules of RoleBindings and ClusterRoleBindings.
pub(super) fn check_binding(errors: &mut Errors, new: &Value, old: Option<&Value>, namespaced: bool) {
    let role = &new["roleRef"];
    let path = FieldPath::of("roleRef");
    if text(&role["apiGroup"]) != GROUP {
        errors.push(FieldError::not_supported(&path.child("apiGroup"), text(&role["apiGroup"]), &[GROUP]));
    }
    let kinds: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    if !kinds.contains(&text(&role["kind"])) {
        errors.push(FieldError::not_supported(&path.child("kind"), text(&role["kind"]), kinds));
    }
    required(errors, &path.child("name"), &role["name"]);
    invalid_all(errors, &path.child("name"), &role["name"], names::is_path_segment(text(&role["name"])));
    for (index, subject) in list(&new["subjects"]).iter().enumerate() {
        check_subject(errors, &FieldPath::of("subjects").index(index), subject, namespaced);
    }
    if old.is_some_and(|old| old["roleRef"] != *role) {
        errors.push(FieldError::invalid(&path, role.clone(), "cannot change roleRef"));
    }
}

fn check_subject(errors: &mut Errors, path: &FieldPath, subject: &Value, namespaced: bool) {
    let group = text(&subject["apiGroup"]);
    let name = &subject["name"];
    required(errors, &path.child("name"), name);
    match text(&subject["kind"]) {
        "ServiceAccount" => {
            if !text(name).is_empty() {
                invalid_all(errors, &path.child("name"), name, names::is_dns1123_subdomain(text(name)));
            }
            if !group.is_empty() {
                errors.push(FieldError::not_supported(&path.child("apiGroup"), group, &[""]));
            }
            if !namespaced {
                required(errors, &path.child("namespace"), &subject["namespace"]);
            }
        }
        "User" | "Group" if group != GROUP => {
            errors.push(FieldError::not_supported(&path.child("apiGroup"), group, &[GROUP]));
        }
        "User" | "Group" => {}
        kind => errors.push(FieldError::not_supported(
            &path.child("kind"),
            kind,
            &["ServiceAccount", "User", "Group"],
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use serde_json::json;

    #[test]
    fn rules_must_say_what_they_allow() {
        check(
            "Role",
            None,
            json!({ "rules": [{ "verbs": ["get"], "apiGroups": [""], "resources": ["pods"] }] }),
            &[],
        );
        check(
            "Role",
            None,
            json!({ "rules": [{}] }),
            &[
                "rules[0].verbs: Required value: verbs must contain at least one value",
                "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
                "rules[0].resources: Required value: resource rules must supply at least one resource",
            ],
        );
        let urls = json!({ "rules": [{ "verbs": ["get"], "nonResourceURLs": ["/"] }] });
        check("ClusterRole", None, urls.clone(), &[]);
        check(
            "Role",
            None,
            urls,
            &[
                "rules[0].nonResourceURLs: Invalid value: [\"/\"]: namespaced rules cannot apply to non-resource URLs",
            ],
        );
    }

    #[test]
    fn bindings_keep_their_role() {
        let binding = |name: &str| json!({ "roleRef": { "kind": "Role", "name": name }, "subjects": [{ "kind": "ServiceAccount", "name": "s" }] });
        check("RoleBinding", Some(binding("a")), binding("a"), &[]);
        check(
            "RoleBinding",
            Some(binding("a")),
            binding("b"),
            &[
                "roleRef: Invalid value: {\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"Role\",\"name\":\"b\"}: cannot change roleRef",
            ],
        );
        check(
            "ClusterRoleBinding",
            None,
            binding(""),
            &[
                "roleRef.kind: Unsupported value: \"Role\": supported values: \"ClusterRole\"",
                "roleRef.name: Required value",
                "subjects[0].namespace: Required value",
            ],
        );
    }
}
