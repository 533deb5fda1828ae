//! What the admission plugins that are on by default change in an object before its type's own rules see it.

use serde_json::{Map, Value, json};

use crate::object;
use crate::protection::{CLAIM_FINALIZER, VOLUME_FINALIZER};
use crate::status::Status;
use crate::store::{Key, Store};

use super::call::Call;

/// Classes that every cluster has, whether or not they are stored.
pub(crate) const SYSTEM_CLASSES: [(&str, i64); 2] =
    [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)];
/// Taints that pods tolerate for [`TOLERATED_SECONDS`].
const NODE_TROUBLES: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
const TOLERATED_SECONDS: i64 = 300;

/// Completes a new object, or refuses it.
pub(super) fn admit_new<S: Store + ?Sized>(call: &Call<'_, S>, new: &mut Value) -> Result<(), Status> {
    let resource = &call.info.resource;
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "pods") => {
            set_priority(call, new)?;
            tolerate_node_troubles(new);
        }
        ("", "nodes") => add_not_ready_taint(new),
        ("", "persistentvolumeclaims") => {
            choose_class(call, new, "storage.k8s.io", "storageclasses", "storageClassName");
            protect(new, CLAIM_FINALIZER);
        }
        ("", "persistentvolumes") => protect(new, VOLUME_FINALIZER),
        ("networking.k8s.io", "ingresses") => {
            choose_class(call, new, "networking.k8s.io", "ingressclasses", "ingressClassName");
        }
        ("scheduling.k8s.io", "priorityclasses") => refuse_second_default(call, new)?,
        _ => {}
    }
    Ok(())
}

/// Completes a changed object, or refuses it.
pub(super) fn admit_update<S: Store + ?Sized>(
    call: &Call<'_, S>,
    live: &Value,
    new: &mut Value,
) -> Result<(), Status> {
    let resource = &call.info.resource;
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "pods") if call.request.subresource.is_none() => {
            if let Some(spec) = spec_of(new) {
                for field in ["priority", "preemptionPolicy"] {
                    if !spec.contains_key(field) && !live["spec"][field].is_null() {
                        spec.insert(field.to_owned(), live["spec"][field].clone());
                    }
                }
            }
            tolerate_node_troubles(new);
        }
        ("scheduling.k8s.io", "priorityclasses") => refuse_second_default(call, new)?,
        _ => {}
    }
    Ok(())
}

/// Storage that is in use outlives its deletion until it is in use no more.
fn protect(object: &mut Value, finalizer: &str) {
    let mut finalizers: Vec<String> = object::finalizers(object).map(str::to_owned).collect();
    if !finalizers.iter().any(|known| known == finalizer) {
        finalizers.push(finalizer.to_owned());
        object::set_meta(object, "finalizers", finalizers);
    }
}

fn spec_of(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object.get_mut("spec").and_then(Value::as_object_mut)
}

/// The priority of a pod is that of its class; without a class, of the default class or none.
fn set_priority<S: Store + ?Sized>(call: &Call<'_, S>, pod: &mut Value) -> Result<(), Status> {
    let wanted = pod["spec"]["priorityClassName"].as_str().unwrap_or_default();
    let class = if wanted.is_empty() { default_priority_class(call) } else { priority_class(call, wanted) };
    let (priority, policy) = match &class {
        Some(class) => (class["value"].as_i64().unwrap_or(0), class["preemptionPolicy"].as_str()),
        None if wanted.is_empty() => (0, Some("PreemptLowerPriority")),
        None => {
            let why = format!("no PriorityClass with name {wanted} was found");
            return Err(refusal(call, pod, &why));
        }
    };
    check_computed(call, pod, priority, policy)?;
    let Some(spec) = spec_of(pod) else { return Ok(()) };
    if let Some(class) = &class {
        spec.insert("priorityClassName".to_owned(), object::name(class).into());
    }
    spec.insert("priority".to_owned(), priority.into());
    if let Some(policy) = policy {
        spec.insert("preemptionPolicy".to_owned(), policy.into());
    }
    Ok(())
}

/// A pod may say what is computed, but nothing else.
fn check_computed<S: Store + ?Sized>(
    call: &Call<'_, S>,
    pod: &Value,
    priority: i64,
    policy: Option<&str>,
) -> Result<(), Status> {
    let computed = "must not be provided in pod spec; priority admission controller computed";
    let class = "from the given PriorityClass name";
    if let Some(given) = pod["spec"]["priority"].as_i64().filter(|given| *given != priority) {
        let why = format!("the integer value of priority ({given}) {computed} {priority} {class}");
        return Err(refusal(call, pod, &why));
    }
    if let (Some(given), Some(policy)) = (pod["spec"]["preemptionPolicy"].as_str(), policy)
        && given != policy
    {
        let why = format!("the string value of PreemptionPolicy ({given}) {computed} {policy} {class}");
        return Err(refusal(call, pod, &why));
    }
    Ok(())
}

