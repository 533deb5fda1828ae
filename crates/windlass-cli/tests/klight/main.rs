//! klight end to end: the controller as a process that is killed, pods as objects, and real lightpeers on loopback. The
//! same scenarios run on the embedded server and on a real kube-apiserver.

mod controller;
mod encrypted;
mod faulty;
mod forming;
mod namespace;

use conformance::kubernetes::Kubernetes;
use windlass_server::{Server, ServerOptions, TlsSource};

use namespace::Cluster;

#[tokio::test(flavor = "multi_thread")]
async fn on_the_embedded_server() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = ServerOptions { tls: TlsSource::Off, ..ServerOptions::default() };
    let server = Server::start(options).await.expect("the server starts");
    let kubeconfig = folder.path().join("kubeconfig");
    server.kubeconfig().write(&kubeconfig).expect("a kubeconfig");
    all(&Cluster::new(&kubeconfig).await).await;
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_real_kube_apiserver() {
    let kubernetes =
        tokio::task::spawn_blocking(Kubernetes::start).await.expect("no panic").expect("it starts");
    all(&Cluster::new(&kubernetes.kubeconfig()).await).await;
    tokio::task::spawn_blocking(move || drop(kubernetes)).await.expect("it ends");
}

async fn all(cluster: &Cluster) {
    forming::thirty_peers_while_the_controller_is_killed(&cluster.namespace("forming").await).await;
    forming::a_killed_contact_is_forgotten_and_its_network_goes_on(&cluster.namespace("repair").await).await;
    forming::an_id_in_two_namespaces_is_two_networks(cluster).await;
    encrypted::only_peers_of_the_trusted_authority_join(&cluster.namespace("encrypted").await).await;
    faulty::faulty_pods_are_reported_and_delay_no_other_network(&cluster.namespace("faulty").await).await;
}
