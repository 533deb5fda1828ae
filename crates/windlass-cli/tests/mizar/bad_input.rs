//! Mistakes of users: each is a clear condition that says what to do, and nothing else is harmed.

use serde_json::{Value, json};
use windlass_mizar::PROTOCOL;
use windlass_mizar::api::{Endpoint, Subnet, Vpc};
use windlass_mizar::daemon::{DaemonSettings, DropletDaemon};

use crate::cluster::{Cluster, until};
use crate::droplets::{Droplets, node};
use crate::manager::Manager;
use crate::networks::{delete_defaults, end, names, pod, subnet, vpc};

fn endpoint(name: &str, spec: Value) -> Value {
    json!({ "apiVersion": "mizar.com/v1", "kind": "Endpoint", "metadata": { "name": name }, "spec": spec })
}

pub(crate) async fn each_mistake_has_a_clear_condition(cluster: &Cluster) {
    let droplets = Droplets::start(cluster, names(2)).await;
    let manager = Manager::start(cluster);
    cluster.until_ready("Subnet", "net0").await;
    let says = async |kind: &str, name: &str, reason: &str, message: &str| {
        until(&format!("{kind} {name} says {reason}: {message}"), async || {
            let (status, found, text) = cluster.ready(kind, name).await;
            status == "False" && found == reason && text.contains(message)
        })
        .await;
    };
    let simple = |net: &str| json!({ "type": "simple", "vpc": "vpc0", "net": net });

    cluster.apply(subnet("other-vpc", "10.20.0.0", json!(24), "nowhere")).await;
    says("Subnet", "other-vpc", "VpcNotFound", "there is no VPC \"nowhere\"").await;
    cluster.apply(subnet("outside", "11.0.0.0", json!(24), "vpc0")).await;
    says("Subnet", "outside", "OutsideVpc", "11.0.0.0/24 is not within 10.20.0.0/16").await;
    cluster.apply(subnet("overlapping", "10.20.7.0", json!(24), "vpc0")).await;
    says("Subnet", "overlapping", "RangeOverlaps", "overlaps with the subnet net0").await;

    // A network with one address.
    cluster.apply(vpc("small", "30.0.0.0", json!(24))).await;
    cluster.apply(subnet("tiny", "30.0.0.0", json!(30), "small")).await;
    cluster.until_ready("Subnet", "tiny").await;
    let of_tiny = json!({ "type": "simple", "vpc": "small", "net": "tiny" });
    cluster.apply(endpoint("first", of_tiny.clone())).await;
    cluster.until_ready("Endpoint", "first").await;
    cluster.apply(endpoint("second", of_tiny)).await;
    says("Endpoint", "second", "SubnetFull", "all 1 addresses of the subnet \"tiny\"").await;
    cluster.delete(endpoint("first", json!({}))).await;
    cluster.until_ready("Endpoint", "second").await;

    let taken = cluster.get::<Vpc>("small").await.and_then(|vpc| vpc.state().vni).expect("a VNI");
    let mut greedy = vpc("greedy", "31.0.0.0", json!(24));
    greedy["spec"]["vni"] = taken.into();
    cluster.apply(greedy).await;
    cluster.until_ready("Vpc", "greedy").await;
    let greedy = cluster.get::<Vpc>("greedy").await.expect("it is there");
    assert_ne!(greedy.state().vni, Some(taken));
    let conditions = greedy.status.map(|status| status.machine.conditions).unwrap_or_default();
    assert!(conditions.iter().any(|one| one.r#type == "RequestedVniTaken" && one.status == "True"));

    let mut elsewhere = simple("net0");
    elsewhere["ip"] = "10.21.0.9".into();
    cluster.apply(endpoint("elsewhere", elsewhere)).await;
    says("Endpoint", "elsewhere", "AddressNotUsable", "it is not in 10.20.0.0/16").await;
    cluster.apply(pod("lost", "node1", json!({ "mizar.com/subnet": "nowhere" }))).await;
    says("Endpoint", "p-lost", "NetworkNotFound", "there is no subnet \"nowhere\"").await;

    // The daemon of another droplet answers at the address of this one.
    let stranger = DropletDaemon::start(DaemonSettings::new("somebody-else")).await.expect("a free port");
    let address = stranger.address().to_string();
    cluster.apply(node("node9", &address)).await;
    says("Droplet", "node9", "DaemonMismatch", "is that of the droplet \"somebody-else\"").await;

    // A daemon that was not upgraded with the operators, or before them.
    let settings = DaemonSettings { protocol: PROTOCOL + 1, ..DaemonSettings::new("node8") };
    let newer = DropletDaemon::start(settings).await.expect("a free port");
    cluster.apply(node("node8", &newer.address().to_string())).await;
    says("Droplet", "node8", "DaemonMismatch", "its daemon speaks version 2 of the protocol").await;

    for name in ["elsewhere", "second"] {
        cluster.delete(endpoint(name, json!({}))).await;
    }
    cluster.delete(pod("lost", "", json!({}))).await;
    until("all endpoints are gone", async || cluster.all::<Endpoint>().await.is_empty()).await;
    for name in ["other-vpc", "outside", "overlapping", "tiny"] {
        cluster.delete(subnet(name, "", json!(0), "")).await;
    }
    until("the subnets are gone", async || cluster.all::<Subnet>().await.len() == 1).await;
    for name in ["small", "greedy"] {
        cluster.delete(vpc(name, "", json!(0))).await;
    }
    delete_defaults(cluster).await;
    for name in ["node8", "node9"] {
        cluster.delete(node(name, "")).await;
    }
    droplets.end(cluster, names(2)).await;
    stranger.shutdown().await;
    newer.shutdown().await;
    end(cluster, manager).await;
}
