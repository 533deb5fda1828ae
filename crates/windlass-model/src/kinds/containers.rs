//! The containers of a pod.

use std::collections::BTreeSet;

use serde_json::Value;

use super::formats::{check_dns_label, port_number_or_name};
use super::resources::check_requirements;
use super::values::{
    Errors, all_nonnegative, invalid_all, list, number, one_of, port_number, required, text,
};
use crate::field::{FieldError, FieldErrorKind, FieldPath};
use windlass_cel::formats::names;

const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];

/// Checks `containers` of a pod spec, given the names of its volumes.
pub(super) fn check_containers(
    errors: &mut Errors,
    path: &FieldPath,
    spec: &Value,
    volumes: &BTreeSet<&str>,
) {
    let path = path.child("containers");
    let containers = list(&spec["containers"]);
    if containers.is_empty() {
        errors.push(FieldError::required(&path, ""));
    }
    let mut names = BTreeSet::new();
    for (index, container) in containers.iter().enumerate() {
        let path = path.index(index);
        check_container(errors, &path, container, volumes);
        if !names.insert(text(&container["name"])) {
            errors.push(FieldError::duplicate(&path.child("name"), container["name"].clone()));
        }
        check_probes(errors, &path, container);
    }
    check_host_ports(errors, &path, containers);
}

/// Checks `initContainers`: their names must also differ from those of the containers.
pub(super) fn check_init_containers(
    errors: &mut Errors,
    path: &FieldPath,
    spec: &Value,
    volumes: &BTreeSet<&str>,
) {
    let path = path.child("initContainers");
    let mut names: BTreeSet<&str> = list(&spec["containers"]).iter().map(|it| text(&it["name"])).collect();
    for (index, container) in list(&spec["initContainers"]).iter().enumerate() {
        let path = path.index(index);
        check_container(errors, &path, container, volumes);
        if !names.insert(text(&container["name"])) {
            errors.push(FieldError::duplicate(&path.child("name"), container["name"].clone()));
        }
        if container["restartPolicy"] == "Always" {
            check_probes(errors, &path, container);
            continue;
        }
        for field in ["lifecycle"].into_iter().chain(PROBES) {
            if container[field].is_object() {
                let detail = "may not be set for init containers without restartPolicy=Always";
                errors.push(FieldError::forbidden(&path.child(field), detail));
            }
        }
    }
}

/// What holds for every container.
fn check_container(errors: &mut Errors, path: &FieldPath, container: &Value, volumes: &BTreeSet<&str>) {
    let name = &container["name"];
    if text(name).is_empty() {
        errors.push(FieldError::required(&path.child("name"), ""));
    } else {
        check_dns_label(errors, &path.child("name"), name);
    }
    required(errors, &path.child("image"), &container["image"]);
    let (policy, policies) = ("terminationMessagePolicy", ["File", "FallbackToLogsOnError"]);
    one_of(errors, &path.child(policy), &container[policy], &policies);
    check_ports(errors, &path.child("ports"), list(&container["ports"]));
    check_env(errors, &path.child("env"), list(&container["env"]));
    check_env_from(errors, &path.child("envFrom"), list(&container["envFrom"]));
    check_mounts(errors, &path.child("volumeMounts"), list(&container["volumeMounts"]), volumes);
    let pull = &container["imagePullPolicy"];
    one_of(errors, &path.child("imagePullPolicy"), pull, &["Always", "IfNotPresent", "Never"]);
    check_requirements(errors, &path.child("resources"), &container["resources"]);
}

fn check_ports(errors: &mut Errors, path: &FieldPath, ports: &[Value]) {
    let mut names = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let path = path.index(index);
        let name = text(&port["name"]);
        if !name.is_empty() {
            let messages = names::is_valid_port_name(name);
            if messages.is_empty() && !names.insert(name) {
                errors.push(FieldError::duplicate(&path.child("name"), name));
            }
            invalid_all(errors, &path.child("name"), &port["name"], messages);
        }
        if number(&port["containerPort"]) == 0 {
            errors.push(FieldError::required(&path.child("containerPort"), ""));
        } else {
            port_number(errors, &path.child("containerPort"), &port["containerPort"]);
        }
        if number(&port["hostPort"]) != 0 {
            port_number(errors, &path.child("hostPort"), &port["hostPort"]);
        }
        one_of(errors, &path.child("protocol"), &port["protocol"], &["SCTP", "TCP", "UDP"]);
    }
}

/// No two containers may listen on one port of the host.
fn check_host_ports(errors: &mut Errors, path: &FieldPath, containers: &[Value]) {
    let mut taken = BTreeSet::new();
    for (index, container) in containers.iter().enumerate() {
        for (port_index, port) in list(&container["ports"]).iter().enumerate() {
            let number = number(&port["hostPort"]);
            let shown = format!("{}/{}/{number}", text(&port["protocol"]), text(&port["hostIP"]));
            if number != 0 && !taken.insert(shown.clone()) {
                let path = path.index(index).child("ports").index(port_index).child("hostPort");
                errors.push(FieldError::duplicate(&path, shown));
            }
        }
    }
}

