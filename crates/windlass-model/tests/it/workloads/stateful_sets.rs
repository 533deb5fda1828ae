//! StatefulSets and DaemonSets.

use super::*;
use windlass_model::object;

pub(super) fn daemon_set(name: &str) -> Value {
    let mut set = stateful_set(name, 0);
    set["kind"] = json!("DaemonSet");
    for field in ["replicas", "serviceName"] {
        set["spec"].as_object_mut().expect("a set has a spec").remove(field);
    }
    set
}

fn images(cluster: &Cluster) -> Vec<String> {
    let image = |pod: &Arc<Value>| pod["spec"]["containers"][0]["image"].as_str().unwrap_or("").to_owned();
    all(cluster, "pods").iter().map(image).collect()
}

#[test]
fn pods_are_made_one_after_the_other() {
    for order in ORDERS {
        let mut cluster = ready_cluster();
        let mut set = stateful_set("db", 3);
        set["spec"]["volumeClaimTemplates"] = json!([volumes::claim("data")]);
        ok(&mut cluster, &create("statefulsets", set));
        settle(&mut cluster, order, |cluster| {
            let pods = all(cluster, "pods");
            let unready = pods.iter().filter(|pod| !has(pod, "Ready")).count();
            assert!(unready <= 1, "one at a time");
        });
        let set = found(&mut cluster, "statefulsets", "db");
        let fields =
            ["observedGeneration", "replicas", "readyReplicas", "currentReplicas", "updatedReplicas"];
        assert_eq!(counts(&set, &fields), [1, 3, 3, 3, 3]);
        assert_eq!(set["status"]["currentRevision"], set["status"]["updateRevision"]);
        assert_eq!(names(&all(&cluster, "pods")), ["db-0", "db-1", "db-2"]);
        let claims = all(&cluster, "persistentvolumeclaims");
        assert_eq!(names(&claims), ["data-db-0", "data-db-1", "data-db-2"]);
        assert!(claims.iter().all(|claim| claim["status"]["phase"] == "Bound"));
        let first = found(&mut cluster, "pods", "db-0");
        assert_eq!(first["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"], "data-db-0");
        assert_eq!(object::label(&first, "statefulset.kubernetes.io/pod-name"), Some("db-0"));
        assert_eq!(first["spec"]["subdomain"], "db");
    }
}

#[test]
fn an_update_goes_from_the_last_pod_to_the_first() {
    for order in ORDERS {
        let mut cluster = ready_cluster();
        ok(&mut cluster, &create("statefulsets", stateful_set("db", 3)));
        settle(&mut cluster, order, |_| {});
        let old = found(&mut cluster, "statefulsets", "db")["status"]["updateRevision"].clone();
        ok(&mut cluster, &merge("statefulsets", "db", image("db:2")));
        settle(&mut cluster, order, |cluster| {
            let pods = all(cluster, "pods");
            let available = pods.iter().filter(|pod| has(pod, "Ready") && !object::is_deleting(pod)).count();
            assert!(available >= 2, "one at a time");
            let new: Vec<bool> = images(cluster).iter().map(|image| image == "db:2").collect();
            assert!(new.is_sorted(), "the last one first: {new:?}");
        });
        assert_eq!(images(&cluster), ["db:2"; 3]);
        let set = found(&mut cluster, "statefulsets", "db");
        assert_eq!(counts(&set, &["currentReplicas", "updatedReplicas", "readyReplicas"]), [3, 3, 3]);
        assert_eq!(set["status"]["currentRevision"], set["status"]["updateRevision"]);
        assert_ne!(set["status"]["currentRevision"], old);
    }
}

