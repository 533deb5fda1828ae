//! mizar end to end: the operators as a process that is killed, real daemons on loopback, and objects as users write them.
//! The same scenarios run on the embedded server and on a real kube-apiserver.

mod bad_input;
mod cluster;
mod droplets;
mod garbage;
mod journal;
mod manager;
mod networks;
mod steps;
mod survival;
mod workflows;

use conformance::kubernetes::Kubernetes;
use windlass_server::{Server, ServerOptions, TlsSource};

use cluster::Cluster;

#[tokio::test(flavor = "multi_thread")]
async fn on_the_embedded_server() {
    on_an_embedded_server(1, 300, 10).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_three_managers_that_share_the_objects() {
    on_an_embedded_server(3, 60, 3).await;
}

async fn on_an_embedded_server(instances: usize, endpoints: usize, kills: usize) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = ServerOptions { tls: TlsSource::Off, ..ServerOptions::default() };
    let server = Server::start(options).await.expect("the server starts");
    let kubeconfig = folder.path().join("kubeconfig");
    server.kubeconfig().write(&kubeconfig).expect("a kubeconfig");
    let cluster = Cluster { instances, ..Cluster::new(&kubeconfig).await };
    all(&cluster, endpoints, kills).await;
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_real_kube_apiserver() {
    let kubernetes =
        tokio::task::spawn_blocking(Kubernetes::start).await.expect("no panic").expect("it starts");
    let cluster = Cluster::new(&kubernetes.kubeconfig()).await;
    // The service of the API server itself would have an endpoint for as long as there is a network.
    cluster
        .apply(serde_json::json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": { "name": "kubernetes", "annotations": { "windlass.dev/suspend": "true" } },
        }))
        .await;
    let collector = garbage::collect(&cluster);
    all(&cluster, 60, 3).await;
    collector.abort();
    tokio::task::spawn_blocking(move || drop(kubernetes)).await.expect("it ends");
}

async fn all(cluster: &Cluster, endpoints: usize, kills: usize) {
    networks::pods_and_services_of_the_default_network(cluster).await;
    workflows::follow_the_documents(cluster).await;
    networks::manifests_of_mizars_users(cluster).await;
    networks::dividers_and_bouncers_scale(cluster).await;
    bad_input::each_mistake_has_a_clear_condition(cluster).await;
    survival::operators_are_killed_and_droplets_are_lost(cluster, endpoints, kills).await;
}
