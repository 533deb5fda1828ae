//! What a pod's labels, ports and status say to the controller.

use k8s_openapi::api::core::v1::{Container, Pod};
use windlass::ObjectRef;

use super::name::network_name;
use super::resource::Contact;

/// The label of a pod that names its network.
pub const NETWORK_LABEL: &str = "klight.networkId";
/// The annotation that gives the port of a pod's lightpeer.
pub const PORT_ANNOTATION: &str = "klightPort";
/// The names of the port. Kubernetes no longer takes the first, because of its upper case.
const PORT_NAMES: [&str; 2] = ["klightPort", "klight-port"];
/// The name of the container.
const CONTAINER_NAME: &str = "lightpeer";
/// The default port of lightpeers.
pub const DEFAULT_PORT: u16 = 9081;

/// What a pod with the label is to its network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reachability {
    /// It can be called. What its peer calls itself is not known yet.
    Reachable(Contact),
    /// It will be, by itself.
    Starting(String),
    /// It can only be called when somebody changes it.
    Unusable(String),
    /// It has ended, or is about to.
    Ending,
}

/// The id of the network that a pod names.
pub(super) fn network_id_of(pod: &Pod) -> Option<&str> {
    let id = pod.metadata.labels.as_ref()?.get(NETWORK_LABEL)?;
    // A label may be empty; a name may not.
    Some(id.as_str()).filter(|id| !id.is_empty())
}

/// The network that a pod is to be a member of.
pub(super) fn network_of(pod: &Pod) -> Option<ObjectRef> {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    network_id_of(pod).map(|id| ObjectRef::new(namespace, &network_name(id)))
}

/// What a pod is to its network.
pub(super) fn reachability(pod: &Pod) -> Reachability {
    let status = pod.status.clone().unwrap_or_default();
    let phase = status.phase.as_deref().unwrap_or("Pending");
    if pod.metadata.deletion_timestamp.is_some() || ["Succeeded", "Failed"].contains(&phase) {
        return Reachability::Ending;
    }
    let port = match port(pod) {
        Ok(port) => port,
        Err(problem) => return Reachability::Unusable(problem),
    };
    if phase != "Running" {
        return Reachability::Starting(format!("it is not running yet, but {phase}"));
    }
    match status.pod_ip.as_deref() {
        None | Some("") => Reachability::Starting("it has no IP address yet".to_owned()),
        Some(host) => Reachability::Reachable(Contact {
            pod: pod.metadata.name.clone().unwrap_or_default(),
            uid: pod.metadata.uid.clone().unwrap_or_default(),
            address: address(host, port),
            peer: None,
        }),
    }
}

/// The port of the lightpeer: by annotation, by name, or the usual one of the container.
fn port(pod: &Pod) -> Result<u16, String> {
    if let Some(given) = pod.metadata.annotations.as_ref().and_then(|given| given.get(PORT_ANNOTATION)) {
        let port = given.parse().ok().filter(|port| *port != 0);
        return port.ok_or_else(|| {
            format!("its annotation {PORT_ANNOTATION} is {given:?}, which is no port from 1 to 65535")
        });
    }
    let mut ports = containers(pod).flat_map(|container| container.ports.iter().flatten());
    let named = ports.find(|port| port.name.as_deref().is_some_and(|name| PORT_NAMES.contains(&name)));
    match named {
        Some(named) => u16::try_from(named.container_port)
            .map_err(|_| format!("its port {:?} is {}", PORT_NAMES[1], named.container_port)),
        None if containers(pod).any(|container| container.name == CONTAINER_NAME) => Ok(DEFAULT_PORT),
        None => Err(format!(
            "it has no container {CONTAINER_NAME:?}, no port named {:?} and no annotation {PORT_ANNOTATION:?}",
            PORT_NAMES[1]
        )),
    }
}

/// The containers, and those that are started before them, among which are sidecars.
fn containers(pod: &Pod) -> impl Iterator<Item = &Container> {
    let spec = pod.spec.as_ref();
    let initial = spec.and_then(|spec| spec.init_containers.as_ref()).into_iter().flatten();
    spec.map(|spec| &spec.containers).into_iter().flatten().chain(initial)
}

