//! `windlass serve --workloads`: what clients wait for comes, and survives the death of the server.

use std::time::Duration;

use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kube::Resource;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::{Condition, await_condition, conditions};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::served::Served;

/// Longer than any of this takes on a busy machine; a server that does not do it would hang the test.
const SOON: Duration = Duration::from_secs(120);

fn object<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("it has this shape")
}

fn template(image: &str, restarts: &str) -> Value {
    json!({
        "metadata": { "labels": { "app": "web" } },
        "spec": { "restartPolicy": restarts, "containers": [{ "name": "main", "image": image }] },
    })
}

fn set_spec(replicas: i32) -> Value {
    let selector = json!({ "matchLabels": { "app": "web" } });
    json!({ "replicas": replicas, "selector": selector, "template": template("web:1", "Always") })
}

async fn until<K>(api: Api<K>, name: &str, condition: impl Condition<K>)
where
    K: Clone + std::fmt::Debug + Send + DeserializeOwned + Resource + 'static,
{
    let waited = tokio::time::timeout(SOON, await_condition(api, name, condition)).await;
    waited.unwrap_or_else(|_| panic!("{name} did not come in time")).expect("it can be watched");
}

async fn create<K>(api: &Api<K>, value: Value) -> K
where
    K: Clone + std::fmt::Debug + DeserializeOwned + serde::Serialize,
{
    api.create(&PostParams::default(), &object(value)).await.expect("created")
}

#[tokio::test]
async fn a_deployment_rolls_out_and_goes_with_its_pods() {
    let served = Served::start(&["--workloads"]);
    let client = served.client().await;
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), "default");
    let pods: Api<Pod> = Api::namespaced(client, "default");
    create(&deployments, json!({ "metadata": { "name": "web" }, "spec": set_spec(3) })).await;
    until(deployments.clone(), "web", conditions::is_deployment_completed()).await;
    let update = json!({ "spec": { "template": { "spec": { "containers": [{ "name": "main", "image": "web:2" }] } } } });
    deployments.patch("web", &PatchParams::default(), &Patch::Strategic(update)).await.expect("patched");
    let is_updated = |found: Option<&Deployment>| {
        let Some(found) = found else { return false };
        let status = found.status.clone().unwrap_or_default();
        status.observed_generation == found.metadata.generation
            && status.replicas == Some(3)
            && status.updated_replicas == Some(3)
            && status.available_replicas == Some(3)
    };
    until(deployments.clone(), "web", is_updated).await;
    let running = pods.list(&ListParams::default()).await.expect("a list").items;
    let active: Vec<&Pod> = running.iter().filter(|pod| pod.metadata.deletion_timestamp.is_none()).collect();
    let name = active.first().and_then(|pod| pod.metadata.name.clone()).expect("there are pods");
    assert_eq!(active.len(), 3);
    let uid = active[0].metadata.uid.clone().expect("a uid");
    deployments.delete("web", &DeleteParams::default()).await.expect("deleted");
    until(pods, &name, conditions::is_deleted(&uid)).await;
}

#[tokio::test]
async fn a_job_completes_and_a_claim_is_bound() {
    let served = Served::start(&["--workloads"]);
    let client = served.client().await;
    let jobs: Api<Job> = Api::namespaced(client.clone(), "default");
    let spec = json!({ "completions": 2, "template": template("work", "Never") });
    create(&jobs, json!({ "metadata": { "name": "once" }, "spec": spec })).await;
    until(jobs, "once", conditions::is_job_completed()).await;
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(client, "default");
    let spec = json!({ "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } });
    create(&claims, json!({ "metadata": { "name": "data" }, "spec": spec })).await;
    let is_bound = |found: Option<&PersistentVolumeClaim>| {
        let status = found.and_then(|claim| claim.status.as_ref());
        status.and_then(|status| status.phase.as_deref()) == Some("Bound")
    };
    until(claims, "data", is_bound).await;
}

#[tokio::test]
async fn a_rollout_goes_on_after_the_server_was_killed() {
    let data = tempfile::tempdir().expect("a folder");
    let folder = data.path().to_str().expect("UTF-8").to_owned();
    let arguments = ["--workloads", "--data", folder.as_str()];
    let served = Served::start(&arguments);
    let sets: Api<StatefulSet> = Api::namespaced(served.client().await, "default");
    let mut spec = set_spec(3);
    spec["serviceName"] = json!("web");
    create(&sets, json!({ "metadata": { "name": "web" }, "spec": spec })).await;
    let has_begun = |found: Option<&StatefulSet>| found.is_some_and(|set| set.status.is_some());
    until(sets, "web", has_begun).await;
    let served = served.restart(&arguments);
    let sets: Api<StatefulSet> = Api::namespaced(served.client().await, "default");
    let is_ready = |found: Option<&StatefulSet>| {
        let status = found.and_then(|set| set.status.as_ref());
        status.is_some_and(|status| status.ready_replicas == Some(3))
    };
    until(sets, "web", is_ready).await;
    let pods: Api<Pod> = Api::namespaced(served.client().await, "default");
    let names: Vec<_> = pods.list(&ListParams::default()).await.expect("a list").items;
    let names: Vec<_> = names.iter().filter_map(|pod| pod.metadata.name.as_deref()).collect();
    assert_eq!(names, ["web-0", "web-1", "web-2"]);
}

#[tokio::test]
async fn without_workloads_nothing_runs() {
    let served = Served::start(&[]);
    let client = served.client().await;
    let pods: Api<Pod> = Api::namespaced(client, "default");
    let spec = json!({ "containers": [{ "name": "main", "image": "web" }] });
    create(&pods, json!({ "metadata": { "name": "bare" }, "spec": spec })).await;
    // A second write, which the loops have seen once its own consequence is there.
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(served.client().await);
    let made = create(&namespaces, json!({ "metadata": { "name": "short" } })).await;
    namespaces.delete("short", &DeleteParams::default()).await.expect("deleted");
    until(namespaces, "short", conditions::is_deleted(&made.metadata.uid.expect("a uid"))).await;
    let bare = pods.get("bare").await.expect("it is there");
    assert_eq!(bare.status.and_then(|status| status.phase).as_deref(), Some("Pending"));
}