fn check_env(errors: &mut Errors, path: &FieldPath, variables: &[Value]) {
    for (index, variable) in variables.iter().enumerate() {
        let path = path.index(index);
        let name = &variable["name"];
        match text(name) {
            "" => required(errors, &path.child("name"), name),
            given => invalid_all(errors, &path.child("name"), name, names::is_env_var_name(given)),
        }
        if variable["valueFrom"].is_object() {
            check_value_from(errors, &path.child("valueFrom"), variable);
        }
    }
}

fn check_value_from(errors: &mut Errors, path: &FieldPath, variable: &Value) {
    let from = &variable["valueFrom"];
    for source in ["configMapKeyRef", "secretKeyRef"].into_iter().filter(|source| from[*source].is_object()) {
        let (path, source) = (path.child(source), &from[source]);
        let name = text(&source["name"]);
        invalid_all(errors, &path.child("name"), &name.into(), names::is_dns1123_subdomain(name));
        let key = &source["key"];
        if text(key).is_empty() {
            errors.push(FieldError::required(&path.child("key"), ""));
        } else {
            invalid_all(errors, &path.child("key"), key, names::is_config_map_key(text(key)));
        }
    }
    if from["fieldRef"].is_object() {
        required(errors, &path.child("fieldRef").child("fieldPath"), &from["fieldRef"]["fieldPath"]);
    }
    let sources = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];
    let detail = match sources.iter().filter(|source| from[**source].is_object()).count() {
        0 => {
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        }
        _ if !text(&variable["value"]).is_empty() => "may not be specified when `value` is not empty",
        1 => return,
        _ => "may not have more than one field specified at a time",
    };
    errors.push(FieldError::invalid(path, "", detail));
}

fn check_env_from(errors: &mut Errors, path: &FieldPath, sources: &[Value]) {
    for (index, source) in sources.iter().enumerate() {
        let set: Vec<&str> =
            ["configMapRef", "secretRef"].into_iter().filter(|it| source[*it].is_object()).collect();
        for reference in &set {
            required(errors, &path.index(index).child(reference).child("name"), &source[*reference]["name"]);
        }
        let detail = match set.len() {
            0 => "must specify one of: `configMapRef` or `secretRef`",
            1 => continue,
            _ => "may not have more than one field specified at a time",
        };
        errors.push(FieldError::invalid(path, "", detail));
    }
}

fn check_mounts(errors: &mut Errors, path: &FieldPath, mounts: &[Value], volumes: &BTreeSet<&str>) {
    let mut paths = BTreeSet::new();
    for (index, mount) in mounts.iter().enumerate() {
        let path = path.index(index);
        let (name, mount_path) = (&mount["name"], &mount["mountPath"]);
        required(errors, &path.child("name"), name);
        if !volumes.contains(text(name)) {
            let (kind, value) = (FieldErrorKind::NotFound, Some(text(name).into()));
            errors.push(FieldError::new(kind, &path.child("name"), value, ""));
        }
        required(errors, &path.child("mountPath"), mount_path);
        if !paths.insert(text(mount_path)) {
            errors.push(FieldError::invalid(&path.child("mountPath"), mount_path.clone(), "must be unique"));
        }
    }
}

fn check_probes(errors: &mut Errors, path: &FieldPath, container: &Value) {
    for name in PROBES {
        let (path, probe) = (path.child(name), &container[name]);
        if !probe.is_object() {
            continue;
        }
        check_handler(errors, &path, probe);
        let counts = [
            "initialDelaySeconds",
            "timeoutSeconds",
            "periodSeconds",
            "successThreshold",
            "failureThreshold",
        ];
        all_nonnegative(errors, &path, probe, &counts);
        if probe["terminationGracePeriodSeconds"].as_i64().is_some_and(|seconds| seconds <= 0) {
            let (path, value) =
                (path.child("terminationGracePeriodSeconds"), &probe["terminationGracePeriodSeconds"]);
            errors.push(FieldError::invalid(&path, value.clone(), "must be greater than 0"));
        }
        if name != "readinessProbe" && number(&probe["successThreshold"]) != 1 {
            let value = number(&probe["successThreshold"]);
            errors.push(FieldError::invalid(&path.child("successThreshold"), value, "must be 1"));
        }
    }
}