#[test]
fn pods_below_the_partition_keep_the_old_template() {
    let mut cluster = ready_cluster();
    let mut set = stateful_set("db", 3);
    set["spec"]["updateStrategy"] = json!({ "rollingUpdate": { "partition": 2 } });
    ok(&mut cluster, &create("statefulsets", set));
    settle(&mut cluster, Order::First, |_| {});
    ok(&mut cluster, &merge("statefulsets", "db", image("db:2")));
    settle(&mut cluster, Order::First, |_| {});
    assert_eq!(images(&cluster), ["db:1", "db:1", "db:2"]);
    let set = found(&mut cluster, "statefulsets", "db");
    assert_eq!(counts(&set, &["currentReplicas", "updatedReplicas"]), [2, 1]);
    assert_ne!(set["status"]["currentRevision"], set["status"]["updateRevision"]);
    ok(&mut cluster, &delete("pods", "db-0"));
    settle(&mut cluster, Order::First, |_| {});
    assert_eq!(images(&cluster), ["db:1", "db:1", "db:2"], "a pod that was lost comes back as it was");
    let all_of_it = json!({ "spec": { "updateStrategy": { "rollingUpdate": { "partition": 0 } } } });
    ok(&mut cluster, &merge("statefulsets", "db", all_of_it));
    settle(&mut cluster, Order::First, |_| {});
    assert_eq!(images(&cluster), ["db:2"; 3]);
}

#[test]
fn with_on_delete_pods_change_when_somebody_deletes_them() {
    let mut cluster = ready_cluster();
    let mut set = stateful_set("db", 2);
    set["spec"]["updateStrategy"] = json!({ "type": "OnDelete" });
    ok(&mut cluster, &create("statefulsets", set));
    settle(&mut cluster, Order::First, |_| {});
    ok(&mut cluster, &merge("statefulsets", "db", image("db:2")));
    settle(&mut cluster, Order::First, |_| {});
    assert_eq!(images(&cluster), ["db:1"; 2]);
    ok(&mut cluster, &delete("pods", "db-0"));
    settle(&mut cluster, Order::First, |_| {});
    assert_eq!(images(&cluster), ["db:2", "db:1"]);
}

#[test]
fn the_last_pod_goes_first_and_claims_stay() {
    let mut cluster = ready_cluster();
    let mut set = stateful_set("db", 3);
    set["spec"]["volumeClaimTemplates"] = json!([volumes::claim("data")]);
    ok(&mut cluster, &create("statefulsets", set));
    settle(&mut cluster, Order::First, |_| {});
    ok(&mut cluster, &merge("statefulsets", "db", json!({ "spec": { "replicas": 1 } })));
    let mut seen = Vec::new();
    settle(&mut cluster, Order::Last, |cluster| {
        let pods = names(&all(cluster, "pods")).join(" ");
        if seen.last() != Some(&pods) {
            seen.push(pods);
        }
    });
    assert_eq!(seen, ["db-0 db-1 db-2", "db-0 db-1", "db-0"]);
    assert_eq!(all(&cluster, "persistentvolumeclaims").len(), 3);
    assert_eq!(counts(&found(&mut cluster, "statefulsets", "db"), &["replicas"]), [1]);
}

#[test]
fn a_parallel_set_does_not_wait() {
    let mut cluster = ready_cluster();
    let mut set = stateful_set("db", 3);
    set["spec"]["podManagementPolicy"] = json!("Parallel");
    ok(&mut cluster, &create("statefulsets", set));
    let mut most = 0;
    settle(&mut cluster, Order::Last, |cluster| {
        let pods = all(cluster, "pods");
        most = most.max(pods.iter().filter(|pod| !has(pod, "Ready")).count());
    });
    assert_eq!(most, 3);
}

#[test]
fn a_daemon_set_has_a_pod_on_each_node() {
    let mut cluster = ready_cluster();
    ok(&mut cluster, &create("nodes", json!({ "metadata": { "name": "other" } })));
    ok(&mut cluster, &create("daemonsets", daemon_set("agent")));
    settle(&mut cluster, Order::First, |_| {});
    ok(&mut cluster, &merge("daemonsets", "agent", image("db:2")));
    settle(&mut cluster, Order::First, |cluster| {
        let pods = all(cluster, "pods");
        assert!(pods.iter().any(|pod| has(pod, "Ready") && !object::is_deleting(pod)));
    });
    let set = found(&mut cluster, "daemonsets", "agent");
    let fields = ["desiredNumberScheduled", "numberReady", "updatedNumberScheduled", "observedGeneration"];
    assert_eq!(counts(&set, &fields), [2, 2, 2, 2]);
    assert_eq!(images(&cluster), ["db:2"; 2]);
    ok(&mut cluster, &delete("nodes", "other"));
    settle(&mut cluster, Order::First, |_| {});
    assert_eq!(all(&cluster, "pods").len(), 1);
}
