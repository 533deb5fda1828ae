//! A StatefulSet is scaled from 1 to 5 and to 2, and the test starts and stops the processes in its place.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use chaos::audit::Auditor;
use chaos::fleet::Fleet;
use chaos::plan::Plan;
use chaos::run::Stage;
use chaos::servers::client;
use chaos::setup::NAMESPACE;
use chaos::witness::Witness;
use futures::StreamExt;
use k8s_openapi::api::apps::v1::StatefulSet;
use kube::api::{Api, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use serde_json::json;

use crate::{machine, plan, programs};

/// Edits per second: all objects are edited within a few seconds.
const EDITS: u32 = 40;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scaling_loses_no_reconcile_and_doubles_none() -> Result<()> {
    let _machine = machine().await;
    let plan = Plan { instances: 1, objects: 60, ..plan(3) };
    let mut stage = Stage::set(&plan, &programs()).await?;
    let client = client(stage.fleet.servers().access()).await?;
    let sets: Api<StatefulSet> = Api::namespaced(client, NAMESPACE);
    sets.create(&PostParams::default(), &stateful_set()?).await?;
    stage.fleet.scale(1).await?;
    stage.wait_for_children().await?;

    let Stage { fleet, witness, editor, .. } = &mut stage;
    let scaled = scale_up_and_down(&sets, fleet, witness);
    tokio::select! {
        scaled = scaled => scaled?,
        edited = editor.edit(EDITS) => edited?,
    }
    let (report, _fleet) = stage.finish().await;
    println!("{report}");
    ensure!(report.is_good(), "rules were violated, see above");
    ensure!(report.findings.moved_slots > 0, "no slot changed hands");
    Ok(())
}

/// Each time until all objects were written by those who own them now.
async fn scale_up_and_down(sets: &Api<StatefulSet>, fleet: &mut Fleet, witness: &mut Witness) -> Result<()> {
    for replicas in [5, 2] {
        scale(sets, fleet, replicas).await?;
        fleet.scale(replicas_seen(sets, replicas).await?).await?;
        let names: BTreeSet<String> = (0..replicas).map(|number| format!("app-{number}")).collect();
        witness.wait_until(|auditor: &Auditor| auditor.writers() == names).await;
    }
    Ok(())
}

/// With kubectl, where it is there; otherwise with the request that it sends.
async fn scale(sets: &Api<StatefulSet>, fleet: &Fleet, replicas: usize) -> Result<()> {
    let Some(assets) = conformance::kubernetes::assets() else {
        let scale = Patch::Merge(json!({ "spec": { "replicas": replicas } }));
        sets.patch_scale("app", &PatchParams::default(), &scale).await?;
        return Ok(());
    };
    let folder = conformance::process::Folder::new("kubectl")?;
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, fleet.servers().access().kubeconfig())?;
    let mut kubectl = Command::new(assets.join("kubectl"));
    kubectl.arg("--kubeconfig").arg(&kubeconfig).args(["--namespace", NAMESPACE]);
    let status =
        kubectl.args(["scale", "statefulset", "app", "--replicas", &replicas.to_string()]).status()?;
    ensure!(status.success(), "kubectl scale ended with {status}");
    Ok(())
}

/// What the StatefulSet asks for, once that is what it was scaled to.
async fn replicas_seen(sets: &Api<StatefulSet>, expected: usize) -> Result<usize> {
    let mut events = std::pin::pin!(sets.watch(&WatchParams::default(), "0").await?);
    while let Some(event) = events.next().await {
        if let WatchEvent::Added(set) | WatchEvent::Modified(set) = event? {
            let replicas = set.spec.replicas.unwrap_or_default();
            if usize::try_from(replicas)? == expected {
                return Ok(expected);
            }
        }
    }
    Err(anyhow::anyhow!("the watch ended")).context("the StatefulSet was not scaled")
}

fn stateful_set() -> Result<StatefulSet> {
    let set = json!({
        "metadata": { "name": "app" },
        "spec": {
            "replicas": 1,
            "serviceName": "app",
            "selector": { "matchLabels": { "app": "app" } },
            "template": {
                "metadata": { "labels": { "app": "app" } },
                "spec": { "containers": [{ "name": "app", "image": "app" }] },
            },
        },
    });
    Ok(serde_json::from_value(set)?)
}