/// A probe asks in exactly one way.
fn check_handler(errors: &mut Errors, path: &FieldPath, probe: &Value) {
    let mut handlers =
        ["exec", "httpGet", "tcpSocket", "grpc"].into_iter().filter(|kind| probe[*kind].is_object());
    let Some(kind) = handlers.next() else {
        errors.push(FieldError::required(path, "must specify a handler type"));
        return;
    };
    let (handler, handler_path) = (&probe[kind], path.child(kind));
    match kind {
        "exec" if list(&handler["command"]).is_empty() => {
            errors.push(FieldError::required(&handler_path.child("command"), ""));
        }
        "httpGet" => {
            port_number_or_name(errors, &handler_path.child("port"), &handler["port"]);
            if !matches!(text(&handler["scheme"]), "HTTP" | "HTTPS") {
                errors.push(FieldError::not_supported(
                    &handler_path.child("scheme"),
                    handler["scheme"].clone(),
                    &["HTTP", "HTTPS"],
                ));
            }
        }
        "tcpSocket" => port_number_or_name(errors, &handler_path.child("port"), &handler["port"]),
        "grpc" => port_number(errors, &handler_path.child("port"), &handler["port"]),
        _ => {}
    }
    for kind in handlers {
        errors.push(FieldError::forbidden(&path.child(kind), "may not specify more than 1 handler type"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use serde_json::{Value, json};

    fn pod(container: Value) -> Value {
        let mut full = json!({ "name": "c", "image": "i" });
        full.as_object_mut().unwrap().extend(container.as_object().unwrap().clone());
        json!({ "spec": { "containers": [full], "volumes": [{ "name": "v" }] } })
    }

    #[test]
    fn containers_need_names_and_images() {
        check("Pod", None, json!({ "spec": {} }), &["spec.containers: Required value"]);
        check(
            "Pod",
            None,
            json!({ "spec": { "containers": [{}] } }),
            &["spec.containers[0].name: Required value", "spec.containers[0].image: Required value"],
        );
        let twice = json!({ "spec": { "containers": [{ "name": "c", "image": "i" }, { "name": "c", "image": "i" }] } });
        check("Pod", None, twice, &["spec.containers[1].name: Duplicate value: \"c\""]);
        check(
            "Pod",
            None,
            pod(json!({ "name": "A.b" })),
            &[
                "spec.containers[0].name: Invalid value: \"A.b\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
            ],
        );
        check(
            "Pod",
            None,
            pod(json!({ "imagePullPolicy": "Sometimes" })),
            &[
                "spec.containers[0].imagePullPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", \"IfNotPresent\", \"Never\"",
            ],
        );
    }

    #[test]
    fn ports() {
        let ports = json!([{ "containerPort": 70000 }, { "name": "80", "containerPort": 80 }, { "protocol": "tcp", "containerPort": 1 }, {}]);
        check(
            "Pod",
            None,
            pod(json!({ "ports": ports })),
            &[
                "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
                "spec.containers[0].ports[1].name: Invalid value: \"80\": must contain at least one letter (a-z)",
                "spec.containers[0].ports[2].protocol: Unsupported value: \"tcp\": supported values: \"SCTP\", \"TCP\", \"UDP\"",
                "spec.containers[0].ports[3].containerPort: Required value",
            ],
        );
        let taken = json!([{ "containerPort": 1, "hostPort": 5 }, { "containerPort": 2, "hostPort": 5 }]);
        check(
            "Pod",
            None,
            pod(json!({ "ports": taken })),
            &["spec.containers[0].ports[1].hostPort: Duplicate value: \"TCP//5\""],
        );
    }

    #[test]
    fn environment_and_mounts() {
        let env = json!([{ "value": "x" }, { "name": "A", "value": "x", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } }, { "name": "B", "valueFrom": {} }]);
        check(
            "Pod",
            None,
            pod(json!({ "env": env })),
            &[
                "spec.containers[0].env[0].name: Required value",
                "spec.containers[0].env[1].valueFrom: Invalid value: \"\": may not be specified when `value` is not empty",
                "spec.containers[0].env[2].valueFrom: Invalid value: \"\": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
            ],
        );
        let mounts = json!([{ "name": "v", "mountPath": "/a" }, { "name": "w", "mountPath": "/a" }]);
        check(
            "Pod",
            None,
            pod(json!({ "volumeMounts": mounts })),
            &[
                "spec.containers[0].volumeMounts[1].name: Not found: \"w\"",
                "spec.containers[0].volumeMounts[1].mountPath: Invalid value: \"/a\": must be unique",
            ],
        );
    }

    #[test]
    fn probes() {
        check(
            "Pod",
            None,
            pod(json!({ "livenessProbe": {} })),
            &["spec.containers[0].livenessProbe: Required value: must specify a handler type"],
        );
        check(
            "Pod",
            None,
            pod(json!({ "livenessProbe": { "successThreshold": 2, "httpGet": { "port": 0 } } })),
            &[
                "spec.containers[0].livenessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive",
                "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1",
            ],
        );
    }
}
