//! Defaults of pods and pod templates that depend on other fields.

use serde_json::{Map, Value, json};

use super::kinds::fill;
use super::{child, items, set_missing};

type Fields = Map<String, Value>;

/// Sets the defaults of a pod.
pub(super) fn set_pod(pod: &mut Fields) {
    let Some(spec) = child(pod, "spec") else { return };
    set_spec(spec);
    for list in ["containers", "initContainers"] {
        for container in items(spec, list) {
            requests_from_limits(container);
        }
    }
    if let Some(resources) = spec.get_mut("resources").and_then(Value::as_object_mut) {
        requests_of_pod(resources);
    }
    set_missing(spec, "enableServiceLinks", true);
    if spec.get("hostNetwork") == Some(&Value::Bool(true)) {
        for list in ["containers", "initContainers"] {
            items(spec, list).for_each(host_ports);
        }
    }
}

/// Sets the defaults of the pod template in a field of a spec.
pub(super) fn set_template(spec: &mut Fields, field: &str) {
    let template = spec.get_mut(field).and_then(Value::as_object_mut);
    if let Some(spec) = template.and_then(|template| child(template, "spec")) {
        set_spec(spec);
    }
}

fn set_spec(spec: &mut Fields) {
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for container in items(spec, list) {
            let policy = pull_policy(container.get("image"));
            set_missing(container, "imagePullPolicy", policy);
        }
    }
    for volume in items(spec, "volumes") {
        if volume.keys().all(|field| field == "name") {
            volume.insert("emptyDir".into(), json!({}));
        }
        if let Some(image) = volume.get_mut("image").and_then(Value::as_object_mut) {
            let policy = pull_policy(image.get("reference"));
            set_missing(image, "pullPolicy", policy);
        }
    }
    if let Some(account) = spec.get("serviceAccountName").filter(|name| name.is_string()).cloned() {
        // The two names of one field are kept in step.
        spec.insert("serviceAccount".into(), account);
    } else if let Some(account) = spec.get("serviceAccount").filter(|name| name.is_string()).cloned() {
        spec.insert("serviceAccountName".into(), account);
    }
}

/// Containers on the host's network listen on the host's ports.
fn host_ports(container: &mut Fields) {
    for port in items(container, "ports") {
        if let Some(number) = port.get("containerPort").cloned() {
            set_missing(port, "hostPort", number);
        }
    }
}

/// Images that may change under their name are always pulled.
fn pull_policy(image: Option<&Value>) -> &'static str {
    if is_latest(image.and_then(Value::as_str).unwrap_or("")) { "Always" } else { "IfNotPresent" }
}

/// Whether an image is named by the tag `latest`, or by no tag and no digest.
fn is_latest(image: &str) -> bool {
    let (name, digest) = image.split_once('@').map_or((image, None), |(name, digest)| (name, Some(digest)));
    let last = name.rsplit('/').next().unwrap_or("");
    match last.split_once(':') {
        Some((_, tag)) => tag == "latest",
        // What is no image name has no tag either.
        None => digest.is_none() && !image.is_empty() && !image.bytes().any(|byte| byte.is_ascii_uppercase()),
    }
}

fn requests_from_limits(container: &mut Fields) {
    let Some(resources) = container.get_mut("resources").and_then(Value::as_object_mut) else { return };
    if let Some(limits) = resources.get("limits").and_then(Value::as_object).cloned() {
        fill(resources, "requests", limits);
    }
}

/// Requests of the pod as a whole come from its own limits, for the resources that it can limit.
fn requests_of_pod(resources: &mut Fields) {
    let Some(limits) = resources.get("limits").and_then(Value::as_object) else { return };
    let supported = |name: &str| matches!(name, "cpu" | "memory") || name.starts_with("hugepages-");
    let limits: Fields = limits
        .iter()
        .filter(|(name, _)| supported(name))
        .map(|(name, it)| (name.clone(), it.clone()))
        .collect();
    if !limits.is_empty() {
        fill(resources, "requests", limits);
    }
}

#[cfg(test)]
mod tests {
    use super::super::set_defaults;
    use super::is_latest;
    use crate::types::Types;
    use serde_json::{Value, json};

    fn pod(spec: Value) -> Value {
        let mut pod = json!({ "spec": spec });
        set_defaults(Types::built_in().by_kind("", "v1", "Pod").unwrap(), &mut pod);
        pod["spec"].take()
    }

    #[test]
    fn images_without_a_fixed_tag_are_always_pulled() {
        for (image, latest) in [
            ("nginx", true),
            ("nginx:latest", true),
            ("nginx:1.2", false),
            ("host:5000/nginx", true),
            ("host:5000/nginx:1", false),
            ("nginx@sha256:abc", false),
            ("", false),
        ] {
            assert_eq!(is_latest(image), latest, "{image}");
        }
    }

    #[test]
    fn a_bare_pod_gets_its_defaults() {
        assert_eq!(
            pod(json!({ "containers": [{ "name": "c", "image": "nginx:1" }] })),
            json!({
                "containers": [{
                    "name": "c", "image": "nginx:1", "imagePullPolicy": "IfNotPresent", "resources": {},
                    "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
                }],
                "dnsPolicy": "ClusterFirst", "enableServiceLinks": true, "restartPolicy": "Always",
                "schedulerName": "default-scheduler", "securityContext": {}, "terminationGracePeriodSeconds": 30,
            })
        );
    }

    #[test]
    fn volumes_get_a_source_and_modes() {
        let volumes = json!([
            { "name": "a" },
            { "name": "b", "secret": { "secretName": "s" } },
            { "name": "c", "hostPath": { "path": "/x" } },
            { "name": "d", "projected": { "sources": [{ "serviceAccountToken": { "path": "t" } }] } },
        ]);
        assert_eq!(
            pod(json!({ "volumes": volumes }))["volumes"],
            json!([
                { "name": "a", "emptyDir": {} },
                { "name": "b", "secret": { "secretName": "s", "defaultMode": 420 } },
                { "name": "c", "hostPath": { "path": "/x", "type": "" } },
                { "name": "d", "projected": { "defaultMode": 420, "sources": [{ "serviceAccountToken": { "path": "t", "expirationSeconds": 3600 } }] } },
            ])
        );
    }

    #[test]
    fn requests_follow_limits_in_pods_but_not_in_templates() {
        let containers = json!([{ "name": "c", "image": "i", "resources": { "limits": { "cpu": 1 } } }]);
        assert_eq!(
            pod(json!({ "containers": containers }))["containers"][0]["resources"],
            json!({ "limits": { "cpu": "1" }, "requests": { "cpu": "1" } })
        );
        let mut deployment = json!({ "spec": { "template": { "spec": { "containers": containers } } } });
        set_defaults(Types::built_in().by_kind("apps", "v1", "Deployment").unwrap(), &mut deployment);
        let spec = &deployment["spec"]["template"]["spec"];
        assert_eq!(spec["containers"][0]["resources"], json!({ "limits": { "cpu": "1" } }));
        assert_eq!(spec.get("enableServiceLinks"), None);
    }

    #[test]
    fn host_networking_takes_host_ports_and_accounts_stay_in_step() {
        let spec = pod(json!({
            "hostNetwork": true, "serviceAccountName": "s",
            "containers": [{ "name": "c", "ports": [{ "containerPort": 80 }] }],
        }));
        assert_eq!(
            spec["containers"][0]["ports"][0],
            json!({ "containerPort": 80, "hostPort": 80, "protocol": "TCP" })
        );
        assert_eq!(spec["serviceAccount"], "s");
    }
}
