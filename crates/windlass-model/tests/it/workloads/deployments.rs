//! Deployments and their ReplicaSets.

use super::*;
use windlass_model::object;

fn sum(cluster: &Cluster, of: impl Fn(&Value) -> bool) -> usize {
    all(cluster, "pods").iter().filter(|pod| of(pod)).count()
}

fn is_active(pod: &Value) -> bool {
    !object::is_deleting(pod)
}

fn is_available(pod: &Value) -> bool {
    has(pod, "Ready") && is_active(pod)
}

#[test]
fn a_deployment_becomes_available() {
    for order in ORDERS {
        let mut cluster = ready_cluster();
        ok(&mut cluster, &create("deployments", deployment("web")));
        let done = settle(&mut cluster, order, |_| {});
        let web = found(&mut cluster, "deployments", "web");
        let fields =
            ["observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas"];
        assert_eq!(counts(&web, &fields), [1, 2, 2, 2, 2]);
        assert!(web["status"]["unavailableReplicas"].is_null() && has(&web, "Available"));
        let progressing = web["status"]["conditions"].as_array().unwrap();
        let progressing = progressing.iter().find(|it| it["type"] == "Progressing").unwrap();
        assert_eq!(progressing["reason"], "NewReplicaSetAvailable");
        assert_eq!(object::annotation(&web, "deployment.kubernetes.io/revision"), Some("1"));
        let sets = all(&cluster, "replicasets");
        let hash = object::label(&sets[0], "pod-template-hash").unwrap();
        assert_eq!(names(&sets), [format!("web-{hash}")]);
        assert_eq!(object::owner_references(&sets[0])[0]["uid"], web["metadata"]["uid"]);
        for pod in all(&cluster, "pods") {
            assert_eq!(object::owner_references(&pod)[0]["uid"], sets[0]["metadata"]["uid"]);
            assert_eq!(object::label(&pod, "pod-template-hash"), Some(hash));
            assert_eq!(
                (&pod["spec"]["nodeName"], &pod["status"]["phase"]),
                (&json!("windlass"), &json!("Running"))
            );
            assert!(pod["status"]["podIP"].is_string());
            for condition in ["PodScheduled", "Initialized", "ContainersReady", "Ready"] {
                assert!(has(&pod, condition), "{condition}");
            }
        }
        assert!(done.contains(&"deployment controller") && done.contains(&"kubelet"), "{done:?}");
    }
}

