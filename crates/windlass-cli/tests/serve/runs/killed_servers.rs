//! An API server that is killed and comes back while a controller works.

use super::process::Process;
use super::server::{Server, count_ready, create_pair, install, made};
use crate::eventually::eventually;
use two_configmaps::Pair;

const PAIRS: usize = 30;

/// The controller goes on; nothing is lost, and nothing is made twice.
async fn survived(mut server: Server) {
    let client = server.client().await;
    install::<Pair>(&client).await;
    let mut process = Process::start(&server.kubeconfig(), &["two-configmaps"]);
    let names: Vec<String> = (0..PAIRS).map(|number| format!("p{number:02}")).collect();
    for some in names.chunks(PAIRS / 3) {
        for name in some {
            create_pair(&client, name).await;
        }
        // It has just begun with the last of them.
        tokio::task::block_in_place(|| server.kill_and_restart());
    }
    eventually("all are ready", async || count_ready(&client).await == PAIRS).await;
    let expected: Vec<String> =
        names.iter().flat_map(|name| [format!("{name}-cm1"), format!("{name}-cm2")]).collect();
    assert_eq!(made(&client).await, expected);
    assert!(process.is_running(), "{}", process.log());
    assert!(!process.log().contains("panicked"), "{}", process.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_embedded_server_is_killed() {
    survived(Server::embedded()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kube_apiserver_is_killed() {
    survived(tokio::task::block_in_place(Server::real)).await;
}
