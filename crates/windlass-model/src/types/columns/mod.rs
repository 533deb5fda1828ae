//! What `kubectl get` shows of built-in types.

mod cells;
mod metrics;
mod pods;

use serde_json::{Value, json};

use super::{Column, TypeInfo};
use crate::time::{Timestamp, human_duration};

/// Where the value of a cell comes from. Paths are JSON pointers.
enum Cell {
    /// The name of the object.
    Name,
    /// A string, which is empty if absent.
    Text(&'static str),
    /// A string, or something else if it is absent or empty.
    Or(&'static str, &'static str),
    /// A number, which is 0 if absent.
    Number(&'static str),
    /// A boolean, which is false if absent.
    Flag(&'static str),
    /// How many entries a list or map has.
    Count(&'static str),
    /// How long ago a time is.
    Age(&'static str),
    /// Something that is computed.
    With(fn(&Value) -> Value),
    /// Something that is computed and depends on the time.
    Timed(fn(&Value, Timestamp) -> Value),
}

/// Heading, type, whether it is shown always or only with `-o wide`, and the value.
type Row = (&'static str, &'static str, Shown, Cell);

#[derive(Clone, Copy)]
enum Shown {
    Always,
    Wide,
}

use Cell::{Age, Count, Flag, Name, Number, Or, Text, Timed, With};
use Shown::{Always, Wide};

const NAME: Row = ("Name", "string", Always, Name);
const AGE: Row = ("Age", "string", Always, Age("/metadata/creationTimestamp"));
/// The only column besides the name of types without columns of their own.
const CREATED_AT: Row = ("Created At", "date", Always, Text("/metadata/creationTimestamp"));
const CONTAINERS: Row = ("Containers", "string", Wide, With(cells::template_containers));
const IMAGES: Row = ("Images", "string", Wide, With(cells::template_images));
const SELECTOR: Row = ("Selector", "string", Wide, With(cells::selector));

/// The value of a cell of a built-in type.
pub(crate) fn computed_cell(info: &TypeInfo, column: &Column, object: &Value, now: Timestamp) -> Value {
    let rows = rows(&info.resource.group, &info.kind);
    let Some((_, _, _, cell)) = rows.iter().chain([&NAME]).find(|(name, ..)| *name == column.name) else {
        return Value::Null;
    };
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    match cell {
        Name => text("/metadata/name").into(),
        Text(pointer) => text(pointer).into(),
        Or(pointer, fallback) => {
            Some(text(pointer)).filter(|text| !text.is_empty()).unwrap_or(fallback).into()
        }
        Number(pointer) => object.pointer(pointer).and_then(Value::as_i64).unwrap_or(0).into(),
        Flag(pointer) => object.pointer(pointer).and_then(Value::as_bool).unwrap_or(false).into(),
        Count(pointer) => match object.pointer(pointer) {
            Some(Value::Array(items)) => items.len().into(),
            Some(Value::Object(fields)) => fields.len().into(),
            _ => 0.into(),
        },
        Age(pointer) => since(text(pointer), now).into(),
        With(compute) => compute(object),
        Timed(compute) => compute(object, now),
    }
}

/// How long ago a time is.
fn since(time: &str, now: Timestamp) -> String {
    match Timestamp::parse(time) {
        Some(then) => human_duration(now.unix_seconds() - then.unix_seconds()),
        None => "<unknown>".to_owned(),
    }
}

/// Conditions of a row: pods that have ended are marked as completed.
pub(crate) fn row_conditions(info: &TypeInfo, object: &Value) -> Option<Value> {
    if (info.resource.group.as_str(), info.kind.as_str()) != ("", "Pod") {
        return None;
    }
    let (reason, message) = match object["status"]["phase"].as_str()? {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!([{ "type": "Completed", "status": "True", "reason": reason, "message": message }]))
}

/// The columns of a kind.
pub(super) fn of(group: &str, kind: &str) -> Vec<Column> {
    let rows = rows(group, kind);
    let named = rows.iter().any(|(name, ..)| *name == "Name");
    let name = (!named).then_some(&NAME);
    name.into_iter().chain(rows).map(column).collect()
}

fn column((name, kind, shown, _): &Row) -> Column {
    Column {
        name: (*name).to_owned(),
        kind: (*kind).to_owned(),
        format: if *name == "Name" { "name".to_owned() } else { String::new() },
        description: String::new(),
        priority: match shown {
            Always => 0,
            Wide => 1,
        },
        json_path: String::new(),
    }
}

fn rows(group: &str, kind: &str) -> &'static [Row] {
    match (group, kind) {
        ("", "Pod") => &[
            ("Ready", "string", Always, With(pods::ready)),
            ("Status", "string", Always, With(pods::status)),
            ("Restarts", "string", Always, Timed(pods::restarts)),
            AGE,
            ("IP", "string", Wide, Or("/status/podIPs/0/ip", "<none>")),
            ("Node", "string", Wide, Or("/spec/nodeName", "<none>")),
            ("Nominated Node", "string", Wide, Or("/status/nominatedNodeName", "<none>")),
            ("Readiness Gates", "string", Wide, With(pods::readiness_gates)),
        ],
        ("", "PodTemplate") => &[
            ("Containers", "string", Always, With(cells::bare_template_containers)),
            ("Images", "string", Always, With(cells::bare_template_images)),
            ("Pod Labels", "string", Always, With(cells::bare_template_labels)),
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
            ("Duration", "string", Always, Timed(cells::job_duration)),
            AGE,
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ],
        ("batch", "CronJob") => &[
            ("Schedule", "string", Always, Text("/spec/schedule")),
            ("Timezone", "string", Always, Or("/spec/timeZone", "<none>")),
            ("Suspend", "boolean", Always, With(cells::cron_job_suspended)),
            ("Active", "integer", Always, Count("/status/active")),
            ("Last Schedule", "string", Always, Timed(cells::last_schedule)),
            AGE,
            ("Containers", "string", Wide, With(cells::cron_job_containers)),
            ("Images", "string", Wide, With(cells::cron_job_images)),
            ("Selector", "string", Wide, With(cells::cron_job_selector)),
        ],
        _ => small_rows(group, kind),
    }
}

fn small_rows(group: &str, kind: &str) -> &'static [Row] {
    match (group, kind) {
        ("", "ConfigMap") => &[("Data", "string", Always, With(cells::config_map_data)), AGE],
        ("", "Secret") => {
            &[("Type", "string", Always, Text("/type")), ("Data", "string", Always, Count("/data")), AGE]
        }
        ("", "Namespace") => &[("Status", "string", Always, Text("/status/phase")), AGE],
        ("", "ServiceAccount") => &[AGE],
        ("", "Endpoints") => &[("Endpoints", "string", Always, With(cells::endpoints)), AGE],
        ("", "Service") => &[
            ("Type", "string", Always, Text("/spec/type")),
            ("Cluster-IP", "string", Always, Or("/spec/clusterIPs/0", "<none>")),
            ("External-IP", "string", Always, With(cells::service_external_ip)),
            ("Port(s)", "string", Always, With(cells::service_ports)),
            AGE,
            SELECTOR,
        ],
        ("", "Node") => &[
            ("Status", "string", Always, With(cells::node_status)),
            ("Roles", "string", Always, With(cells::node_roles)),
            AGE,
            ("Version", "string", Always, Text("/status/nodeInfo/kubeletVersion")),
            ("Internal-IP", "string", Wide, With(cells::node_internal_ip)),
            ("External-IP", "string", Wide, With(cells::node_external_ip)),
            ("OS-Image", "string", Wide, Or("/status/nodeInfo/osImage", "<unknown>")),
            ("Kernel-Version", "string", Wide, Or("/status/nodeInfo/kernelVersion", "<unknown>")),
            (
                "Container-Runtime",
                "string",
                Wide,
                Or("/status/nodeInfo/containerRuntimeVersion", "<unknown>"),
            ),
        ],
        ("" | "events.k8s.io", "Event") => &[
            ("Last Seen", "string", Always, Timed(cells::event_last_seen)),
            ("Type", "string", Always, Text("/type")),
            ("Reason", "string", Always, Text("/reason")),
            ("Object", "string", Always, With(cells::event_object)),
            ("Subobject", "string", Wide, With(cells::event_field)),
            ("Source", "string", Wide, With(cells::event_source)),
            ("Message", "string", Always, With(cells::event_message)),
            ("First Seen", "string", Wide, Timed(cells::event_first_seen)),
            ("Count", "string", Wide, With(cells::event_count)),
            ("Name", "string", Wide, Name),
        ],
        ("", "PersistentVolume") => &[
            ("Capacity", "string", Always, Or("/spec/capacity/storage", "0")),
            ("Access Modes", "string", Always, With(cells::volume_access_modes)),
            ("Reclaim Policy", "string", Always, Text("/spec/persistentVolumeReclaimPolicy")),
            ("Status", "string", Always, With(cells::phase_or_terminating)),
            ("Claim", "string", Always, With(cells::volume_claim)),
            ("StorageClass", "string", Always, With(cells::storage_class_name)),
            ("VolumeAttributesClass", "string", Always, Or("/spec/volumeAttributesClassName", "<unset>")),
            ("Reason", "string", Always, Text("/status/reason")),
            AGE,
            ("VolumeMode", "string", Wide, Or("/spec/volumeMode", "<unset>")),
        ],
        ("", "PersistentVolumeClaim") => &[
            ("Status", "string", Always, With(cells::phase_or_terminating)),
            ("Volume", "string", Always, Text("/spec/volumeName")),
            ("Capacity", "string", Always, With(cells::claim_capacity)),
            ("Access Modes", "string", Always, With(cells::claim_access_modes)),
            ("StorageClass", "string", Always, With(cells::storage_class_name)),
            ("VolumeAttributesClass", "string", Always, Or("/spec/volumeAttributesClassName", "<unset>")),
            AGE,
            ("VolumeMode", "string", Wide, Or("/spec/volumeMode", "<unset>")),
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
            ("Targets", "string", Always, With(metrics::targets)),
            ("MinPods", "string", Always, With(cells::min_replicas)),
            ("MaxPods", "string", Always, Number("/spec/maxReplicas")),
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
            ("Class", "string", Always, Or("/spec/ingressClassName", "<none>")),
            ("Hosts", "string", Always, With(cells::ingress_hosts)),
            ("Address", "string", Always, With(cells::load_balancer_addresses)),
            ("Ports", "string", Always, With(cells::ingress_ports)),
            AGE,
        ],
        ("networking.k8s.io", "IngressClass") => &[
            ("Controller", "string", Always, Text("/spec/controller")),
            ("Parameters", "string", Always, With(cells::ingress_class_parameters)),
            AGE,
        ],
        ("networking.k8s.io", "NetworkPolicy") => {
            &[("Pod-Selector", "string", Always, With(cells::pod_selector)), AGE]
        }
        ("coordination.k8s.io", "Lease") => {
            &[("Holder", "string", Always, Text("/spec/holderIdentity")), AGE]
        }
        ("discovery.k8s.io", "EndpointSlice") => &[
            ("AddressType", "string", Always, Text("/addressType")),
            ("Ports", "string", Always, With(cells::slice_ports)),
            ("Endpoints", "string", Always, With(cells::slice_endpoints)),
            AGE,
        ],
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => &[
            ("Role", "string", Always, With(cells::role)),
            AGE,
            ("Users", "string", Wide, With(cells::users)),
            ("Groups", "string", Wide, With(cells::groups)),
            ("ServiceAccounts", "string", Wide, With(cells::service_accounts)),
        ],
        ("scheduling.k8s.io", "PriorityClass") => &[
            ("Value", "integer", Always, Number("/value")),
            ("Global-Default", "boolean", Always, Flag("/globalDefault")),
            AGE,
            ("PreemptionPolicy", "string", Always, Text("/preemptionPolicy")),
        ],
        ("storage.k8s.io", "StorageClass") => &[
            ("Name", "string", Always, With(cells::class_name)),
            ("Provisioner", "string", Always, Text("/provisioner")),
            ("ReclaimPolicy", "string", Always, Or("/reclaimPolicy", "Delete")),
            ("VolumeBindingMode", "string", Always, Or("/volumeBindingMode", "Immediate")),
            ("AllowVolumeExpansion", "string", Always, Flag("/allowVolumeExpansion")),
            AGE,
        ],
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => &[("Webhooks", "integer", Always, Count("/webhooks")), AGE],
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => &[
            ("Validations", "integer", Always, Count("/spec/validations")),
            ("ParamKind", "string", Always, With(cells::parameter_kind)),
            AGE,
        ],
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy") => &[
            ("Mutations", "integer", Always, Count("/spec/mutations")),
            ("ParamKind", "string", Always, With(cells::parameter_kind)),
            AGE,
        ],
        (
            "admissionregistration.k8s.io",
            "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding",
        ) => &[
            ("PolicyName", "string", Always, Text("/spec/policyName")),
            ("ParamRef", "string", Always, With(cells::parameter)),
            AGE,
        ],
        _ => &[CREATED_AT],
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
        computed_cell(info, column, object, Timestamp::from_unix_seconds(300))
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
    fn pods_show_why_they_are_not_ready() {
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
                    computed_cell(info, column, &object, Timestamp::default());
                }
            }
        }
    }
}
