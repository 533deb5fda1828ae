//! Claims and volumes outlive their deletion while they are in use.

use crate::support::*;
use serde_json::{Value, json};
use windlass_model::{Cluster, Request, controllers};

fn claim(name: &str) -> Value {
    let spec = json!({ "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } });
    json!({ "metadata": { "name": name }, "spec": spec })
}

fn volume(name: &str) -> Value {
    let spec = json!({ "accessModes": ["ReadWriteOnce"], "capacity": { "storage": "1Gi" }, "hostPath": { "path": "/x" } });
    json!({ "metadata": { "name": name }, "spec": spec })
}

fn with_claim(mut pod: Value, claim: &str) -> Value {
    pod["spec"]["volumes"] = json!([{ "name": "v", "persistentVolumeClaim": { "claimName": claim } }]);
    pod
}

/// What is done after a request, which is the same whether one looks at everything or at what has changed.
fn after(cluster: &mut Cluster, request: &Request) -> usize {
    let effect = cluster.handle(request);
    cluster.commit(&effect.changes);
    let steps = controllers::next_requests(cluster.store(), cluster.types(), cluster.now());
    let after = controllers::requests_after(cluster.store(), cluster.types(), cluster.now(), &effect.changes);
    assert_eq!(after, steps);
    steps.len()
}

#[test]
fn a_claim_that_no_pod_uses_goes() {
    let mut cluster = cluster();
    let made = ok(&mut cluster, &create("persistentvolumeclaims", claim("a")));
    assert_eq!(made["metadata"]["finalizers"], json!(["kubernetes.io/pvc-protection"]));
    ok(&mut cluster, &create("pods", with_claim(pod("not-placed"), "a")));
    ok(&mut cluster, &create("pods", with_claim(pod_on_node("other"), "b")));
    assert!(requests_of_controllers(&cluster).is_empty());
    let deleting = ok(&mut cluster, &delete("persistentvolumeclaims", "a"));
    assert!(deleting["metadata"]["deletionTimestamp"].is_string());
    assert!(cluster.settle() && !exists(&mut cluster, "persistentvolumeclaims", "a"));
}

#[test]
fn a_claim_stays_while_a_pod_uses_it() {
    let mut cluster = cluster();
    ok(&mut cluster, &create("persistentvolumeclaims", claim("a")));
    ok(&mut cluster, &create("pods", with_claim(pod_on_node("p"), "a")));
    assert_eq!(after(&mut cluster, &delete("persistentvolumeclaims", "a")), 0);
    let done = merge("pods", "p", json!({ "status": { "phase": "Succeeded" } })).on("status");
    assert_eq!(after(&mut cluster, &done), 0, "a pod that has ended may be looked into");
    let mut gone = delete("pods", "p");
    gone.options.grace_period_seconds = Some(0);
    assert_eq!(after(&mut cluster, &gone), 1);
    assert!(cluster.settle() && !exists(&mut cluster, "persistentvolumeclaims", "a"));
}

#[test]
fn the_claim_of_an_ephemeral_volume_belongs_to_its_pod() {
    let mut cluster = cluster();
    let mut user = pod_on_node("p");
    let template = claim("")["spec"].clone();
    user["spec"]["volumes"] =
        json!([{ "name": "v", "ephemeral": { "volumeClaimTemplate": { "spec": template } } }]);
    let user = ok(&mut cluster, &create("pods", user));
    for (name, owners) in [("p-v", json!([owned_by(&user)])), ("p-w", json!([]))] {
        let mut owner = owners;
        if let Some(first) = owner.get_mut(0) {
            first["controller"] = true.into();
        }
        let made = with_meta(claim(name), "ownerReferences", owner);
        ok(&mut cluster, &create("persistentvolumeclaims", made));
    }
    assert_eq!(after(&mut cluster, &delete("persistentvolumeclaims", "p-v")), 0);
    assert_eq!(after(&mut cluster, &delete("persistentvolumeclaims", "p-w")), 1, "no volume has this name");
}

#[test]
fn a_volume_stays_while_it_is_bound() {
    let mut cluster = cluster();
    let made = ok(&mut cluster, &create("persistentvolumes", volume("a")));
    assert_eq!(made["metadata"]["finalizers"], json!(["kubernetes.io/pv-protection"]));
    let phase =
        |phase: &str| merge("persistentvolumes", "a", json!({ "status": { "phase": phase } })).on("status");
    ok(&mut cluster, &phase("Bound"));
    assert_eq!(after(&mut cluster, &delete("persistentvolumes", "a")), 0);
    assert_eq!(after(&mut cluster, &phase("Released")), 1);
    assert!(cluster.settle() && !exists(&mut cluster, "persistentvolumes", "a"));
}

#[test]
fn other_finalizers_are_left_alone() {
    let mut cluster = cluster();
    let held = with_meta(claim("a"), "finalizers", json!(["x.io/y"]));
    ok(&mut cluster, &create("persistentvolumeclaims", held));
    ok(&mut cluster, &delete("persistentvolumeclaims", "a"));
    assert!(cluster.settle());
    assert_eq!(
        found(&mut cluster, "persistentvolumeclaims", "a")["metadata"]["finalizers"],
        json!(["x.io/y"])
    );
}
