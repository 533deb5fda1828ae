//! What is there before the first instance starts: definitions, a namespace, and the parents.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    Api, ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams,
};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::task::{Task, TaskSpec};

/// The namespace with all objects and leases.
pub const NAMESPACE: &str = "chaos";
/// Parents that are created at the same time.
const CREATED_TOGETHER: usize = 16;
const SERVED_WITHIN: Duration = Duration::from_secs(60);
const ASK_EVERY: Duration = Duration::from_millis(50);

/// The kind of the ring.
pub fn ring_resource() -> ApiResource {
    let kind = GroupVersionKind::gvk("windlass.dev", "v1alpha1", "ControllerRing");
    ApiResource::from_gvk_with_plural(&kind, "controllerrings")
}

/// The name of a parent.
pub fn task_name(number: usize) -> String {
    format!("task-{number:04}")
}

/// Applies the definitions that the program prints, and creates the namespace.
///
/// # Errors
/// If the program prints none, or the server refuses one.
pub async fn prepare(client: &kube::Client, tasks_program: &Path) -> Result<()> {
    let namespace = Patch::Apply(json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE },
    }));
    Api::<Namespace>::all(client.clone()).patch(NAMESPACE, &manager(), &namespace).await?;
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in
        printed(tasks_program, &["crd"])?.into_iter().chain(printed(tasks_program, &["crd", "--sharding"])?)
    {
        let name = definition.metadata.name.clone().context("a definition without a name")?;
        definitions.patch(&name, &manager(), &Patch::Apply(definition)).await?;
    }
    is_served(Api::<DynamicObject>::all_with(client.clone(), &ring_resource())).await?;
    is_served(Api::namespaced_with(client.clone(), NAMESPACE, &ApiResource::erase::<Task>(&()))).await
}

fn manager() -> PatchParams {
    PatchParams::apply("chaos").force()
}

/// The definitions that a command of the program prints.
fn printed(program: &Path, arguments: &[&str]) -> Result<Vec<CustomResourceDefinition>> {
    let output = Command::new(program).args(arguments).output().context("cannot start chaos-tasks")?;
    if !output.status.success() {
        bail!("chaos-tasks {} failed: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    let text = String::from_utf8(output.stdout).context("chaos-tasks prints no UTF-8")?;
    let documents = text.split("\n---").map(|document| document.trim_start_matches("---"));
    let documents = documents.filter(|document| !document.trim().is_empty());
    documents.map(|document| serde_saphyr::from_str(document).context("a definition is not YAML")).collect()
}

/// Waits until the server knows a kind whose definition it has got.
async fn is_served(api: Api<DynamicObject>) -> Result<()> {
    let served = async {
        while api.list(&ListParams::default().limit(1)).await.is_err() {
            sleep(ASK_EVERY).await;
        }
    };
    timeout(SERVED_WITHIN, served).await.context("the server does not serve a kind that was defined")
}

/// Creates the parents: the first has the value 1, the last their number.
///
/// # Errors
/// If the server refuses one.
pub async fn create_parents(client: &kube::Client, objects: usize) -> Result<()> {
    let tasks: Api<Task> = Api::namespaced(client.clone(), NAMESPACE);
    let create = |number| {
        let (tasks, task) = (&tasks, Task::new(&task_name(number), TaskSpec { value: number as u64 + 1 }));
        async move { tasks.create(&PostParams::default(), &task).await.map(drop) }
    };
    let created = stream::iter(0..objects).map(create).buffer_unordered(CREATED_TOGETHER);
    created.try_collect::<()>().await.context("cannot create a parent")
}
