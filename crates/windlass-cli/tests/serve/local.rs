//! `windlass demo` and `windlass up`: a whole cluster on this machine, as a newcomer starts it.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use two_configmaps::{Pair, pair};

use crate::eventually::{TIMEOUT, eventually};
use crate::started::Started;

#[test]
fn the_demonstration_comes_out_as_promised() {
    let output = Command::new(env!("CARGO_BIN_EXE_windlass")).arg("demo").output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    for line in [
        "Pair hello                 Ready",
        "WebApp shop                Ready",
        "LightNetwork green         Ready",
        "kill -9 ",
        "Pod blue-2                 deleted",
        "knows first block, second block",
        "Subnet bank-net            Ready",
        "   20 droplets with ",
        "where the bouncer shop-net-b-1 is",
        "   19 droplets with ",
        "two-configmaps: holds",
        "second-first: VIOLATED",
        "Done, in ",
    ] {
        assert!(text.contains(line), "no {line:?} in\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "colours are for terminals");
}

/// Starts the demonstration and waits until its lightpeers run; returns it with their process ids.
fn demo_with_peers() -> (std::process::Child, BufReader<std::process::ChildStdout>, Vec<u32>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_windlass"))
        .arg("demo")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let mut output = BufReader::new(child.stdout.take().expect("its output is piped"));
    let mut line = String::new();
    while !line.contains("LightNetwork blue") {
        line.clear();
        assert!(output.read_line(&mut line).expect("a line") > 0, "it ended early");
    }
    let pids = children_of(child.id());
    assert_eq!(pids.len(), 6, "all lightpeers run");
    (child, output, pids)
}

fn children_of(parent: u32) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").expect("processes").filter_map(Result::ok);
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| parent_of(*pid) == Some(parent)).collect()
}

/// The parent of a process that has not ended.
fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit(')').next()?.split_whitespace();
    fields.next().filter(|state| *state != "Z")?;
    fields.next()?.parse().ok()
}

#[tokio::test]
async fn a_demonstration_that_is_stopped_or_killed_leaves_nothing_running() {
    for signal in ["-TERM", "-INT", "-KILL"] {
        let (mut demo, output, peers) = demo_with_peers();
        Command::new("kill").args([signal, &demo.id().to_string()]).status().expect("kill runs");
        assert!(!demo.wait().expect("it ends").success());
        drop(output);
        eventually("its lightpeers end", async || peers.iter().all(|pid| parent_of(*pid).is_none())).await;
    }
}

#[test]
fn a_reader_of_the_demonstration_may_see_enough() {
    let (mut demo, output, _) = demo_with_peers();
    drop(output);
    assert!(demo.wait().expect("it ends").success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_is_up_can_be_used_and_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let kubeconfig = folder.path().join("kubeconfig");
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args(["up", "--listen", "127.0.0.1:0", "--droplets", "2", "--write-kubeconfig"]).arg(&kubeconfig);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let output = child.stdout.take().expect("its output is piped");
    let mut process = Started(child);
    let lines = BufReader::new(output).lines().map_while(Result::ok);
    let printed: Vec<String> = lines.take_while(|line| !line.starts_with("end ")).collect();
    let controllers = printed.iter().find_map(|line| line.strip_prefix("controllers  "));
    assert_eq!(controllers, Some("two-configmaps, web-app, klight, mizar"), "{printed:#?}");

    let config = kube::config::Kubeconfig::read_from(&kubeconfig).expect("a kubeconfig");
    let config = kube::Config::from_custom_kubeconfig(config, &Default::default()).await;
    let client = kube::Client::try_from(config.expect("a usable kubeconfig")).expect("a client");
    let pairs: Api<Pair> = Api::namespaced(client.clone(), "default");
    pairs.create(&PostParams::default(), &pair("a")).await.expect("a pair");
    eventually("the pair is ready", async || {
        let status = pairs.get("a").await.ok().and_then(|pair| pair.status).unwrap_or_default();
        status.conditions.iter().any(|condition| condition.r#type == "Ready" && condition.status == "True")
    })
    .await;
    let kind = GroupVersionKind::gvk("klight.windlass.dev", "v1alpha1", "LightNetwork");
    let networks: Api<DynamicObject> = Api::all_with(client, &ApiResource::from_gvk(&kind));
    assert!(networks.list(&Default::default()).await.expect("a list").items.is_empty());
    // With droplets, the default network comes into being by itself.
    let audit = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        let output = command.args(["mizar", "audit", "--kubeconfig"]).arg(&kubeconfig).output();
        String::from_utf8_lossy(&output.expect("it runs").stdout).into_owned()
    };
    eventually("the default network is programmed", async || {
        let text = audit();
        text.starts_with("2 droplets with ") && !text.contains(" 0 rows")
    })
    .await;
    let metrics = printed.iter().find_map(|line| line.strip_prefix("metrics      http://")).expect("metrics");
    let text = page(metrics).await;
    let finished = "windlass_mizar_workflows_finished_total{workflow=\"create VPC\"} 1";
    eventually("the workflow is counted", async || page(metrics).await.contains(finished)).await;
    assert!(text.contains("windlass_mizar_workflows_started_total{workflow=\"create VPC\"} 1"), "{text}");
    process.terminate(TIMEOUT);
}

/// A page over HTTP: `127.0.0.1:8080/metrics`.
async fn page(url: &str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let (address, path) = url.split_once('/').expect("an address and a path");
    let mut stream = tokio::net::TcpStream::connect(address).await.expect("it listens");
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("it is sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).await.expect("it is answered");
    text
}
