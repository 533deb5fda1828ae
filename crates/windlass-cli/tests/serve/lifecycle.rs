//! Starting, ending and restarting: what scripts rely on.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams, WatchParams};
use serde_json::json;

use crate::served::{Served, command};

fn named(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}})).expect("a config map")
}

#[tokio::test]
async fn a_terminated_server_ends_its_watches_and_exits_well() {
    let served = Served::start(&[]);
    let maps: Api<ConfigMap> = Api::namespaced(served.client().await, "default");
    let mut events = maps.watch(&WatchParams::default(), "0").await.expect("a watch").boxed();
    maps.create(&PostParams::default(), &named("a")).await.expect("created");
    assert!(events.next().await.expect("an event").is_ok());
    let asked = Instant::now();
    let (status, log) = tokio::task::spawn_blocking(|| served.terminate()).await.expect("it ends");
    assert!(status.success(), "{status}: {log}");
    // Not a benchmark: without a bound, a shutdown that waits for watchers would hang here for half an hour.
    assert!(asked.elapsed() < Duration::from_secs(20));
    while let Some(event) = events.next().await {
        assert!(event.is_ok(), "the stream ends as it should: {event:?}");
    }
}

#[tokio::test]
async fn what_is_durable_is_there_after_a_restart() {
    let data = tempfile::tempdir().expect("a folder");
    let folder = data.path().to_str().expect("UTF-8").to_owned();
    let served = Served::start(&["--data", &folder]);
    let maps: Api<ConfigMap> = Api::namespaced(served.client().await, "default");
    let made = maps.create(&PostParams::default(), &named("a")).await.expect("created");
    let (status, _) = served.terminate();
    assert!(status.success());
    let served = Served::start(&["--data", &folder]);
    let maps: Api<ConfigMap> = Api::namespaced(served.client().await, "default");
    assert_eq!(maps.get("a").await.expect("still there").metadata, made.metadata);
    // A watch goes on where it was before the restart.
    let version = made.metadata.resource_version.expect("a version");
    let mut events = maps.watch(&WatchParams::default(), &version).await.expect("a watch").boxed();
    maps.create(&PostParams::default(), &named("b")).await.expect("created");
    let event = events.next().await.expect("an event").expect("well");
    assert!(matches!(event, kube::api::WatchEvent::Added(map) if map.metadata.name.as_deref() == Some("b")));
}

#[test]
fn two_servers_do_not_share_a_folder() {
    let data = tempfile::tempdir().expect("a folder");
    let folder = data.path().to_str().expect("UTF-8");
    let _served = Served::start(&["--data", folder]);
    let second =
        command(&data.path().join("other-kubeconfig")).args(["--data", folder]).output().expect("runs");
    let message = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(!second.status.success());
    assert!(message.contains(folder) && message.contains("another"), "{message}");
    assert!(second.stdout.is_empty(), "it was never ready");
    // Without its lock file the folder is in use all the same.
    std::fs::remove_file(data.path().join("windlass.lock")).expect("it is there");
    let third =
        command(&data.path().join("other-kubeconfig")).args(["--data", folder]).output().expect("runs");
    let message = String::from_utf8_lossy(&third.stderr).into_owned();
    assert!(!third.status.success());
    assert!(message.contains(folder) && message.contains("another"), "{message}");
}

#[tokio::test]
async fn a_deleted_folder_is_noticed() {
    let above = tempfile::tempdir().expect("a folder");
    let data = above.path().join("data");
    let served = Served::start(&["--data", data.to_str().expect("UTF-8")]);
    let mode = std::fs::metadata(&data).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let client = served.client().await;
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    maps.create(&PostParams::default(), &named("before")).await.expect("created");
    std::fs::remove_dir_all(&data).expect("it is deleted");
    let refused = maps.create(&PostParams::default(), &named("after")).await.expect_err("it is on no disk");
    assert!(refused.to_string().contains("was not stored"), "{refused}");
    assert!(maps.get("before").await.is_ok(), "reads go on");
    let ready = http::Request::get("/readyz").body(Vec::new()).expect("a request");
    assert!(client.request_text(ready).await.is_err(), "it is not ready");
}

#[test]
fn an_address_in_use_is_named() {
    let served = Served::start(&[]);
    let address = served.url().trim_start_matches("https://").to_owned();
    let second = std::process::Command::new(env!("CARGO_BIN_EXE_windlass"))
        .args(["serve", "--listen", &address])
        .output()
        .expect("runs");
    let message = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(!second.status.success());
    assert!(message.contains(&address) && message.contains("--listen"), "{message}");
}

#[test]
fn only_its_owner_can_read_the_kubeconfig() {
    let served = Served::start(&[]);
    let mode = std::fs::metadata(served.kubeconfig()).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn plain_http_stays_on_this_machine() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_windlass"))
        .args(["serve", "--listen", "0.0.0.0:0", "--insecure"])
        .output()
        .expect("runs");
    assert!(!output.status.success());
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("127.0.0.1"), "{message}");
}
