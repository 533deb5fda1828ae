//! The same scenarios on a real kube-apiserver.

use conformance::kubernetes::Kubernetes;

use crate::support::client_of;
use crate::{contests, declared, scenarios};

#[tokio::test]
async fn all_scenarios() {
    let kubernetes =
        tokio::task::spawn_blocking(Kubernetes::start).await.expect("no panic").expect("it starts");
    let client = client_of(&kubernetes.kubeconfig()).await;
    scenarios::all(&client).await;
    contests::all(&client).await;
    declared::all(&client).await;
    tokio::task::spawn_blocking(move || drop(kubernetes)).await.expect("it ends");
}
