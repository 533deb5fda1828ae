//! The policy by which the API server refuses outputs of an earlier owner that arrive late.
//!
//! A request may sit in the network, or in the API server, after its sender has given it up and its slot has another owner.
//! Each output that a sharded controller writes carries the epoch at which its writer owned the slot, and the ring has the
//! epoch of the owner of today: one write of the ring fences the whole slot.

use serde_json::{Value, json};
use windlass::{CONTROLLER_LABEL, Controller};

use crate::sharding::{SLOT_LABEL, WRITER_ANNOTATION};

const GROUP: &str = "admissionregistration.k8s.io/v1";

/// A ValidatingAdmissionPolicy for the outputs of a sharded controller, and its binding. It is about what `user` writes:
/// others may change an output without knowing of epochs.
pub fn fencing_policy(controller: &Controller, user: &str) -> [Value; 2] {
    let ring = controller.name();
    let name = format!("windlass-{ring}-epochs");
    let policy = json!({
        "apiVersion": GROUP,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": { "name": name },
        "spec": {
            "paramKind": { "apiVersion": "windlass.dev/v1alpha1", "kind": "ControllerRing" },
            "failurePolicy": "Fail",
            "matchConstraints": { "resourceRules": resource_rules(controller) },
            "matchConditions": [
                { "name": "written-by-the-controller", "expression": format!("request.userInfo.username == '{user}'") },
                { "name": "output-of-the-controller", "expression": is_output(ring) },
            ],
            "validations": [{ "expression": is_current(), "reason": "Forbidden", "message": MESSAGE }],
        },
    });
    let binding = json!({
        "apiVersion": GROUP,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": { "name": name },
        "spec": {
            "policyName": name,
            // Without a ring no one writes.
            "paramRef": { "name": ring, "parameterNotFoundAction": "Allow" },
            "validationActions": ["Deny"],
        },
    });
    [policy, binding]
}

const MESSAGE: &str =
    "the writer no longer owns the slot of this object: its epoch is older than that of the ring";

fn resource_rules(controller: &Controller) -> Vec<Value> {
    let rule = |output: &windlass::OutputKind| {
        let resource = &output.kind.resource;
        json!({
            "apiGroups": [resource.group], "apiVersions": [resource.version], "resources": [resource.plural],
            "operations": ["CREATE", "UPDATE"],
        })
    };
    controller.declaration().outputs().iter().map(rule).collect()
}

fn is_output(ring: &str) -> String {
    let labels = "object.metadata.labels";
    let annotations = "object.metadata.annotations";
    format!(
        "has({labels}) && '{CONTROLLER_LABEL}' in {labels} && {labels}['{CONTROLLER_LABEL}'] == '{ring}' && \
         '{SLOT_LABEL}' in {labels} && has({annotations}) && '{WRITER_ANNOTATION}' in {annotations}"
    )
}

fn is_current() -> String {
    let slot = format!("int(object.metadata.labels['{SLOT_LABEL}'])");
    let epoch = format!("int(object.metadata.annotations['{WRITER_ANNOTATION}'].split(' ')[0])");
    format!(
        "!has(params.status) || !has(params.status.slots) || params.status.slots.all(run, {slot} < run.from || \
         {slot} > run.to || run.epoch <= {epoch})"
    )
}
