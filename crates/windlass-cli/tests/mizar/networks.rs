//! Networks that come and go as their users ask for it.

use serde_json::{Value, json};
use windlass_mizar::api::{Bouncer, Divider, Endpoint, Phase, Subnet, Vpc};

use crate::cluster::{Cluster, until};
use crate::droplets::Droplets;
use crate::manager::Manager;

pub(crate) fn pod(name: &str, node: &str, annotations: Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": name, "annotations": annotations },
        "spec": { "nodeName": node, "containers": [{ "name": "main", "image": "main" }] },
    })
}

pub(crate) fn names(count: usize) -> Vec<String> {
    (1..=count).map(|number| format!("node{number}")).collect()
}

/// Deletes the default network and its VPC, and keeps the operators from making them again.
pub(crate) async fn delete_defaults(cluster: &Cluster) {
    cluster.apply(namespace(json!({ "windlass.dev/suspend": "true" }))).await;
    cluster.delete(subnet("net0", "10.20.0.0", json!(16), "vpc0")).await;
    until("net0 is gone", async || cluster.get::<Subnet>("net0").await.is_none()).await;
    cluster.delete(vpc("vpc0", "10.20.0.0", json!(16))).await;
    until("nothing is left", async || cluster.is_empty().await).await;
}

/// Ends the operators; the next ones make the defaults again.
pub(crate) async fn end(cluster: &Cluster, manager: Manager) {
    drop(manager);
    cluster.apply(namespace(json!({}))).await;
}

fn namespace(annotations: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "default", "annotations": annotations } })
}

pub(crate) fn vpc(name: &str, ip: &str, prefix: Value) -> Value {
    json!({
        "apiVersion": "mizar.com/v1", "kind": "Vpc", "metadata": { "name": name },
        "spec": { "ip": ip, "prefix": prefix },
    })
}

pub(crate) fn subnet(name: &str, ip: &str, prefix: Value, vpc: &str) -> Value {
    json!({
        "apiVersion": "mizar.com/v1", "kind": "Subnet", "metadata": { "name": name },
        "spec": { "ip": ip, "prefix": prefix, "vpc": vpc },
    })
}

/// Pods and a service without a word about networks get addresses in `net0`; the interface of each pod is in a file.
pub(crate) async fn pods_and_services_of_the_default_network(cluster: &Cluster) {
    let droplets = Droplets::start(cluster, names(3)).await;
    let manager = Manager::start(cluster);
    cluster.until_ready("Subnet", "net0").await;
    for (name, node) in [("web-a", "node1"), ("web-b", "node2")] {
        cluster.apply(pod(name, node, json!({}))).await;
    }
    cluster
        .apply(json!({
            "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web" },
            "spec": { "ports": [{ "name": "http", "port": 80, "targetPort": "http" }] },
        }))
        .await;
    let slice = |pods: &[&str]| {
        let endpoints: Vec<Value> = pods
            .iter()
            .map(|pod| json!({ "addresses": ["1.2.3.4"], "conditions": { "ready": true }, "targetRef": { "kind": "Pod", "name": pod, "namespace": "default" } }))
            .collect();
        json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": { "name": "web-1", "labels": { "kubernetes.io/service-name": "web" } },
            "addressType": "IPv4", "endpoints": endpoints, "ports": [{ "name": "http", "port": 8080, "protocol": "TCP" }],
        })
    };
    cluster.apply(slice(&["web-a", "web-b"])).await;
    for name in ["p-web-a", "p-web-b", "s-web"] {
        cluster.until_ready("Endpoint", name).await;
    }
    let address = async |name: &str| {
        cluster
            .get::<Endpoint>(name)
            .await
            .and_then(|endpoint| endpoint.state().address.ip)
            .expect("an address")
    };
    let mut expected = vec![address("p-web-a").await, address("p-web-b").await];
    expected.sort();
    let backends = async || {
        let service = cluster.get::<Endpoint>("s-web").await.expect("it is there");
        let mut ips: Vec<String> = service.spec.backends.iter().map(|backend| backend.ip.clone()).collect();
        ips.sort();
        ips
    };
    until("the service has both pods", async || backends().await == expected).await;
    cluster.until_tables_match(&droplets).await;
    cluster.until_workflows_are_finished().await;
    let result = droplets.results.path().join("node1/default_web-a_eth0.json");
    let result: Value = serde_json::from_slice(&std::fs::read(result).expect("a result")).expect("JSON");
    assert_eq!(result["ips"][0]["address"], format!("{}/16", address("p-web-a").await));
    // A service without backends has none, and a pod that is created again gets an endpoint again.
    cluster.apply(slice(&[])).await;
    until("the service has no backends", async || backends().await.is_empty()).await;
    cluster.delete(pod("web-a", "", json!({}))).await;
    cluster.apply(pod("web-a", "node3", json!({}))).await;
    until("the pod is on the other node", async || {
        let endpoint = cluster.get::<Endpoint>("p-web-a").await;
        endpoint.is_some_and(|endpoint| {
            endpoint.spec.droplet.as_deref() == Some("node3") && endpoint.state().phase == Phase::Provisioned
        })
    })
    .await;
    cluster.until_tables_match(&droplets).await;
    pods_of_one_name_in_two_namespaces(cluster, &address("p-web-b").await).await;
    for name in ["web-a", "web-b"] {
        cluster.delete(pod(name, "", json!({}))).await;
    }
    cluster.delete(json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web" } })).await;
    until("all endpoints are gone", async || cluster.all::<Endpoint>().await.is_empty()).await;
    cluster.delete(slice(&[])).await;
    delete_defaults(cluster).await;
    droplets.end(cluster, names(3)).await;
    end(cluster, manager).await;
}

