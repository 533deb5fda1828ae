//! A process that is stopped for a while and then goes on as if nothing had been.

use std::net::SocketAddr;
use std::path::Path;

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;
use tokio::net::TcpListener;
use two_configmaps::Pair;
use web_app::toy_dns::{self, SharedZone};
use web_app::{WebApp, web_app};

use super::process::Process;
use super::server::{Server, count_ready, create_pair, install, made, pairs};
use super::wire::Wire;
use crate::eventually::eventually;
use crate::served::Served;

/// While it is stopped its watches end, and much happens.
async fn caught_up(mut server: Server) {
    let client = server.client().await;
    install::<Pair>(&client).await;
    let mut process = Process::start(&server.kubeconfig(), &["two-configmaps"]);
    create_pair(&client, "a").await;
    create_pair(&client, "b").await;
    eventually("it works", async || count_ready(&client).await == 2).await;
    process.pause();
    tokio::task::block_in_place(|| server.kill_and_restart());
    create_pair(&client, "c").await;
    pairs(&client).delete("b", &Default::default()).await.expect("it is there");
    let patch = Patch::Merge(json!({"spec": {"value": "new"}}));
    pairs(&client).patch("a", &PatchParams::default(), &patch).await.expect("it is there");
    process.go_on();
    eventually("it has caught up", async || count_ready(&client).await == 2).await;
    let there = made(&client).await;
    assert!(["a-cm1", "a-cm2", "c-cm1", "c-cm2"].iter().all(|name| there.iter().any(|there| there == name)));
    assert!(process.is_running(), "{}", process.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn it_catches_up_on_the_embedded_server() {
    caught_up(Server::embedded()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_catches_up_on_kube_apiserver() {
    caught_up(tokio::task::block_in_place(Server::real)).await;
}

/// A DNS with a wire to it.
async fn dns(zone: &SharedZone, open: bool) -> Wire {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(toy_dns::serve(listener, zone.clone()));
    Wire::to(address, open).await
}

/// A candidate that reaches the server and the DNS over these wires.
fn candidate(served: &Served, folder: &Path, wire: &Wire, dns: &Wire) -> Process {
    let text = std::fs::read_to_string(served.kubeconfig()).expect("a kubeconfig");
    let kubeconfig = folder.join(wire.address().port().to_string());
    let direct = served.url().trim_start_matches("http://");
    std::fs::write(&kubeconfig, text.replace(direct, &wire.address().to_string())).expect("it is written");
    let url = format!("http://{}", dns.address());
    Process::start(&kubeconfig, &["web-app", "--lease", "default/web-app", "--dns", &url])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_was_stopped_does_nothing_more() {
    let served = Served::start(&["--insecure"]);
    let address: SocketAddr = served.url().trim_start_matches("http://").parse().expect("an address");
    let client = served.client().await;
    install::<WebApp>(&client).await;
    let (zone, folder) = (SharedZone::default(), tempfile::tempdir().expect("a temporary folder"));
    let (wires, names) = (
        [Wire::to(address, true).await, Wire::to(address, true).await],
        [dns(&zone, false).await, dns(&zone, true).await],
    );
    let leases: Api<Lease> = Api::namespaced(client.clone(), "default");
    let holder = async || {
        let lease = leases.get_opt("web-app").await.expect("an answer")?;
        lease.spec?.holder_identity
    };
    let leads = async |process: &Process| {
        let id = format!("_{}_", process.id());
        holder().await.is_some_and(|holder| holder.contains(&id))
    };
    let first = candidate(&served, folder.path(), &wires[0], &names[0]);
    eventually("the first leads", async || leads(&first).await).await;
    let second = candidate(&served, folder.path(), &wires[1], &names[1]);
    let apps: Api<WebApp> = Api::namespaced(client.clone(), "default");
    let mut app = web_app("shop");
    app.spec.exposed = true;
    apps.create(&PostParams::default(), &app).await.expect("an app");
    // It is in the middle of a reconcile, and waits for the DNS.
    eventually("the first has called", async || !names[0].requests().is_empty()).await;
    first.pause();
    eventually("the second leads", async || leads(&second).await).await;
    let is_ready = async || {
        let status = apps.get("shop").await.expect("an app").status.unwrap_or_default();
        status.conditions.iter().any(|condition| condition.r#type == "Ready" && condition.status == "True")
    };
    eventually("the second has done it", is_ready).await;
    let before = wires[0].writes();
    assert!(!before.is_empty(), "the first had begun");
    // Its answer arrives together with the end of its lease.
    names[0].open();
    first.go_on();
    eventually("it knows", async || first.log().contains("leader election lost, dropping active reconciles"))
        .await;
    eventually("it looks at the lease", async || {
        wires[0].requests().iter().rev().take(1).any(|line| line.contains("/leases"))
    })
    .await;
    assert_eq!(wires[0].writes(), before, "it wrote after its time");
    assert!(leads(&second).await);
}
