//! Processes that are configured in the cluster: managers with a type, and worker counts in a ConfigMap.

mod configured;
mod definitions;
mod heartbeats;
mod live;
mod starts;

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use two_configmaps::{Pair, TwoConfigMaps};
use windlass::{Cx, Declaration, Machine, Outcome, States, done};
use windlass_runtime::managers::{ManagerConfig, ManagerIdentity, definitions};
use windlass_runtime::operations::leader::Timing;
use windlass_runtime::{Manager, Running, StartError};

use crate::support::{Cluster, Embedded, Tap, eventually, manager};

const TYPES: (&str, &str) = ("ControllerManagerType", "controllermanagertypes");
const MANAGERS: (&str, &str) = ("ControllerManager", "controllermanagers");
const RINGS: (&str, &str) = ("ControllerRing", "controllerrings");

/// A second controller, which does nothing.
struct Second;

#[derive(States)]
enum Only {
    #[state(initial)]
    Only,
}

impl Machine for Second {
    type Parent = Pair;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.name("second");
    }

    async fn run(&self, _: Only, _: &Cx<Pair>) -> Outcome<Only> {
        done()
    }
}

/// A server that knows the kinds of managers.
async fn start_server() -> Embedded {
    let embedded = Embedded::start().await;
    install(&embedded.cluster).await;
    embedded
}

/// Installs the definitions, and waits until they are established.
async fn install(cluster: &Cluster) {
    let api: kube::Api<CustomResourceDefinition> = kube::Api::all(cluster.client.clone());
    for definition in definitions() {
        let definition: CustomResourceDefinition = serde_json::from_value(definition).expect("a definition");
        let created = api.create(&PostParams::default(), &definition).await.expect("it is accepted");
        let name = created.metadata.name.expect("a name");
        eventually(&format!("{name} is established"), async || {
            let status = api.get(&name).await.expect("it is there").status.unwrap_or_default();
            let conditions = status.conditions.unwrap_or_default();
            conditions.iter().any(|one| one.type_ == "Established" && one.status == "True")
        })
        .await;
    }
}

fn api(cluster: &Cluster, (kind, plural): (&str, &str)) -> kube::Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("windlass.dev", "v1alpha1", kind);
    kube::Api::all_with(cluster.client.clone(), &ApiResource::from_gvk_with_plural(&kind, plural))
}

/// Creates an object, or says why not.
async fn create(cluster: &Cluster, kind: (&str, &str), name: &str, spec: Value) -> Result<(), String> {
    let body = json!({
        "apiVersion": "windlass.dev/v1alpha1", "kind": kind.0, "metadata": { "name": name }, "spec": spec,
    });
    let object: DynamicObject = serde_json::from_value(body).expect("an object");
    let created = api(cluster, kind).create(&PostParams::default(), &object).await;
    created.map(drop).map_err(|error| error.to_string())
}

async fn create_type(cluster: &Cluster, name: &str, controllers: Value) {
    create(cluster, TYPES, name, json!({ "controllers": controllers })).await.expect("a type");
}

/// Changes the spec of an object.
async fn edit(cluster: &Cluster, kind: (&str, &str), name: &str, spec: Value) -> Result<(), String> {
    let patch = Patch::Merge(json!({ "spec": spec }));
    let edited = api(cluster, kind).patch(name, &PatchParams::default(), &patch).await;
    edited.map(drop).map_err(|error| error.to_string())
}

/// An object.
async fn get(cluster: &Cluster, kind: (&str, &str), name: &str) -> Value {
    let found = api(cluster, kind).get_opt(name).await.expect("an answer");
    found.map(|found| json!(found)).unwrap_or_default()
}

/// An identity whose Lease is in the namespace of the test.
fn identity(cluster: &Cluster, id: &str) -> ManagerIdentity {
    ManagerIdentity::new(id).in_namespace(&cluster.namespace)
}

/// For tests that wait for the end of a Lease. Not shorter: a machine that is busy must be able to renew it.
fn short() -> Timing {
    Timing {
        lease_duration: Duration::from_secs(3),
        renew_deadline: Duration::from_millis(2_500),
        retry_period: Duration::from_millis(200),
    }
}

/// A program with two controllers.
fn program(cluster: &Cluster, tap: &Tap) -> Manager {
    manager(cluster, tap).controller(TwoConfigMaps).controller(Second)
}

/// Starts a manager of a type.
async fn start(cluster: &Cluster, id: &str, manager_type: &str) -> Result<Running, StartError> {
    let identity = identity(cluster, id).of_type(manager_type);
    program(cluster, &Tap::new()).managed(ManagerConfig::Api(identity)).start().await
}

/// Why a program does not start.
async fn refusal(starting: impl Future<Output = Result<Running, StartError>>) -> String {
    match starting.await {
        Ok(_) => panic!("it starts"),
        Err(error) => error.to_string(),
    }
}

/// Waits until a controller has this number of workers.
async fn until_workers(running: &Running, controller: &str, workers: usize) {
    let handle = running.handle();
    let what = format!("{controller} has {workers} workers");
    eventually(&what, async || handle.workers(controller) == Some(workers)).await;
}