fn address(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(containers: Value, annotations: Value, status: Value) -> Pod {
        let metadata = json!({ "name": "a", "uid": "u", "annotations": annotations });
        let pod = json!({ "metadata": metadata, "spec": { "containers": containers }, "status": status });
        serde_json::from_value(pod).expect("a pod")
    }

    fn running(containers: Value, annotations: Value) -> Reachability {
        reachability(&pod(containers, annotations, json!({ "phase": "Running", "podIP": "10.0.0.1" })))
    }

    #[track_caller]
    fn check_address(containers: Value, annotations: Value, expected: &str) {
        match running(containers, annotations) {
            Reachability::Reachable(contact) => assert_eq!(contact.address, expected),
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn check_unusable(containers: Value, annotations: Value, expected: &str) {
        match running(containers, annotations) {
            Reachability::Unusable(why) => assert!(why.contains(expected), "{why}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_port_is_annotated_named_or_the_usual_one() {
        let lightpeer = json!([{ "name": "lightpeer" }]);
        let named = |name: &str| json!([{ "name": "own", "ports": [{ "name": name, "containerPort": 7 }] }]);
        check_address(lightpeer.clone(), json!({}), "10.0.0.1:9081");
        check_address(named("klightPort"), json!({}), "10.0.0.1:7");
        check_address(named("klight-port"), json!({}), "10.0.0.1:7");
        check_address(named("klight-port"), json!({ "klightPort": "8" }), "10.0.0.1:8");
        check_address(json!([{ "name": "other" }]), json!({ "klightPort": "8" }), "10.0.0.1:8");
        check_unusable(named("http"), json!({}), "no container \"lightpeer\"");
        for invalid in ["", "0", "65536", "http", "-1"] {
            check_unusable(lightpeer.clone(), json!({ "klightPort": invalid }), "no port from 1 to 65535");
        }
    }

    #[test]
    fn a_sidecar_among_the_initial_containers_is_found() {
        let pod = json!({
            "metadata": { "name": "a" },
            "spec": { "containers": [{ "name": "app" }], "initContainers": [{ "name": "lightpeer" }] },
            "status": { "phase": "Running", "podIP": "fd00::1" },
        });
        let found = reachability(&serde_json::from_value(pod).expect("a pod"));
        assert!(
            matches!(&found, Reachability::Reachable(found) if found.address == "[fd00::1]:9081"),
            "{found:?}"
        );
    }

    #[test]
    fn only_pods_that_run_and_stay_are_reachable() {
        let reachability = |status| reachability(&pod(json!([{ "name": "lightpeer" }]), json!({}), status));
        assert!(matches!(reachability(json!({})), Reachability::Starting(_)));
        assert!(matches!(
            reachability(json!({ "phase": "Pending", "podIP": "10.0.0.1" })),
            Reachability::Starting(_)
        ));
        assert!(matches!(reachability(json!({ "phase": "Running" })), Reachability::Starting(_)));
        for phase in ["Succeeded", "Failed"] {
            assert_eq!(reachability(json!({ "phase": phase, "podIP": "10.0.0.1" })), Reachability::Ending);
        }
        let mut ending = pod(json!([{ "name": "lightpeer" }]), json!({}), json!({ "phase": "Running" }));
        ending.metadata.deletion_timestamp = serde_json::from_str("\"2026-01-01T00:00:00Z\"").ok();
        assert_eq!(super::reachability(&ending), Reachability::Ending);
    }

    #[test]
    fn an_empty_label_names_no_network() {
        let labelled = |id: &str| {
            let labels = json!({ NETWORK_LABEL: id });
            let pod = json!({ "metadata": { "name": "a", "namespace": "n", "labels": labels } });
            network_of(&serde_json::from_value(pod).expect("a pod"))
        };
        assert_eq!(labelled("Blue"), Some(ObjectRef::new("n", "x--blue")));
        assert_eq!(labelled(""), None);
    }
}
