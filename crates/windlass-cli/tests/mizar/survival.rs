//! The operators are killed again and again, and droplets are lost: the end is the same, and no address has changed.

use std::collections::BTreeMap;

use serde_json::json;
use windlass_mizar::api::{Bouncer, Endpoint, Phase};

use crate::cluster::{Cluster, until};
use crate::droplets::Droplets;
use crate::manager::Manager;
use crate::networks::{delete_defaults, end, names, pod, subnet};

const DROPLETS: usize = 8;
const LOST: [&str; 3] = ["node2", "node5", "node7"];

pub(crate) async fn operators_are_killed_and_droplets_are_lost(
    cluster: &Cluster,
    endpoints: usize,
    kills: usize,
) {
    let mut droplets = Droplets::start(cluster, names(DROPLETS)).await;
    let mut manager = Manager::start(cluster);
    cluster.until_ready("Subnet", "net0").await;
    let mut scaled = subnet("net0", "10.20.0.0", json!(16), "vpc0");
    scaled["spec"]["bouncers"] = 2.into();
    cluster.apply(scaled).await;
    let hosts: Vec<String> =
        names(DROPLETS).into_iter().filter(|name| !LOST.contains(&name.as_str())).collect();
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    let mut losing = LOST.iter();
    for number in 0..endpoints {
        cluster.apply(pod(&format!("load-{number}"), &hosts[number % hosts.len()], json!({}))).await;
        // Spread over the whole time, wherever the operators are just then.
        if (number + 1) % (endpoints / kills) == 0 {
            manager.kill_and_restart(cluster);
            remember(cluster, &mut seen).await;
            if let Some(name) = losing.next() {
                droplets.lose(name).await;
            }
        }
    }
    manager.lose_one();
    until("all endpoints are provisioned", async || {
        let all = cluster.all::<Endpoint>().await;
        all.len() == endpoints && all.iter().all(|one| one.state().phase == Phase::Provisioned)
    })
    .await;
    remember(cluster, &mut seen).await;
    let mut addresses: Vec<&String> = seen.values().collect();
    addresses.sort();
    addresses.dedup();
    assert_eq!((seen.len(), addresses.len()), (endpoints, endpoints), "an address was given out twice");
    until("no bouncer is on a lost droplet", async || {
        let bouncers = cluster.all::<Bouncer>().await;
        bouncers.iter().all(|one| {
            let state = one.state();
            state.phase == Phase::Provisioned
                && !state.droplet.is_some_and(|droplet| LOST.contains(&droplet.as_str()))
        })
    })
    .await;
    cluster.until_tables_match(&droplets).await;
    // In an order that is neither that of their creation nor the reverse: the step has no factor in common with the number.
    let step = (7..).find(|step| !endpoints.is_multiple_of(*step)).unwrap_or(1);
    for number in (0..endpoints).map(|number| number * step % endpoints) {
        cluster.delete(pod(&format!("load-{number}"), "", json!({}))).await;
    }
    until("all endpoints are gone", async || cluster.all::<Endpoint>().await.is_empty()).await;
    delete_defaults(cluster).await;
    droplets.end(cluster, names(DROPLETS)).await;
    end(cluster, manager).await;
}

/// No address may differ from what it was before.
async fn remember(cluster: &Cluster, seen: &mut BTreeMap<String, String>) {
    for endpoint in cluster.all::<Endpoint>().await {
        let Some(ip) = endpoint.state().address.ip else { continue };
        let name = endpoint.metadata.name.clone().unwrap_or_default();
        let before = seen.insert(name.clone(), ip.clone());
        assert!(before.is_none_or(|before| before == ip), "the address of {name} has changed");
    }
}
