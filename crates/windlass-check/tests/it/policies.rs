//! Admission policies hold in the checker as on a server: what they refuse is never there.

use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::api::admissionregistration::v1beta1::{
    MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding,
};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;
use windlass::{Cx, Declaration, Machine, Outcome, done};
use windlass_check::{Check, Faults, View, Violation, check};

use crate::things::{Only, Thing, map, thing};

/// Makes a ConfigMap `out`.
struct Makes;

impl Machine for Makes {
    type Parent = Thing;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.output::<ConfigMap>();
    }

    async fn run(&self, _: Only, cx: &Cx<Thing>) -> Outcome<Only> {
        cx.ensure(map("out"));
        done()
    }
}

/// A check in a cluster where ConfigMaps must keep a rule.
fn with_rule(rule: &str) -> Check {
    let policy: ValidatingAdmissionPolicy = serde_json::from_value(json!({
        "metadata": { "name": "p" },
        "spec": {
            "matchConstraints": { "resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"],
            }] },
            "validations": [{ "expression": rule, "message": "not by this policy" }],
        },
    }))
    .expect("a policy or a binding");
    let binding: ValidatingAdmissionPolicyBinding = serde_json::from_value(json!({
        "metadata": { "name": "b" }, "spec": { "policyName": "p", "validationActions": ["Deny"] },
    }))
    .expect("a policy or a binding");
    check(Makes).given([policy]).given([binding]).given([thing("t")])
}

#[test]
fn an_output_that_a_policy_refuses_is_never_made() {
    let report = with_rule("object.metadata.name != 'out'")
        .eventually("out is made", |world| world.has::<ConfigMap>("out"))
        .run();
    assert!(matches!(&report.violation, Some(Violation::Eventually { .. })), "{report}");
    assert!(report.to_string().contains("not by this policy"), "{report}");
}

/// A check in a cluster where a policy gives all new ConfigMaps a label.
fn with_label() -> Check {
    let policy: MutatingAdmissionPolicy = serde_json::from_value(json!({
        "metadata": { "name": "m" },
        "spec": {
            "reinvocationPolicy": "Never",
            "matchConstraints": { "resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"],
            }] },
            "mutations": [{
                "patchType": "ApplyConfiguration",
                "applyConfiguration": { "expression": "Object{metadata: Object.metadata{labels: {'team': 'a'}}}" },
            }],
        },
    }))
    .expect("a policy");
    let binding: MutatingAdmissionPolicyBinding =
        serde_json::from_value(json!({ "metadata": { "name": "m" }, "spec": { "policyName": "m" } }))
            .expect("a binding");
    check(Makes).mutating_admission_policies().given([policy]).given([binding]).given([thing("t")])
}

/// The controller does not fight over what it has not set.
#[test]
fn an_output_is_what_a_policy_makes_of_it() {
    let has_label = |world: &View<'_>| {
        let found = world.get::<ConfigMap>("out");
        found.is_some_and(|out| out.metadata.labels.is_some_and(|labels| labels["team"] == "a"))
    };
    with_label()
        .faults(Faults::none().crashes(1))
        .always("out has its label", move |world| !world.has::<ConfigMap>("out") || has_label(world))
        .eventually("out is made", |world| world.has::<ConfigMap>("out"))
        .assert();
}

#[test]
fn an_output_that_keeps_the_policy_is_made() {
    with_rule("object.metadata.ownerReferences.size() == 1")
        .faults(Faults::none().crashes(1))
        .eventually("out is made", |world| world.has::<ConfigMap>("out"))
        .assert();
}
