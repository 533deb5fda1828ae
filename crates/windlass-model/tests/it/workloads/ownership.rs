//! Whose pods are: adoption, release, and what a deletion takes along.

use super::*;
use windlass_model::{Propagation, Request, object};

fn with(mut request: Request, propagation: Propagation) -> Request {
    request.options.propagation = Some(propagation);
    request
}

#[test]
fn a_deleted_deployment_takes_its_pods_along() {
    for (order, propagation) in
        ORDERS.into_iter().zip([Propagation::Background, Propagation::Foreground].into_iter().cycle())
    {
        let mut cluster = ready_cluster();
        ok(&mut cluster, &create("deployments", deployment("web")));
        settle(&mut cluster, order, |_| {});
        ok(&mut cluster, &with(delete("deployments", "web"), propagation));
        settle(&mut cluster, order, |_| {});
        for plural in ["deployments", "replicasets", "pods"] {
            assert!(all(&cluster, plural).is_empty(), "{plural} are left over");
        }
    }
}

#[test]
fn a_set_of_the_same_name_adopts_the_pods_that_were_left() {
    let mut cluster = ready_cluster();
    ok(&mut cluster, &create("statefulsets", stateful_set("db", 2)));
    settle(&mut cluster, Order::First, |_| {});
    let uids = |cluster: &Cluster| -> Vec<String> {
        all(cluster, "pods").iter().map(|pod| object::uid(pod).to_owned()).collect()
    };
    let before = uids(&cluster);
    ok(&mut cluster, &with(delete("statefulsets", "db"), Propagation::Orphan));
    settle(&mut cluster, Order::First, |_| {});
    assert_eq!(uids(&cluster), before, "they stay without their set");
    let set = ok(&mut cluster, &create("statefulsets", stateful_set("db", 2)));
    settle(&mut cluster, Order::First, |_| {});
    assert_eq!(uids(&cluster), before);
    for pod in all(&cluster, "pods") {
        assert_eq!(object::owner_references(&pod)[0]["uid"], set["metadata"]["uid"]);
    }
}

#[test]
fn a_set_of_the_same_name_waits_for_the_old_pods_to_go() {
    for order in ORDERS {
        let mut cluster = ready_cluster();
        ok(&mut cluster, &create("statefulsets", stateful_set("db", 2)));
        ok(&mut cluster, &create("deployments", deployment("web")));
        settle(&mut cluster, order, |_| {});
        for (plural, name, body) in
            [("statefulsets", "db", stateful_set("db", 2)), ("deployments", "web", deployment("web"))]
        {
            ok(&mut cluster, &with(delete(plural, name), Propagation::Background));
            ok(&mut cluster, &create(plural, body));
        }
        settle(&mut cluster, order, |_| {});
        assert_eq!(counts(&found(&mut cluster, "statefulsets", "db"), &["readyReplicas"]), [2]);
        assert_eq!(counts(&found(&mut cluster, "deployments", "web"), &["availableReplicas"]), [2]);
        assert_eq!(all(&cluster, "pods").len(), 4);
    }
}

#[test]
fn a_pod_whose_labels_change_is_released_and_replaced() {
    let mut cluster = ready_cluster();
    ok(&mut cluster, &create("deployments", deployment("web")));
    settle(&mut cluster, Order::First, |_| {});
    let name = names(&all(&cluster, "pods"))[0].to_owned();
    ok(&mut cluster, &merge("pods", &name, json!({ "metadata": { "labels": { "app": "aside" } } })));
    settle(&mut cluster, Order::First, |_| {});
    assert!(object::owner_references(&found(&mut cluster, "pods", &name)).is_empty());
    assert_eq!(all(&cluster, "pods").len(), 3);
}

#[test]
fn objects_made_by_controllers_are_distinguished_from_those_they_serve() {
    let mut cluster = ready_cluster();
    let mut set = stateful_set("db", 1);
    set["spec"]["volumeClaimTemplates"] = json!([volumes::claim("data")]);
    ok(&mut cluster, &create("statefulsets", set));
    ok(&mut cluster, &create("deployments", deployment("web")));
    ok(&mut cluster, &create("persistentvolumeclaims", volumes::claim("own")));
    settle(&mut cluster, Order::First, |_| {});
    for plural in ["pods", "replicasets", "controllerrevisions", "persistentvolumes"] {
        assert!(all(&cluster, plural).iter().all(|it| workloads::is_made_by_cluster(it)), "{plural}");
    }
    for (plural, name, made) in [
        ("deployments", "web", false),
        ("statefulsets", "db", false),
        ("persistentvolumeclaims", "own", false),
        ("persistentvolumeclaims", "data-db-0", true),
    ] {
        assert_eq!(workloads::is_made_by_cluster(&found(&mut cluster, plural, name)), made, "{name}");
    }
}