#[test]
fn a_rolling_update_stays_within_its_limits() {
    for order in ORDERS {
        let mut cluster = ready_cluster();
        let mut web = deployment("web");
        web["spec"]["replicas"] = json!(3);
        web["spec"]["strategy"] = json!({ "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } });
        ok(&mut cluster, &create("deployments", web));
        settle(&mut cluster, order, |_| {});
        ok(&mut cluster, &merge("deployments", "web", image("busybox:2")));
        settle(&mut cluster, order, |cluster| {
            assert!(sum(cluster, is_available) >= 3, "too few are available");
            assert!(sum(cluster, is_active) <= 4, "too many are there");
        });
        let web = found(&mut cluster, "deployments", "web");
        let fields = ["observedGeneration", "replicas", "updatedReplicas", "availableReplicas"];
        assert_eq!(counts(&web, &fields), [2, 3, 3, 3]);
        assert_eq!(object::annotation(&web, "deployment.kubernetes.io/revision"), Some("2"));
        assert_eq!(all(&cluster, "replicasets").len(), 2);
        let is_new = |pod: &Value| pod["spec"]["containers"][0]["image"] == "busybox:2";
        assert_eq!((sum(&cluster, is_new), all(&cluster, "pods").len()), (3, 3));
    }
}

#[test]
fn a_rollback_uses_the_old_replica_set() {
    let mut cluster = ready_cluster();
    ok(&mut cluster, &create("deployments", deployment("web")));
    settle(&mut cluster, Order::First, |_| {});
    for image in [image("busybox:2"), image("busybox")] {
        ok(&mut cluster, &merge("deployments", "web", image));
        settle(&mut cluster, Order::First, |_| {});
    }
    let sets = all(&cluster, "replicasets");
    let revisions: Vec<_> =
        sets.iter().filter_map(|set| object::annotation(set, "deployment.kubernetes.io/revision")).collect();
    assert_eq!(sets.len(), 2);
    assert!(revisions.contains(&"2") && revisions.contains(&"3"), "{revisions:?}");
    let web = found(&mut cluster, "deployments", "web");
    assert_eq!(object::annotation(&web, "deployment.kubernetes.io/revision"), Some("3"));
}

#[test]
fn a_recreated_deployment_never_runs_two_templates() {
    for order in ORDERS {
        let mut cluster = ready_cluster();
        let mut web = deployment("web");
        web["spec"]["strategy"] = json!({ "type": "Recreate" });
        ok(&mut cluster, &create("deployments", web));
        settle(&mut cluster, order, |_| {});
        ok(&mut cluster, &merge("deployments", "web", image("busybox:2")));
        settle(&mut cluster, order, |cluster| {
            let pods = all(cluster, "pods");
            let images: std::collections::BTreeSet<_> =
                pods.iter().filter_map(|pod| pod["spec"]["containers"][0]["image"].as_str()).collect();
            assert!(images.len() < 2, "{images:?}");
        });
        assert_eq!(counts(&found(&mut cluster, "deployments", "web"), &["availableReplicas"]), [2]);
    }
}

#[test]
fn a_broken_template_keeps_the_old_pods() {
    let mut cluster = ready_cluster();
    ok(&mut cluster, &create("deployments", deployment("web")));
    settle(&mut cluster, Order::First, |_| {});
    let broken = json!({ "windlass.dev/pod-behaviour": "Failed" });
    let change = json!({ "spec": { "template": { "metadata": { "annotations": broken } } } });
    ok(&mut cluster, &merge("deployments", "web", change));
    settle(&mut cluster, Order::First, |cluster| assert!(sum(cluster, is_available) >= 2));
    let web = found(&mut cluster, "deployments", "web");
    assert_eq!(counts(&web, &["updatedReplicas", "availableReplicas", "unavailableReplicas"]), [1, 2, 1]);
}

#[test]
fn scaling_and_pausing() {
    let mut cluster = ready_cluster();
    ok(&mut cluster, &create("deployments", deployment("web")));
    for replicas in [4, 1, 0] {
        ok(&mut cluster, &merge("deployments", "web", json!({ "spec": { "replicas": replicas } })));
        settle(&mut cluster, Order::Last, |_| {});
        let web = found(&mut cluster, "deployments", "web");
        assert_eq!(counts(&web, &["replicas", "availableReplicas"]), [replicas, replicas]);
    }
    let mut paused = image("busybox:2");
    paused["spec"]["paused"] = json!(true);
    paused["spec"]["replicas"] = json!(1);
    ok(&mut cluster, &merge("deployments", "web", paused));
    settle(&mut cluster, Order::First, |_| {});
    assert_eq!(all(&cluster, "replicasets").len(), 1, "no rollout while it is paused");
    ok(&mut cluster, &merge("deployments", "web", json!({ "spec": { "paused": false } })));
    settle(&mut cluster, Order::First, |_| {});
    assert_eq!(counts(&found(&mut cluster, "deployments", "web"), &["updatedReplicas"]), [1]);
}

#[test]
fn old_replica_sets_are_kept_up_to_a_limit() {
    let mut cluster = ready_cluster();
    let mut web = deployment("web");
    web["spec"]["revisionHistoryLimit"] = json!(1);
    ok(&mut cluster, &create("deployments", web));
    for version in 1..=3 {
        ok(&mut cluster, &merge("deployments", "web", image(&format!("busybox:{version}"))));
        settle(&mut cluster, Order::First, |_| {});
    }
    assert_eq!(all(&cluster, "replicasets").len(), 2);
}
