//! A file system that is full: writes are refused, everything else goes on, and nothing is lost.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, PostParams, WatchEvent, WatchParams};
use kube::{Client, ResourceExt};
use serde_json::json;

use crate::eventually::{TIMEOUT, eventually};
use crate::served::Served;

/// Takes room until it is removed.
const BALLAST_BYTES: usize = 8 << 20;

/// A small file system of its own, gone when this is dropped.
struct SmallFileSystem(tempfile::TempDir);

impl SmallFileSystem {
    /// Nothing where it may not be mounted; but under `CI=true` it must be.
    fn mount(size: &str) -> Option<SmallFileSystem> {
        let folder = tempfile::tempdir().expect("a folder");
        let options = format!("size={size},mode=0700");
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "windlass-test"])
            .arg(folder.path())
            .output();
        let problem = match mount {
            Ok(output) if output.status.success() => return Some(SmallFileSystem(folder)),
            Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
            Err(error) => error.to_string(),
        };
        assert!(std::env::var("CI").as_deref() != Ok("true"), "no test may be skipped: {problem}");
        eprintln!("skipped, since only root can mount a file system: {problem}");
        None
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallFileSystem {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.path()).status();
    }
}

fn large(name: &str) -> ConfigMap {
    let map = json!({"metadata": {"name": name}, "data": {"filler": "x".repeat(100_000)}});
    serde_json::from_value(map).expect("a config map")
}

fn maps(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), "default")
}

async fn names(client: &Client) -> BTreeSet<String> {
    let list = maps(client).list(&ListParams::default()).await.expect("reads go on");
    list.iter()
        .map(|map| {
            assert_eq!(map.data.as_ref().expect("data")["filler"].len(), 100_000, "half an object");
            map.name_any()
        })
        .collect()
}

/// Writes until there is no room; returns the answer that says so.
async fn fill(client: &Client, prefix: &str, acknowledged: &mut BTreeSet<String>) -> kube::core::Status {
    for number in 0..10_000 {
        let name = format!("{prefix}-{number}");
        match maps(client).create(&PostParams::default(), &large(&name)).await {
            Ok(_) => {
                acknowledged.insert(name);
            }
            Err(kube::Error::Api(status)) => return *status,
            Err(error) => panic!("{error}"),
        }
    }
    panic!("a gigabyte fits in a small file system");
}

/// Code and text of a probe.
async fn probe(client: &Client, path: &str) -> (bool, String) {
    let request = http::Request::get(path).body(Vec::new()).expect("a request");
    match client.request_text(request).await {
        Ok(text) => (true, text),
        Err(error) => (false, format!("{error:?}")),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_go_on_and_nothing_is_lost() {
    let Some(small) = SmallFileSystem::mount("24m") else { return };
    let ballast = small.path().join("ballast");
    std::fs::write(&ballast, vec![1; BALLAST_BYTES]).expect("there is room");
    let data = small.path().join("data");
    let folder = data.to_str().expect("UTF-8").to_owned();
    let served = Served::start(&["--data", &folder]);
    let client = served.client().await;
    let mut events =
        maps(&client).watch(&WatchParams::default().disable_bookmarks(), "0").await.expect("a watch").boxed();
    assert!(probe(&client, "/readyz").await.0);

    let mut acknowledged = BTreeSet::new();
    let refusal = fill(&client, "first", &mut acknowledged).await;
    assert_eq!(refusal.code, 507, "{refusal:?}");
    assert!(refusal.message.contains("the disk is full"), "{refusal:?}");
    assert!(acknowledged.len() > 10, "hardly anything fits");
    assert_eq!(names(&client).await, acknowledged);
    let mut seen = BTreeSet::new();
    while seen != acknowledged {
        let event = tokio::time::timeout(TIMEOUT, events.try_next()).await.expect("an event in time");
        match event.expect("the watch is well") {
            Some(WatchEvent::Added(map)) => assert!(seen.insert(map.name_any()), "an event came twice"),
            other => panic!("{other:?}"),
        }
    }
    for _ in 0..5 {
        assert!(maps(&client).create(&PostParams::default(), &large("further")).await.is_err());
    }
    let (ready, report) = probe(&client, "/readyz?verbose").await;
    assert!(!ready, "{report}");
    assert!(report.contains("[-]storage failed: the disk is full"), "{report}");
    assert!(probe(&client, "/livez").await.0, "it lives");

    // There is room again; the server notices by itself.
    std::fs::remove_file(&ballast).expect("removed");
    eventually("it is ready again", async || probe(&client, "/readyz").await.0).await;
    maps(&client).create(&PostParams::default(), &large("second")).await.expect("written again");
    acknowledged.insert("second".to_owned());
    let event = tokio::time::timeout(TIMEOUT, events.try_next()).await.expect("an event in time");
    assert!(matches!(&event, Ok(Some(WatchEvent::Added(map))) if map.name_any() == "second"), "{event:?}");

    // Full once more, and killed.
    let refusal = fill(&client, "third", &mut acknowledged).await;
    assert_eq!(refusal.code, 507, "{refusal:?}");
    drop(served.kill());
    check(&folder);

    // On a larger one everything is there, and writes work.
    let larger = tempfile::tempdir().expect("a folder");
    let copied = Command::new("cp").arg("-a").arg(&data).arg(larger.path()).status().expect("cp runs");
    assert!(copied.success());
    let moved = larger.path().join("data").to_str().expect("UTF-8").to_owned();
    let served = Served::start(&["--data", &moved]);
    let client = served.client().await;
    // A write whose answer was a failure may be there after a crash; one that was acknowledged must.
    let found = names(&client).await;
    assert!(acknowledged.is_subset(&found), "lost: {:?}", acknowledged.difference(&found));
    assert!(found.len() <= acknowledged.len() + 1, "{found:?}");
    maps(&client).create(&PostParams::default(), &large("fourth")).await.expect("written");
    maps(&client).delete("second", &DeleteParams::default()).await.expect("removed");
    served.terminate();
    check(&moved);
}

/// `windlass serve --check` finds nothing wrong.
fn check(folder: &str) {
    let program = env!("CARGO_BIN_EXE_windlass");
    let check = Command::new(program).args(["serve", "--check", folder]).output().expect("it runs");
    let report = String::from_utf8_lossy(&check.stdout);
    assert!(check.status.success() && report.contains("everything is whole"), "{report}");
}