/// The endpoint of a pod goes with this pod, and not with one of the same name elsewhere.
async fn pods_of_one_name_in_two_namespaces(cluster: &Cluster, address: &str) {
    let other = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "other" } });
    cluster.apply(other).await;
    let mut twin = pod("web-b", "node1", json!({}));
    twin["metadata"]["namespace"] = "other".into();
    cluster.apply(twin.clone()).await;
    let addresses = async || {
        let all = cluster.all::<Endpoint>().await;
        let twins = all.iter().filter(|one| one.metadata.name.as_deref() == Some("p-web-b"));
        twins.filter_map(|one| one.state().address.ip).collect::<Vec<_>>()
    };
    until("both have an address of their own", async || {
        let both = addresses().await;
        both.len() == 2 && both[0] != both[1]
    })
    .await;
    cluster.delete(twin).await;
    until("one of them is gone", async || addresses().await.len() == 1).await;
    assert_eq!(addresses().await, [address]);
}

/// What users of Mizar have in their files applies unmodified.
pub(crate) async fn manifests_of_mizars_users(cluster: &Cluster) {
    let droplets = Droplets::start(cluster, names(2)).await;
    let manager = Manager::start(cluster);
    cluster
        .apply(json!({
            "apiVersion": "mizar.com/v1", "kind": "Vpc", "metadata": { "name": "vpc1" },
            "spec": { "ip": "20.0.0.0", "prefix": "16", "dividers": 1, "vni": "1", "status": "Init" },
        }))
        .await;
    cluster
        .apply(json!({
            "apiVersion": "mizar.com/v1", "kind": "Subnet", "metadata": { "name": "net1" },
            "spec": { "vpc": "vpc1", "ip": "20.0.20.0", "prefix": "24", "bouncers": 1, "vni": "1", "status": "Init" },
        }))
        .await;
    cluster.until_ready("Subnet", "net1").await;
    assert_eq!(cluster.get::<Vpc>("vpc1").await.and_then(|vpc| vpc.state().vni), Some(1));
    cluster.until_tables_match(&droplets).await;
    cluster.delete(subnet("net1", "", json!(0), "")).await;
    cluster.delete(vpc("vpc1", "", json!(0))).await;
    until("vpc1 is gone", async || cluster.get::<Vpc>("vpc1").await.is_none()).await;
    delete_defaults(cluster).await;
    droplets.end(cluster, names(2)).await;
    end(cluster, manager).await;
}

/// Dividers and bouncers follow the counts of their VPC and network.
pub(crate) async fn dividers_and_bouncers_scale(cluster: &Cluster) {
    let droplets = Droplets::start(cluster, names(4)).await;
    let manager = Manager::start(cluster);
    cluster.until_ready("Subnet", "net0").await;
    cluster.apply(pod("scaled", "node4", json!({}))).await;
    cluster.until_ready("Endpoint", "p-scaled").await;
    for count in [3, 1, 2] {
        let mut scaled = vpc("vpc0", "10.20.0.0", json!(16));
        scaled["spec"]["dividers"] = count.into();
        cluster.apply(scaled).await;
        let mut scaled = subnet("net0", "10.20.0.0", json!(16), "vpc0");
        scaled["spec"]["bouncers"] = count.into();
        cluster.apply(scaled).await;
        let placed = async || {
            let mut droplets: Vec<String> =
                cluster.all::<Bouncer>().await.iter().filter_map(|one| one.state().droplet).collect();
            droplets.sort();
            droplets.dedup();
            droplets.len()
        };
        until(&format!("there are {count}, each bouncer on a droplet of its own"), async || {
            let dividers = cluster.all::<Divider>().await;
            let bouncers = cluster.all::<Bouncer>().await;
            let works = dividers.iter().all(|one| one.state().phase == Phase::Provisioned)
                && bouncers.iter().all(|one| one.state().phase == Phase::Provisioned);
            works && dividers.len() == count && bouncers.len() == count && placed().await == count
        })
        .await;
        cluster.until_tables_match(&droplets).await;
    }
    cluster.delete(pod("scaled", "", json!({}))).await;
    until("its endpoint is gone", async || cluster.all::<Endpoint>().await.is_empty()).await;
    delete_defaults(cluster).await;
    droplets.end(cluster, names(4)).await;
    end(cluster, manager).await;
}
