//! Edits of types and managers take effect while the process runs.

use kube::api::{DeleteParams, ListParams};

use super::*;

fn both(first: u32, second: u32) -> Value {
    json!([{ "type": "two-configmaps", "workers": first }, { "type": "second", "workers": second }])
}

/// The reasons of the Events about a manager.
async fn event_reasons(cluster: &Cluster) -> Vec<String> {
    let events: kube::Api<k8s_openapi::api::events::v1::Event> =
        kube::Api::namespaced(cluster.client.clone(), "default");
    let list = events.list(&ListParams::default()).await.expect("events");
    let about = list.items.into_iter().filter(|event| {
        event.regarding.as_ref().and_then(|about| about.kind.as_deref()) == Some("ControllerManager")
    });
    about.filter_map(|event| event.reason).collect()
}

#[tokio::test]
async fn edits_of_type_and_manager_change_worker_counts() {
    let embedded = start_server().await;
    let cluster = &embedded.cluster;
    create_type(cluster, "pods", both(5, 10)).await;
    let running = start(cluster, "uuid1", "pods").await.expect("it starts");
    let handle = running.handle();
    assert_eq!((handle.workers("two-configmaps"), handle.workers("second")), (Some(5), Some(10)));
    let object = get(cluster, MANAGERS, "uuid1").await;
    assert_eq!(object["spec"], json!({ "controllerManagerType": "pods" }));
    // Its own counts override those of the type.
    let own = json!([{ "type": "second", "workers": 2 }]);
    edit(cluster, MANAGERS, "uuid1", json!({ "controllers": own })).await.expect("an edit");
    until_workers(&running, "second", 2).await;
    edit(cluster, TYPES, "pods", json!({ "controllers": both(7, 20) })).await.expect("an edit");
    until_workers(&running, "two-configmaps", 7).await;
    assert_eq!(handle.workers("second"), Some(2));
    // Without its own, those of the type count again.
    edit(cluster, MANAGERS, "uuid1", json!({ "controllers": null })).await.expect("an edit");
    until_workers(&running, "second", 20).await;
    // Another type.
    create_type(cluster, "jobs", both(1, 0)).await;
    edit(cluster, MANAGERS, "uuid1", json!({ "controllerManagerType": "jobs" })).await.expect("an edit");
    until_workers(&running, "second", 0).await;
    until_workers(&running, "two-configmaps", 1).await;
    running.stop().await;
}

#[tokio::test]
async fn worker_count_of_zero_pauses_and_another_resumes() {
    let embedded = start_server().await;
    let cluster = &embedded.cluster;
    create_type(cluster, "pods", both(0, 1)).await;
    let running = start(cluster, "uuid1", "pods").await.expect("it starts");
    let reconciles = || {
        let text = running.handle().metrics().text();
        let sum = |name: &str| {
            let lines = text.lines().filter(|line| line.starts_with("controller_runtime_reconcile_total{"));
            let lines = lines.filter(|line| line.contains(&format!("controller=\"{name}\"")));
            lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum::<u64>()
        };
        (sum("two-configmaps"), sum("second"))
    };
    cluster.create_pair("a").await;
    eventually("the other controller works", async || reconciles().1 > 0).await;
    assert_eq!(reconciles().0, 0);
    assert_eq!(cluster.value_of("a-cm1").await, None);
    edit(cluster, TYPES, "pods", json!({ "controllers": both(1, 1) })).await.expect("an edit");
    cluster.until_ready("a").await;
    // A controller that is removed from the type pauses too.
    let first = json!([{ "type": "two-configmaps", "workers": 1 }]);
    edit(cluster, TYPES, "pods", json!({ "controllers": first })).await.expect("an edit");
    until_workers(&running, "second", 0).await;
    running.stop().await;
}

#[tokio::test]
async fn what_cannot_take_effect_is_reported_and_the_rest_is_applied() {
    let embedded = start_server().await;
    let cluster = &embedded.cluster;
    create_type(cluster, "pods", json!([{ "type": "second", "workers": 3 }])).await;
    let running = start(cluster, "uuid1", "pods").await.expect("it starts");
    let handle = running.handle();
    // A controller that is not named does not start.
    assert_eq!(handle.controllers().collect::<Vec<_>>(), ["second"]);
    let controllers = json!([
        { "type": "second", "workers": 4 }, { "type": "two-configmaps", "workers": 1 }, { "type": "cron", "workers": 1 },
    ]);
    edit(cluster, TYPES, "pods", json!({ "controllers": controllers })).await.expect("an edit");
    until_workers(&running, "second", 4).await;
    let own = json!([{ "type": "second", "workers": 6 }, { "type": "stranger", "workers": 1 }]);
    edit(cluster, MANAGERS, "uuid1", json!({ "controllers": own })).await.expect("an edit");
    until_workers(&running, "second", 6).await;
    assert_eq!(handle.workers("two-configmaps"), None);
    api(cluster, TYPES).delete("pods", &DeleteParams::default()).await.expect("it is deleted");
    for reason in ["RestartNeeded", "UnknownController", "NotInType", "TypeMissing"] {
        let what = format!("an Event of {reason}");
        eventually(&what, async || event_reasons(cluster).await.contains(&reason.to_owned())).await;
    }
    assert_eq!(handle.workers("second"), Some(6), "the counts stay as they were");
    running.stop().await;
}

/// Whether its type was given to the process, or found in the object.
#[tokio::test]
async fn deleted_manager_is_created_again() {
    let embedded = start_server().await;
    let cluster = &embedded.cluster;
    create_type(cluster, "pods", both(1, 1)).await;
    for is_given in [true, false] {
        let identity = identity(cluster, "uuid1");
        let identity = if is_given { identity.of_type("pods") } else { identity };
        let config = ManagerConfig::Api(identity);
        let running = program(cluster, &Tap::new()).managed(config).start().await.expect("it starts");
        let before = get(cluster, MANAGERS, "uuid1").await["metadata"]["uid"].clone();
        api(cluster, MANAGERS).delete("uuid1", &DeleteParams::default()).await.expect("it is deleted");
        eventually("it is there again, and alive", async || {
            let now = get(cluster, MANAGERS, "uuid1").await;
            now["metadata"]["uid"] != before && now["status"]["isAlive"] == true
        })
        .await;
        running.stop().await;
    }
}
