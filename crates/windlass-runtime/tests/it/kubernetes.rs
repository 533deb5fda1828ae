//! The same scenarios on a real kube-apiserver.

use conformance::kubernetes::Kubernetes;

use crate::rules::{deletion, outcomes, outputs, reporting, triggers, writers};
use crate::support::client_of;
use crate::{contests, declared, scenarios, sharding};

/// Performs scenarios on a server of their own.
async fn perform(all: impl AsyncFn(&kube::Client)) {
    let kubernetes =
        tokio::task::spawn_blocking(Kubernetes::start).await.expect("no panic").expect("it starts");
    let client = client_of(&kubernetes.kubeconfig()).await;
    all(&client).await;
    tokio::task::spawn_blocking(move || drop(kubernetes)).await.expect("it ends");
}

#[tokio::test]
async fn all_scenarios() {
    perform(async |client| {
        scenarios::all(client).await;
        contests::all(client).await;
        declared::all(client).await;
        sharding::all(client).await;
    })
    .await;
}

#[tokio::test]
async fn all_rules() {
    perform(async |client| {
        outcomes::all(client).await;
        outputs::all(client).await;
        deletion::all(client).await;
        triggers::all(client).await;
        writers::all(client).await;
        reporting::all(client).await;
    })
    .await;
}
