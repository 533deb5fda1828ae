//! Worker counts from a ConfigMap.

use k8s_openapi::api::core::v1::ConfigMap;
use windlass_runtime::managers::ConfigMapRef;

use super::*;

const DOCUMENT: &str = "ControllerManager:\n- controllers:\n  - type: two-configmaps\n    workers: 5\n";

/// Writes the ConfigMap.
async fn configure(cluster: &Cluster, key: &str, text: &str) {
    let body = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "controller-manager" }, "data": { key: text },
    });
    let apply = PatchParams::apply("test").force();
    let config_map: ConfigMap = serde_json::from_value(body).expect("a ConfigMap");
    let patched = cluster.config_maps().patch("controller-manager", &apply, &Patch::Apply(&config_map)).await;
    patched.expect("it is written");
}

async fn start(cluster: &Cluster) -> Result<Running, StartError> {
    let config = ConfigMapRef::new().in_namespace(&cluster.namespace);
    program(cluster, &Tap::new()).managed(ManagerConfig::ConfigMap(config)).start().await
}

fn counts(running: &Running) -> [Option<usize>; 2] {
    ["two-configmaps", "second"].map(|name| running.handle().workers(name))
}

#[tokio::test]
async fn config_map_is_read_once_and_unnamed_controllers_have_one_worker() {
    let embedded = Embedded::start().await;
    let cluster = &embedded.cluster;
    configure(cluster, "controllers", DOCUMENT).await;
    let before = start(cluster).await.expect("it starts");
    assert_eq!(counts(&before), [Some(5), Some(1)]);
    configure(cluster, "controllers", "- {type: second, workers: 7}\n- {type: unknown, workers: 3}").await;
    let after = start(cluster).await.expect("it starts");
    assert_eq!(counts(&after), [Some(1), Some(7)]);
    // Work goes on with the change there for all to see.
    cluster.create_pair("a").await;
    cluster.until_ready("a").await;
    assert_eq!(counts(&before), [Some(5), Some(1)], "a process that runs is not affected");
    before.stop().await;
    after.stop().await;
}

#[tokio::test]
async fn config_map_that_is_missing_or_wrong_is_explained() {
    let embedded = Embedded::start().await;
    let cluster = &embedded.cluster;
    let error = refusal(start(cluster)).await;
    let expected = "there is no ConfigMap test/controller-manager: create it, with worker counts under the key \
                    \"controllers\"";
    assert_eq!(error, expected);
    configure(cluster, "controllers", &DOCUMENT.replace("workers: 5", "workers: five")).await;
    let error = refusal(start(cluster)).await;
    let parts = [
        "test/controller-manager does not configure controllers: the key \"controllers\" cannot be used",
        "line 4",
        "five",
    ];
    for part in parts.into_iter().chain(["Write it like this", "  - type: deployment\n    workers: 5\n"]) {
        assert!(error.contains(part), "{part}: {error}");
    }
}
