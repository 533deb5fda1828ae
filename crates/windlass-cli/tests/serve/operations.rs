//! What those who run the server look at: probes, metrics, logs, the check of a folder.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, PostParams};
use serde_json::json;

use crate::served::Served;

async fn text(served: &Served, path: &str) -> String {
    let request = http::Request::get(path).body(Vec::new()).expect("a request");
    served.client().await.request_text(request).await.expect("an answer")
}

#[tokio::test]
async fn probes_say_that_it_is_well() {
    let served = Served::start(&[]);
    for probe in ["/healthz", "/livez", "/readyz"] {
        assert_eq!(text(&served, probe).await, "ok");
    }
    let verbose = text(&served, "/readyz?verbose").await;
    assert!(verbose.contains("[+]ping ok") && verbose.ends_with("readyz check passed\n"), "{verbose}");
}

#[tokio::test]
async fn requests_are_counted_under_the_names_of_kubernetes() {
    let served = Served::start(&[]);
    let maps: Api<ConfigMap> = Api::namespaced(served.client().await, "default");
    let map: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "a"}})).expect("fits");
    maps.create(&PostParams::default(), &map).await.expect("created");
    maps.list(&ListParams::default()).await.expect("listed");
    let metrics = text(&served, "/metrics").await;
    for line in [
        "apiserver_request_total{verb=\"POST\",group=\"\",version=\"v1\",resource=\"configmaps\",subresource=\"\",scope=\"namespace\",code=\"201\"} 1",
        "apiserver_request_total{verb=\"LIST\",group=\"\",version=\"v1\",resource=\"configmaps\",subresource=\"\",scope=\"namespace\",code=\"200\"} 1",
        "apiserver_storage_objects{resource=\"configmaps\"} 1",
    ] {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
    for name in [
        "apiserver_request_duration_seconds_bucket",
        "apiserver_current_inflight_requests",
        "process_resident_memory_bytes",
    ] {
        assert!(metrics.contains(name), "{name} is not in\n{metrics}");
    }
    assert!(metrics.ends_with("# EOF\n"), "Prometheus reads up to this mark");
}

#[test]
fn a_folder_can_be_looked_at() {
    let data = tempfile::tempdir().expect("a folder");
    let folder = data.path().to_str().expect("UTF-8");
    let check = || {
        let program = env!("CARGO_BIN_EXE_windlass");
        std::process::Command::new(program).args(["serve", "--check", folder]).output().expect("runs")
    };
    let nothing = check();
    assert!(!nothing.status.success());
    let message = String::from_utf8_lossy(&nothing.stderr).into_owned();
    assert!(message.contains(folder), "{message}");
    let served = Served::start(&["--data", folder]);
    assert!(!check().status.success(), "a folder in use is not read");
    served.terminate();
    let whole = check();
    let report = String::from_utf8_lossy(&whole.stdout).into_owned();
    assert!(whole.status.success(), "{report}");
    assert!(report.contains("4 namespaces") && report.contains("everything is whole"), "{report}");
}

#[tokio::test]
async fn logs_can_be_lines_of_json() {
    let served = Served::start(&["--json-logs"]);
    let (_, log) = tokio::task::spawn_blocking(|| served.terminate()).await.expect("it ends");
    assert!(!log.is_empty());
    for line in log.lines() {
        let entry: serde_json::Value =
            serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}"));
        assert!(entry["level"].is_string(), "{line}");
    }
}
