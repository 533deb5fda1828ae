//! Claims, volumes and load balancers: what a cluster gets from outside.

use super::*;

pub(super) fn claim(name: &str) -> Value {
    let spec = json!({ "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } });
    json!({ "metadata": { "name": name }, "spec": spec })
}

fn with_class(mut claim: Value, class: &str) -> Value {
    claim["spec"]["storageClassName"] = json!(class);
    claim
}

fn phase(cluster: &mut Cluster, plural: &str, name: &str) -> String {
    found(cluster, plural, name)["status"]["phase"].as_str().unwrap_or("").to_owned()
}

#[test]
fn a_claim_is_provisioned_grows_and_takes_its_volume_along() {
    let mut cluster = ready_cluster();
    ok(&mut cluster, &create("persistentvolumeclaims", claim("data")));
    settle(&mut cluster, Order::First, |_| {});
    let bound = found(&mut cluster, "persistentvolumeclaims", "data");
    assert_eq!(
        (&bound["status"]["phase"], &bound["status"]["capacity"]["storage"]),
        (&json!("Bound"), &json!("1Gi"))
    );
    let volume = bound["spec"]["volumeName"].as_str().unwrap().to_owned();
    assert_eq!(phase(&mut cluster, "persistentvolumes", &volume), "Bound");
    let larger = json!({ "spec": { "resources": { "requests": { "storage": "2Gi" } } } });
    ok(&mut cluster, &merge("persistentvolumeclaims", "data", larger));
    settle(&mut cluster, Order::First, |_| {});
    let grown = found(&mut cluster, "persistentvolumeclaims", "data");
    assert_eq!(grown["status"]["capacity"]["storage"], "2Gi");
    ok(&mut cluster, &delete("persistentvolumeclaims", "data"));
    settle(&mut cluster, Order::First, |_| {});
    assert!(all(&cluster, "persistentvolumes").is_empty());
}

#[test]
fn a_claim_takes_the_smallest_volume_that_fits() {
    let mut cluster = ready_cluster();
    for (name, size) in [("small", "500Mi"), ("large", "9Gi"), ("right", "2Gi")] {
        let spec = json!({
            "accessModes": ["ReadWriteOnce", "ReadOnlyMany"], "capacity": { "storage": size },
            "hostPath": { "path": "/x" }, "storageClassName": "manual",
        });
        let volume = json!({ "metadata": { "name": name }, "spec": spec });
        ok(&mut cluster, &create("persistentvolumes", volume));
    }
    ok(&mut cluster, &create("persistentvolumeclaims", with_class(claim("data"), "manual")));
    settle(&mut cluster, Order::First, |_| {});
    assert_eq!(found(&mut cluster, "persistentvolumeclaims", "data")["spec"]["volumeName"], "right");
    assert_eq!(phase(&mut cluster, "persistentvolumes", "large"), "Available");
    ok(&mut cluster, &delete("persistentvolumeclaims", "data"));
    settle(&mut cluster, Order::First, |_| {});
    assert_eq!(phase(&mut cluster, "persistentvolumes", "right"), "Released");
}

#[test]
fn a_claim_waits_for_its_class_and_its_pod_for_the_claim() {
    let mut cluster = ready_cluster();
    ok(&mut cluster, &create("persistentvolumeclaims", with_class(claim("data"), "late")));
    let mut user = pod("user");
    user["spec"]["volumes"] = json!([{ "name": "v", "persistentVolumeClaim": { "claimName": "data" } }]);
    ok(&mut cluster, &create("pods", user));
    settle(&mut cluster, Order::First, |_| {});
    assert_eq!(phase(&mut cluster, "persistentvolumeclaims", "data"), "Pending");
    assert_eq!(phase(&mut cluster, "pods", "user"), "Pending");
    let class = json!({
        "metadata": { "name": "late" }, "provisioner": "example.com/disks",
        "volumeBindingMode": "WaitForFirstConsumer",
    });
    let mut request = create("storageclasses", class);
    request.resource = windlass_model::ResourceId::new("storage.k8s.io", "v1", "storageclasses");
    ok(&mut cluster, &request.in_namespace(""));
    ok(&mut cluster, &create("persistentvolumeclaims", with_class(claim("unused"), "late")));
    settle(&mut cluster, Order::First, |_| {});
    assert_eq!(phase(&mut cluster, "pods", "user"), "Running");
    assert_eq!(phase(&mut cluster, "persistentvolumeclaims", "unused"), "Pending");
}

#[test]
fn a_load_balancer_has_an_address_as_long_as_it_is_one() {
    let mut cluster = ready_cluster();
    let service = json!({ "metadata": { "name": "web" }, "spec": { "type": "LoadBalancer", "ports": [{ "port": 80 }] } });
    ok(&mut cluster, &create("services", service));
    let addresses = |cluster: &mut Cluster| {
        found(cluster, "services", "web")["status"]["loadBalancer"]["ingress"].as_array().map_or(0, Vec::len)
    };
    settle(&mut cluster, Order::First, |_| {});
    assert_eq!(addresses(&mut cluster), 1);
    ok(&mut cluster, &merge("services", "web", json!({ "spec": { "type": "ClusterIP" } })));
    settle(&mut cluster, Order::First, |_| {});
    assert_eq!(addresses(&mut cluster), 0);
}
