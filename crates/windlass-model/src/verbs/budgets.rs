//! What disruption budgets say to an eviction.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::field::FieldPath;
use crate::object;
use crate::selector::from_label_selector_object;
use crate::status::{Cause, Details, Reason, Status};
use crate::store::{Change, Key, Store};

use super::call::{Call, Earlier};

/// Seconds after which a client retries while a budget still counts.
const RETRY_SECONDS: u32 = 10;

/// Lets the pod's budget count its eviction: the change to make to it, if there is a budget that counts.
///
/// # Errors
/// 429 if the budget allows no more disruptions, 500 if there are several budgets for the pod.
pub(super) fn charge<S: Store + ?Sized>(call: &Call<'_, S>, pod: &Value) -> Result<Option<Change>, Status> {
    if is_disrupted_already(pod) {
        return Ok(None);
    }
    let mut budgets = budgets_of(call, pod);
    let Some((key, stored)) = budgets.pop() else { return Ok(None) };
    if !budgets.is_empty() {
        return Err(Status::unclassified(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
        ));
    }
    if may_go_unhealthy(pod, &stored) {
        return Ok(None);
    }
    check(&stored)?;
    let mut budget = (*stored).clone();
    let allowed = budget["status"]["disruptionsAllowed"].as_i64().unwrap_or(0);
    budget["status"]["disruptionsAllowed"] = (allowed - 1).into();
    // The budget's controller takes the pod out again when it has seen it go.
    if !budget["status"]["disruptedPods"].is_object() {
        budget["status"]["disruptedPods"] = json!({});
    }
    budget["status"]["disruptedPods"][object::name(pod)] = call.now.to_string().into();
    let version = call.version(&key, Earlier::default());
    object::set_meta(&mut budget, "resourceVersion", version.to_string());
    Ok(Some(Change { key, before: Some(stored), after: Some(Arc::new(budget)), version }))
}

/// A pod that runs no more, or not yet, cannot be disrupted.
fn is_disrupted_already(pod: &Value) -> bool {
    object::is_deleting(pod)
        || matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed" | "Pending"))
}

fn budgets_of<S: Store + ?Sized>(call: &Call<'_, S>, pod: &Value) -> Vec<(Key, Arc<Value>)> {
    let budgets = call.store.scan("policy", "poddisruptionbudgets", Some(call.namespace()), None);
    let labels = &pod["metadata"]["labels"];
    let selects = |budget: &Value| {
        from_label_selector_object(&budget["spec"]["selector"], &FieldPath::root())
            .is_ok_and(|selector| selector.matches(labels))
    };
    budgets.filter(|(_, budget)| selects(budget)).collect()
}

/// A pod that is not ready may go if the budget does not need it, or does not care.
fn may_go_unhealthy(pod: &Value, budget: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    let ready = conditions.filter(|condition| condition["type"] == "Ready").any(|it| it["status"] == "True");
    let count = |field: &str| budget["status"][field].as_i64().unwrap_or(0);
    let spare = count("currentHealthy") >= count("desiredHealthy") && count("desiredHealthy") > 0;
    !ready && (budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow" || spare)
}

fn check(budget: &Value) -> Result<(), Status> {
    let name = object::name(budget);
    let count = |field: &str| budget["status"][field].as_i64().unwrap_or(0);
    if count("observedGeneration") < object::generation(budget) {
        let why = format!("The disruption budget {name} is still being processed by the server.");
        return Err(refusal(why, Some(RETRY_SECONDS)));
    }
    match count("disruptionsAllowed") {
        0 => {
            let (wanted, found) = (count("desiredHealthy"), count("currentHealthy"));
            let why =
                format!("The disruption budget {name} needs {wanted} healthy pods and has {found} currently");
            Err(refusal(why, None))
        }
        ..0 => Err(Status::forbidden(
            "policy",
            "poddisruptionbudgets",
            name,
            "pdb disruptions allowed is negative",
        )),
        _ => Ok(()),
    }
}

fn refusal(why: String, retry_after_seconds: Option<u32>) -> Status {
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    let mut status = Status::failure(429, Reason::TooManyRequests, message);
    let cause = Cause { reason: Some("DisruptionBudget".to_owned()), message: Some(why), field: None };
    status.details = Some(Details { causes: vec![cause], retry_after_seconds, ..Details::default() });
    status
}
