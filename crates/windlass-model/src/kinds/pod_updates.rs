//! What may change in a pod.

use std::collections::BTreeSet;

use serde_json::Value;

use super::pods::{check_range, check_spec, check_tolerations};
use super::values::{Errors, immutable, invalid_all, list, named, number, put, text};
use crate::field::{FieldError, FieldPath, quoted};
use windlass_cel::formats::names;

const UPDATABLE: &str = "pod updates may not change fields other than `spec.containers[*].image`,\
    `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
    `spec.tolerations` (only additions to existing tolerations),\
    `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// The rules of an update of the pod itself.
pub(super) fn check_update(errors: &mut Errors, new: &Value, old: &Value) {
    let path = FieldPath::of("spec");
    let (spec, old) = (&new["spec"], &old["spec"]);
    check_spec(errors, &path, spec, true);
    for field in ["containers", "initContainers"] {
        let path = path.child(field);
        if list(&spec[field]).len() != list(&old[field]).len() {
            errors.push(FieldError::forbidden(&path, "pod updates may not add or remove containers"));
            return;
        }
        check_images(errors, &path, list(&spec[field]));
    }
    if !check_deadline(errors, &path.child("activeDeadlineSeconds"), spec, old) {
        return;
    }
    check_only_added(
        errors,
        &path.child("tolerations"),
        list(&spec["tolerations"]),
        list(&old["tolerations"]),
    );
    check_only_removed(errors, &path.child("schedulingGates"), spec, old);
    if *spec != *old && without_updatable(spec, old) != *old {
        errors.push(FieldError::forbidden(&path, UPDATABLE));
    }
}

fn check_images(errors: &mut Errors, path: &FieldPath, containers: &[Value]) {
    for (index, container) in containers.iter().enumerate() {
        let (path, image) = (path.index(index).child("image"), text(&container["image"]));
        if image.is_empty() {
            errors.push(FieldError::required(&path, ""));
        }
        if image.trim() != image {
            errors.push(FieldError::invalid(&path, image, "must not have leading or trailing whitespace"));
        }
    }
}

/// A deadline may be set and shortened. Returns whether it makes sense to look further.
fn check_deadline(errors: &mut Errors, path: &FieldPath, spec: &Value, old: &Value) -> bool {
    let before = errors.len();
    match (spec["activeDeadlineSeconds"].as_i64(), old["activeDeadlineSeconds"].as_i64()) {
        (Some(new), old) => {
            check_range(errors, path, new, 0);
            if errors.len() == before && old.is_some_and(|old| old < new) {
                errors.push(FieldError::invalid(path, new, "must be less than or equal to previous value"));
            }
            errors.len() == before
        }
        (None, Some(_)) => {
            errors.push(FieldError::invalid(
                path,
                Value::Null,
                "must not update from a positive integer to nil value",
            ));
            true
        }
        (None, None) => true,
    }
}

/// Tolerations may be added, and of those that were there only the seconds may change.
fn check_only_added(errors: &mut Errors, path: &FieldPath, new: &[Value], old: &[Value]) {
    let without_seconds = |toleration: &Value| {
        let mut toleration = toleration.clone();
        toleration.as_object_mut().map(|it| it.remove("tolerationSeconds"));
        toleration.to_string()
    };
    let kept: BTreeSet<String> = new.iter().map(without_seconds).collect();
    if !old.iter().all(|toleration| kept.contains(&without_seconds(toleration))) {
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        errors.push(FieldError::forbidden(path, detail));
        return;
    }
    check_tolerations(errors, path, new);
}

fn check_only_removed(errors: &mut Errors, path: &FieldPath, spec: &Value, old: &Value) {
    let names = named(list(&old["schedulingGates"]));
    let had = |gate: &Value| names.contains_key(text(&gate["name"]));
    for (index, gate) in list(&spec["schedulingGates"]).iter().enumerate().filter(|(_, gate)| !had(gate)) {
        let detail =
            format!("only deletion is allowed, but found new scheduling gate '{}'", text(&gate["name"]));
        errors.push(FieldError::forbidden(&path.index(index).child("name"), detail));
    }
}

/// The new spec with everything that may change set back to what it was.
fn without_updatable(spec: &Value, old: &Value) -> Value {
    let mut spec = spec.clone();
    let Some(fields) = spec.as_object_mut() else { return spec };
    for list_field in ["containers", "initContainers"] {
        let containers = fields.get_mut(list_field).and_then(Value::as_array_mut).into_iter().flatten();
        for (container, old) in containers.zip(list(&old[list_field])) {
            if let Some(container) = container.as_object_mut() {
                put(container, "image", old["image"].clone())
            }
        }
    }
    for field in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        put(fields, field, old[field].clone());
    }
    let grace = "terminationGracePeriodSeconds";
    if number(&old[grace]) < 0 && fields.get(grace).is_some_and(|seconds| *seconds == 1) {
        put(fields, grace, old[grace].clone());
    }
    if !list(&old["schedulingGates"]).is_empty() {
        // While nothing is scheduled yet, it may be narrowed down where.
        for field in ["nodeSelector", "affinity"] {
            put(fields, field, old[field].clone());
        }
    }
    spec
}

/// The rules of an update of the status.
pub(super) fn check_status(errors: &mut Errors, new: &Value, old: &Value) {
    let path = FieldPath::of("status");
    let (status, before) = (&new["status"], &old["status"]);
    for (index, condition) in list(&status["conditions"]).iter().enumerate() {
        let kind = text(&condition["type"]);
        if !matches!(kind, "PodScheduled" | "Ready" | "Initialized") {
            invalid_all(
                errors,
                &path.child("conditions").index(index).child("Type"),
                &kind.into(),
                names::is_qualified_name(kind),
            );
        }
    }
    if number(&status["observedGeneration"]) < 0 {
        let (path, value) = (path.child("observedGeneration"), status["observedGeneration"].clone());
        errors.push(FieldError::invalid(&path, value, "must be a non-negative integer"));
    }
    immutable(errors, &path.child("qosClass"), &status["qosClass"], &before["qosClass"]);
    check_restarts(errors, &path.child("containerStatuses"), new, old);
}

/// A container that has ended for good does not come back.
fn check_restarts(errors: &mut Errors, path: &FieldPath, new: &Value, old: &Value) {
    let policy = text(&old["spec"]["restartPolicy"]);
    let now = named(list(&new["status"]["containerStatuses"]));
    for (index, before) in list(&old["status"]["containerStatuses"]).iter().enumerate() {
        let ended = &before["state"]["terminated"];
        let may_restart = policy == "Always" || policy == "OnFailure" && number(&ended["exitCode"]) != 0;
        let runs_again =
            now.get(text(&before["name"])).is_some_and(|now| !now["state"]["terminated"].is_object());
        if ended.is_object() && !may_restart && runs_again {
            let detail = "may not be transitioned to non-terminated state";
            errors.push(FieldError::forbidden(&path.index(index).child("state"), detail));
        }
    }
}

/// Ephemeral containers may be added; those that are there stay as they are.
pub(super) fn check_ephemeral(errors: &mut Errors, new: &Value, old: &Value) {
    check_spec(errors, &FieldPath::of("spec"), &new["spec"], true);
    let path = FieldPath::of("spec.ephemeralContainers");
    let containers = named(list(&new["spec"]["ephemeralContainers"]));
    for before in list(&old["spec"]["ephemeralContainers"]) {
        let name = text(&before["name"]);
        let what = match containers.get(name) {
            None => "removed",
            Some(now) if *now != before => "changed",
            Some(_) => continue,
        };
        errors.push(FieldError::forbidden(
            &path,
            format!("existing ephemeral containers {} may not be {what}\n", quoted(name)),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, check_on};
    use super::UPDATABLE;
    use serde_json::{Value, json};

    fn pod(more: Value) -> Value {
        let mut spec = json!({ "containers": [{ "name": "c", "image": "i" }] });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "spec": spec })
    }

    #[test]
    fn little_may_change() {
        let old = pod(
            json!({ "tolerations": [{ "key": "a", "operator": "Exists" }], "schedulingGates": [{ "name": "g" }] }),
        );
        let change = |more: Value| {
            let mut new = old.clone();
            new["spec"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            (old.clone(), new)
        };
        let forbidden = format!("spec: Forbidden: {UPDATABLE}");
        for (more, expected) in [
            (json!({ "containers": [{ "name": "c", "image": "j" }] }), vec![]),
            (json!({ "activeDeadlineSeconds": 5 }), vec![]),
            (
                json!({ "tolerations": [{ "key": "a", "operator": "Exists" }, { "key": "b", "operator": "Exists" }] }),
                vec![],
            ),
            (json!({ "schedulingGates": [] }), vec![]),
            (json!({ "restartPolicy": "Never" }), vec![forbidden.as_str()]),
            (json!({ "containers": [{ "name": "d", "image": "i" }] }), vec![forbidden.as_str()]),
            (
                json!({ "containers": [] }),
                vec![
                    "spec.containers: Required value",
                    "spec.containers: Forbidden: pod updates may not add or remove containers",
                ],
            ),
            (
                json!({ "tolerations": [] }),
                vec![
                    "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds",
                ],
            ),
            (
                json!({ "schedulingGates": [{ "name": "h" }] }),
                vec![
                    "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'h'",
                ],
            ),
        ] {
            let (old, new) = change(more);
            check("Pod", Some(old), new, &expected);
        }
    }

    #[test]
    fn deadlines_only_shrink() {
        let with = |seconds: i64| pod(json!({ "activeDeadlineSeconds": seconds }));
        check("Pod", Some(with(5)), with(4), &[]);
        check(
            "Pod",
            Some(with(5)),
            with(6),
            &["spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value"],
        );
        check(
            "Pod",
            Some(with(5)),
            pod(json!({})),
            &[
                "spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value",
            ],
        );
    }

    #[test]
    fn ended_containers_stay_ended() {
        let status = |state: Value| {
            let mut pod = pod(json!({ "restartPolicy": "Never" }));
            pod["status"] =
                json!({ "qosClass": "BestEffort", "containerStatuses": [{ "name": "c", "state": state }] });
            pod
        };
        check_on(
            "Pod",
            Some("status"),
            Some(status(json!({ "terminated": { "exitCode": 1 } }))),
            status(json!({ "running": {} })),
            &[
                "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state",
            ],
        );
    }
}
