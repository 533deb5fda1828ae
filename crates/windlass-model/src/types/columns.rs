//! What `kubectl get` shows of built-in types.

mod cells;

use serde_json::Value;

use super::{Column, TypeInfo};

/// Where the value of a cell comes from.
enum Cell {
    /// A JSON path.
    Path(&'static str),
    /// A JSON pointer to a number, which is 0 if absent.
    Number(&'static str),
    /// How many entries the list or map at a JSON pointer has.
    Count(&'static str),
    /// Something that is computed.
    With(fn(&Value) -> Value),
}

/// Heading, type, whether it is shown always or only with `-o wide`, and the value.
type Row = (&'static str, &'static str, Shown, Cell);

#[derive(Clone, Copy)]
enum Shown {
    Always,
    Wide,
}

use Cell::{Count, Number, Path, With};
use Shown::{Always, Wide};

const AGE: Row = ("Age", "date", Always, Path(".metadata.creationTimestamp"));
const CONTAINERS: Row = ("Containers", "string", Wide, With(cells::template_containers));
const IMAGES: Row = ("Images", "string", Wide, With(cells::template_images));
const SELECTOR: Row = ("Selector", "string", Wide, With(cells::selector));

/// The value of a cell that no JSON path can say; `None` for columns that have a path.
///
/// The name of the object is no column: it comes first, whatever the type.
pub fn computed_cell(info: &TypeInfo, column: &Column, object: &Value) -> Option<Value> {
    let (_, _, _, cell) =
        rows(&info.resource.group, &info.kind).iter().find(|(name, ..)| *name == column.name)?;
    let at = |pointer: &str| object.pointer(pointer);
    match cell {
        Path(_) => None,
        Number(pointer) => {
            Some(at(pointer).filter(|value| value.is_number()).cloned().unwrap_or_else(|| 0.into()))
        }
        Count(pointer) => Some(match at(pointer) {
            Some(Value::Array(items)) => items.len().into(),
            Some(Value::Object(fields)) => fields.len().into(),
            _ => 0.into(),
        }),
        With(compute) => Some(compute(object)),
    }
}

/// The columns of a kind, after its name.
pub(super) fn of(group: &str, kind: &str) -> Vec<Column> {
    rows(group, kind).iter().map(column).collect()
}

fn column((name, kind, shown, cell): &Row) -> Column {
    Column {
        name: (*name).to_owned(),
        kind: (*kind).to_owned(),
        format: String::new(),
        description: String::new(),
        priority: match shown {
            Always => 0,
            Wide => 1,
        },
        json_path: match cell {
            Path(path) => (*path).to_owned(),
            _ => String::new(),
        },
    }
}

fn rows(group: &str, kind: &str) -> &'static [Row] {
    match (group, kind) {
        ("", "Pod") => &[
            ("Ready", "string", Always, With(cells::pod_ready)),
            ("Status", "string", Always, With(cells::pod_status)),
            ("Restarts", "string", Always, With(cells::pod_restarts)),
            AGE,
            ("IP", "string", Wide, Path(".status.podIP")),
            ("Node", "string", Wide, Path(".spec.nodeName")),
            ("Nominated Node", "string", Wide, Path(".status.nominatedNodeName")),
        ],
        ("", "PodTemplate") => &[
            ("Containers", "string", Always, With(cells::bare_template_containers)),
            ("Images", "string", Always, With(cells::bare_template_images)),
        ],
        ("", "ReplicationController") | ("apps", "ReplicaSet") => &[
            ("Desired", "integer", Always, Number("/spec/replicas")),
            ("Current", "integer", Always, Number("/status/replicas")),
            ("Ready", "integer", Always, Number("/status/readyReplicas")),
            AGE,
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ],
        ("apps", "Deployment") => &[
            ("Ready", "string", Always, With(cells::replicas_ready)),
            ("Up-to-date", "string", Always, Number("/status/updatedReplicas")),
            ("Available", "string", Always, Number("/status/availableReplicas")),
            AGE,
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ],
        ("apps", "StatefulSet") => {
            &[("Ready", "string", Always, With(cells::replicas_ready)), AGE, CONTAINERS, IMAGES]
        }
        ("apps", "DaemonSet") => &[
            ("Desired", "integer", Always, Number("/status/desiredNumberScheduled")),
            ("Current", "integer", Always, Number("/status/currentNumberScheduled")),
            ("Ready", "integer", Always, Number("/status/numberReady")),
            ("Up-to-date", "integer", Always, Number("/status/updatedNumberScheduled")),
            ("Available", "integer", Always, Number("/status/numberAvailable")),
            ("Node Selector", "string", Always, With(cells::node_selector)),
            AGE,
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ],
        ("apps", "ControllerRevision") => &[
            ("Controller", "string", Always, With(cells::controller)),
            ("Revision", "string", Always, Number("/revision")),
            AGE,
        ],
        ("batch", "Job") => &[
            ("Status", "string", Always, With(cells::job_status)),
            ("Completions", "string", Always, With(cells::job_completions)),
            ("Duration", "string", Always, With(cells::job_duration)),
            AGE,
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ],
        ("batch", "CronJob") => &[
            ("Schedule", "string", Always, Path(".spec.schedule")),
            ("Timezone", "string", Always, Path(".spec.timeZone")),
            ("Suspend", "boolean", Always, Path(".spec.suspend")),
            ("Active", "integer", Always, Count("/status/active")),
            ("Last Schedule", "date", Always, Path(".status.lastScheduleTime")),
            AGE,
        ],
        _ => small_rows(group, kind),
    }
}

fn small_rows(group: &str, kind: &str) -> &'static [Row] {
    match (group, kind) {
        ("", "ConfigMap") => &[("Data", "string", Always, With(cells::config_map_data)), AGE],
        ("", "Secret") => {
            &[("Type", "string", Always, Path(".type")), ("Data", "string", Always, Count("/data")), AGE]
        }
        ("", "Namespace") => &[("Status", "string", Always, Path(".status.phase")), AGE],
        ("", "Endpoints") => &[("Endpoints", "string", Always, With(cells::endpoints)), AGE],
        ("", "Service") => &[
            ("Type", "string", Always, Path(".spec.type")),
            ("Cluster-IP", "string", Always, Path(".spec.clusterIP")),
            ("External-IP", "string", Always, With(cells::service_external_ip)),
            ("Port(s)", "string", Always, With(cells::service_ports)),
            AGE,
            ("Selector", "string", Wide, With(cells::selector)),
        ],
        ("", "Node") => &[
            ("Status", "string", Always, With(cells::node_status)),
            ("Roles", "string", Always, With(cells::node_roles)),
            AGE,
            ("Version", "string", Always, Path(".status.nodeInfo.kubeletVersion")),
            ("OS-Image", "string", Wide, Path(".status.nodeInfo.osImage")),
            ("Kernel-Version", "string", Wide, Path(".status.nodeInfo.kernelVersion")),
            ("Container-Runtime", "string", Wide, Path(".status.nodeInfo.containerRuntimeVersion")),
        ],
        ("", "Event") | ("events.k8s.io", "Event") => &[
            ("Last Seen", "date", Always, With(cells::event_last_seen)),
            ("Type", "string", Always, Path(".type")),
            ("Reason", "string", Always, Path(".reason")),
            ("Object", "string", Always, With(cells::event_object)),
            ("Message", "string", Always, With(cells::event_message)),
        ],
        ("", "PersistentVolume") => &[
            ("Capacity", "string", Always, Path(".spec.capacity.storage")),
            ("Access Modes", "string", Always, With(cells::spec_access_modes)),
            ("Reclaim Policy", "string", Always, Path(".spec.persistentVolumeReclaimPolicy")),
            ("Status", "string", Always, With(cells::phase_or_terminating)),
            ("Claim", "string", Always, With(cells::volume_claim)),
            ("StorageClass", "string", Always, Path(".spec.storageClassName")),
            ("VolumeAttributesClass", "string", Always, Path(".spec.volumeAttributesClassName")),
            ("Reason", "string", Always, Path(".status.reason")),
            AGE,
            ("VolumeMode", "string", Wide, Path(".spec.volumeMode")),
        ],
        ("", "PersistentVolumeClaim") => &[
            ("Status", "string", Always, With(cells::phase_or_terminating)),
            ("Volume", "string", Always, Path(".spec.volumeName")),
            ("Capacity", "string", Always, Path(".status.capacity.storage")),
            ("Access Modes", "string", Always, With(cells::status_access_modes)),
            ("StorageClass", "string", Always, Path(".spec.storageClassName")),
            ("VolumeAttributesClass", "string", Always, Path(".spec.volumeAttributesClassName")),
            AGE,
            ("VolumeMode", "string", Wide, Path(".spec.volumeMode")),
        ],
        ("", "ResourceQuota") => &[
            ("Request", "string", Always, With(cells::quota_requests)),
            ("Limit", "string", Always, With(cells::quota_limits)),
            AGE,
        ],
        _ => rows_of_other_groups(group, kind),
    }
}

fn rows_of_other_groups(group: &str, kind: &str) -> &'static [Row] {
    match (group, kind) {
        ("autoscaling", "HorizontalPodAutoscaler") => &[
            ("Reference", "string", Always, With(cells::scale_target)),
            ("MinPods", "string", Always, Path(".spec.minReplicas")),
            ("MaxPods", "string", Always, Path(".spec.maxReplicas")),
            ("Replicas", "string", Always, Number("/status/currentReplicas")),
            AGE,
        ],
        ("policy", "PodDisruptionBudget") => &[
            ("Min Available", "string", Always, With(cells::min_available)),
            ("Max Unavailable", "string", Always, With(cells::max_unavailable)),
            ("Allowed Disruptions", "integer", Always, Number("/status/disruptionsAllowed")),
            AGE,
        ],
        ("networking.k8s.io", "Ingress") => &[
            ("Class", "string", Always, Path(".spec.ingressClassName")),
            ("Hosts", "string", Always, With(cells::ingress_hosts)),
            ("Address", "string", Always, With(cells::load_balancer_addresses)),
            ("Ports", "string", Always, With(cells::ingress_ports)),
            AGE,
        ],
        ("networking.k8s.io", "IngressClass") => {
            &[("Controller", "string", Always, Path(".spec.controller")), AGE]
        }
        ("networking.k8s.io", "NetworkPolicy") => {
            &[("Pod-Selector", "string", Always, With(cells::pod_selector)), AGE]
        }
        ("coordination.k8s.io", "Lease") => {
            &[("Holder", "string", Always, Path(".spec.holderIdentity")), AGE]
        }
        ("discovery.k8s.io", "EndpointSlice") => &[
            ("AddressType", "string", Always, Path(".addressType")),
            ("Ports", "string", Always, With(cells::slice_ports)),
            ("Endpoints", "string", Always, With(cells::slice_endpoints)),
            AGE,
        ],
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => {
            &[("Role", "string", Always, With(cells::role)), AGE]
        }
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole") => {
            &[("Created At", "date", Always, Path(".metadata.creationTimestamp"))]
        }
        ("scheduling.k8s.io", "PriorityClass") => &[
            ("Value", "integer", Always, Number("/value")),
            ("Global-Default", "boolean", Always, With(cells::global_default)),
            AGE,
            ("PreemptionPolicy", "string", Always, Path(".preemptionPolicy")),
        ],
        ("storage.k8s.io", "StorageClass") => &[
            ("Provisioner", "string", Always, Path(".provisioner")),
            ("ReclaimPolicy", "string", Always, Path(".reclaimPolicy")),
            ("VolumeBindingMode", "string", Always, Path(".volumeBindingMode")),
            ("AllowVolumeExpansion", "string", Always, With(cells::allows_expansion)),
            AGE,
        ],
        ("apiextensions.k8s.io", "CustomResourceDefinition") | ("", "LimitRange") => {
            &[("Created At", "date", Always, Path(".metadata.creationTimestamp"))]
        }
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => &[("Webhooks", "integer", Always, Count("/webhooks")), AGE],
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => {
            &[("Validations", "integer", Always, Count("/spec/validations")), AGE]
        }
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding") => {
            &[("PolicyName", "string", Always, Path(".spec.policyName")), AGE]
        }
        _ => &[AGE],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Types;
    use serde_json::json;

    fn cell(group: &str, kind: &str, column: &str, object: &Value) -> Value {
        let types = Types::built_in();
        let info = types.iter().find(|info| info.kind == kind && info.resource.group == group).unwrap();
        let column =
            info.columns.iter().find(|it| it.name == column).unwrap_or_else(|| panic!("{kind} {column}"));
        computed_cell(info, column, object).unwrap_or_else(|| panic!("{kind} {} has a path", column.name))
    }

    #[test]
    fn cells_of_common_kinds() {
        let deployment = json!({ "spec": { "replicas": 3 }, "status": { "readyReplicas": 1 } });
        let service = json!({ "spec": { "type": "ClusterIP", "ports": [{ "port": 80, "protocol": "TCP" }, { "port": 1, "nodePort": 30001, "protocol": "UDP" }] } });
        let job = json!({
            "spec": { "completions": 2 },
            "status": {
                "succeeded": 1, "conditions": [{ "type": "Complete", "status": "True" }],
                "startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:01:30Z",
            },
        });
        for (group, kind, column, object, expected) in [
            ("apps", "Deployment", "Ready", &deployment, json!("1/3")),
            ("apps", "Deployment", "Available", &deployment, json!(0)),
            ("", "ConfigMap", "Data", &json!({ "data": { "a": "" }, "binaryData": { "b": "" } }), json!(2)),
            ("", "Secret", "Data", &json!({ "data": { "a": "" } }), json!(1)),
            ("", "Service", "Port(s)", &service, json!("80/TCP,1:30001/UDP")),
            ("", "Service", "External-IP", &service, json!("<none>")),
            ("batch", "Job", "Status", &job, json!("Complete")),
            ("batch", "Job", "Completions", &job, json!("1/2")),
            ("batch", "Job", "Duration", &job, json!("90s")),
            ("networking.k8s.io", "Ingress", "Hosts", &json!({}), json!("*")),
            (
                "",
                "Node",
                "Status",
                &json!({ "spec": { "unschedulable": true } }),
                json!("Unknown,SchedulingDisabled"),
            ),
        ] {
            assert_eq!(cell(group, kind, column, object), expected, "{kind} {column}");
        }
    }

    #[test]
    fn pods_say_what_is_wrong_with_them() {
        let status =
            |status: Value| json!({ "metadata": {}, "spec": { "containers": [{}, {}] }, "status": status });
        let waiting = json!({ "ready": false, "restartCount": 4, "state": { "waiting": { "reason": "CrashLoopBackOff" } } });
        let running = json!({ "ready": true, "restartCount": 0, "state": { "running": {} } });
        let pod = status(json!({ "phase": "Running", "containerStatuses": [running, waiting] }));
        assert_eq!(cell("", "Pod", "Status", &pod), "CrashLoopBackOff");
        assert_eq!(cell("", "Pod", "Ready", &pod), "1/2");
        assert_eq!(cell("", "Pod", "Restarts", &pod), "4");
        let mut deleted = status(json!({ "phase": "Pending" }));
        assert_eq!(cell("", "Pod", "Status", &deleted), "Pending");
        deleted["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        assert_eq!(cell("", "Pod", "Status", &deleted), "Terminating");
    }

    #[test]
    fn no_cell_panics_on_a_broken_object() {
        for object in [json!(null), json!([]), json!({ "spec": [], "status": 1, "metadata": "x" })] {
            for info in Types::built_in().iter() {
                for column in &info.columns {
                    let computed = computed_cell(info, column, &object);
                    assert_eq!(
                        computed.is_none(),
                        !column.json_path.is_empty(),
                        "{} {}",
                        info.kind,
                        column.name
                    );
                }
            }
        }
    }
}
