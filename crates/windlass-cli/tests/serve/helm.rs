//! Helm on `windlass serve --workloads`: what `--wait` waits for comes.

use std::path::Path;
use std::process::Command;

use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use kube::api::Api;
use tempfile::TempDir;

use crate::served::Served;

const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/serve/helm/chart");

/// Runs Helm, which keeps what it keeps in a folder of its own. Returns whether it succeeded, and what it said.
fn helm(kubeconfig: &Path, home: &TempDir, arguments: &[&str]) -> (bool, String) {
    let program = std::env::var_os("WINDLASS_HELM").filter(|path| !path.is_empty());
    let program = program.expect("WINDLASS_HELM names no helm: `cargo xtask test` builds one");
    let output = Command::new(program)
        .args(arguments)
        .env("KUBECONFIG", kubeconfig)
        .env("HELM_CACHE_HOME", home.path())
        .env("HELM_CONFIG_HOME", home.path())
        .env("HELM_DATA_HOME", home.path())
        .output()
        .expect("helm can be started");
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    (output.status.success(), said.concat())
}

#[tokio::test]
async fn a_chart_is_installed_upgraded_and_removed() {
    let served = Served::start(&["--workloads"]);
    let home = TempDir::new().expect("a folder");
    let play = |arguments: &[&str]| {
        let (succeeded, said) = helm(&served.kubeconfig(), &home, arguments);
        assert!(succeeded, "helm {arguments:?}: {said}");
    };
    let client = served.client().await;
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), "default");
    let sets: Api<StatefulSet> = Api::namespaced(client.clone(), "default");
    let jobs: Api<Job> = Api::namespaced(client, "default");

    play(&["install", "one", CHART, "--wait", "--timeout", "120s"]);
    // When Helm returns, what it has waited for is so.
    let status = deployments.get("one-web").await.expect("the Deployment").status.expect("a status");
    assert_eq!(status.ready_replicas, Some(2));
    let status = sets.get("one-db").await.expect("the StatefulSet").status.expect("a status");
    assert_eq!(status.ready_replicas, Some(1));
    let status = jobs.get("one-prepare").await.expect("the hook").status.expect("a status");
    assert_eq!(status.succeeded, Some(1));

    play(&["upgrade", "one", CHART, "--set", "replicas=3,image=shop:2", "--wait", "--timeout", "120s"]);
    let status = deployments.get("one-web").await.expect("the Deployment").status.expect("a status");
    assert_eq!((status.updated_replicas, status.ready_replicas), (Some(3), Some(3)));

    play(&["rollback", "one", "1", "--wait", "--timeout", "120s"]);
    play(&["uninstall", "one", "--wait", "--timeout", "120s"]);
    assert!(deployments.get_opt("one-web").await.expect("an answer").is_none());
}

#[test]
fn without_workloads_helm_waits_in_vain() {
    let served = Served::start(&[]);
    let home = TempDir::new().expect("a folder");
    let (succeeded, said) = helm(
        &served.kubeconfig(),
        &home,
        &["install", "one", CHART, "--no-hooks", "--wait", "--timeout", "2s"],
    );
    assert!(!succeeded && said.contains("deadline"), "{said}");
}