fn priority_class<S: Store + ?Sized>(call: &Call<'_, S>, name: &str) -> Option<Value> {
    if let Some(class) = call.store.get(&Key::new("scheduling.k8s.io", "priorityclasses", "", name)) {
        return Some((*class).clone());
    }
    let (name, value) = SYSTEM_CLASSES.into_iter().find(|(known, _)| *known == name)?;
    Some(json!({ "metadata": { "name": name }, "value": value, "preemptionPolicy": "PreemptLowerPriority" }))
}

/// The class for pods that name none. Should there be two, the lower one counts.
fn default_priority_class<S: Store + ?Sized>(call: &Call<'_, S>) -> Option<Value> {
    let classes = call.store.scan("scheduling.k8s.io", "priorityclasses", None, None);
    let defaults = classes.filter(|(_, class)| class["globalDefault"] == true);
    defaults.map(|(_, class)| (*class).clone()).min_by_key(|class| class["value"].as_i64())
}

fn refuse_second_default<S: Store + ?Sized>(call: &Call<'_, S>, new: &Value) -> Result<(), Status> {
    if new["globalDefault"] != true {
        return Ok(());
    }
    match default_priority_class(call) {
        Some(known) if object::name(&known) != object::name(new) => {
            let known = object::name(&known);
            let why =
                format!("PriorityClass {known} is already marked as default. Only one default can exist");
            Err(refusal(call, new, &why))
        }
        _ => Ok(()),
    }
}

fn refusal<S: Store + ?Sized>(call: &Call<'_, S>, object: &Value, why: &str) -> Status {
    let resource = &call.info.resource;
    Status::forbidden(&resource.group, &resource.plural, object::name(object), why)
}

fn tolerate_node_troubles(pod: &mut Value) {
    let Some(spec) = spec_of(pod) else { return };
    let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
    let Some(tolerations) = tolerations.as_array_mut() else { return };
    for key in NODE_TROUBLES {
        let tolerated = tolerations.iter().any(|toleration| {
            let text = |field: &str| toleration[field].as_str().unwrap_or_default();
            (text("key") == key || text("key").is_empty()) && matches!(text("effect"), "NoExecute" | "")
        });
        if !tolerated {
            tolerations.push(json!({
                "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": TOLERATED_SECONDS,
            }));
        }
    }
}

/// A node takes no pods until it has said that it is ready.
fn add_not_ready_taint(node: &mut Value) {
    let taint = json!({ "key": "node.kubernetes.io/not-ready", "effect": "NoSchedule" });
    let Some(node) = node.as_object_mut() else { return };
    let spec = node.entry("spec").or_insert_with(|| json!({}));
    let Some(taints) = spec
        .as_object_mut()
        .and_then(|spec| spec.entry("taints").or_insert_with(|| json!([])).as_array_mut())
    else {
        return;
    };
    let same = |known: &Value| known["key"] == taint["key"] && known["effect"] == taint["effect"];
    if !taints.iter().any(same) {
        taints.push(taint);
    }
}

/// Names the default class of a claim or an ingress that names none: the newest one, if there are several.
fn choose_class<S: Store + ?Sized>(
    call: &Call<'_, S>,
    object: &mut Value,
    group: &str,
    plural: &str,
    field: &str,
) {
    let legacy = match plural {
        "ingressclasses" => "kubernetes.io/ingress.class",
        _ => "volume.beta.kubernetes.io/storage-class",
    };
    if !object["spec"][field].is_null() || !object["metadata"]["annotations"][legacy].is_null() {
        return;
    }
    let marks: &[&str] = match plural {
        "ingressclasses" => &["ingressclass.kubernetes.io/is-default-class"],
        _ => &[
            "storageclass.kubernetes.io/is-default-class",
            "storageclass.beta.kubernetes.io/is-default-class",
        ],
    };
    let is_default =
        |class: &Value| marks.iter().any(|mark| class["metadata"]["annotations"][*mark] == "true");
    let classes = call.store.scan(group, plural, None, None).map(|(_, class)| class);
    let newest = classes.filter(|class| is_default(class)).max_by(|one, other| {
        let created = |class: &Value| object::meta_str(class, "creationTimestamp").to_owned();
        // Of those of the same second, the first by name.
        created(one).cmp(&created(other)).then_with(|| object::name(other).cmp(object::name(one)))
    });
    if let (Some(class), Some(spec)) = (newest, spec_of(object)) {
        spec.insert(field.to_owned(), object::name(&class).into());
    }
}
