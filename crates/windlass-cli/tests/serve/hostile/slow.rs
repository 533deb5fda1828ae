//! Clients that send slowly, or take nothing.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::json;

use super::raw::Raw;
use super::{Bystander, plain};
use crate::eventually::eventually;
use crate::served::Served;

const MIB: u64 = 1024 * 1024;

/// Sends one byte after the other until the server hangs up.
async fn drip(mut client: Raw, bytes: String) {
    client.send(bytes).await;
    while client.try_send("x").await {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn headers_that_come_slowly_or_never() {
    let served = plain(&["--client-timeout", "2"]);
    let mut others = Bystander::of(&served).await;
    let mut slow = Vec::new();
    for begin in ["", "G", "GET /version HTTP/1.1\r\nX-A: ", "PRI * HTT"] {
        for _ in 0..30 {
            slow.push(tokio::spawn(drip(Raw::connect(&served).await, begin.to_owned())));
        }
    }
    let mut silent = Vec::new();
    for begin in ["", "P", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
        let mut client = Raw::connect(&served).await;
        client.send(begin).await;
        silent.push(client);
    }
    others.are_served().await;
    for client in silent {
        client.ends().await;
    }
    for client in slow {
        client.await.expect("the server hangs up");
    }
    others.are_served().await;
}

#[tokio::test]
async fn handshakes_that_never_end() {
    let served = Served::start(&["--client-timeout", "2"]);
    let mut others = Bystander::of(&served).await;
    let mut silent = Vec::new();
    // Nothing; and a record that begins like a handshake.
    for begin in [&b""[..], &[0x16, 3, 1, 2, 0, 1]] {
        let mut client = Raw::connect(&served).await;
        client.send(begin).await;
        silent.push(client);
    }
    others.are_served().await;
    for client in silent {
        client.ends().await;
    }
}

/// More than may write at the same time: a body counts as in flight only when all of it has arrived.
#[tokio::test]
async fn bodies_that_come_slowly() {
    let served = plain(&["--client-timeout", "5"]);
    let mut others = Bystander::of(&served).await;
    let mut slow = Vec::new();
    for _ in 0..250 {
        let mut client = Raw::connect(&served).await;
        let path = "/api/v1/namespaces/default/configmaps";
        client.send(&client.head("POST", path, "Content-Length: 1000\r\n")).await;
        client.send("{").await;
        slow.push(client);
    }
    others.are_served().await;
    for mut client in slow {
        let (code, body) = client.answer().await;
        assert_eq!(code, 408, "{body}");
        assert!(body.contains("did not arrive within 5 s"), "{body}");
    }
}

async fn write_much(served: &Served, times: usize, others: &mut Bystander) {
    let maps: Api<ConfigMap> = Api::namespaced(served.client().await, "default");
    let large: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "large"}})).expect("it fits");
    let _ = maps.create(&PostParams::default(), &large).await;
    for number in 0..times {
        let patch = json!({"data": {"filler": "x".repeat(900_000 + number)}});
        maps.patch("large", &PatchParams::default(), &Patch::Merge(patch)).await.expect("written");
        if number % 10 == 0 {
            others.are_served().await;
        }
    }
}

/// Watchers that never read are cut off; what waits for them is little.
#[tokio::test]
async fn watchers_that_never_read() {
    let served = plain(&["--client-timeout", "3"]);
    let mut others = Bystander::of(&served).await;
    let before = others.metric("windlass_open_connections").await;
    let mut deaf = Vec::new();
    for _ in 0..40 {
        let mut client = Raw::connect(&served).await;
        client.send(&client.head("GET", "/api/v1/configmaps?watch=true", "")).await;
        deaf.push(client);
    }
    write_much(&served, 60, &mut others).await;
    let memory = others.metric("process_resident_memory_bytes").await / MIB;
    assert!(memory < 400, "{memory} MiB");
    eventually("they are cut off", async || others.metric("windlass_open_connections").await <= before + 2)
        .await;
    others.are_served().await;
    drop(deaf);
}

/// The same for answers that are long by themselves.
#[tokio::test]
async fn lists_that_are_never_read() {
    let served = plain(&["--client-timeout", "2"]);
    let mut others = Bystander::of(&served).await;
    write_much(&served, 1, &mut others).await;
    let before = others.metric("windlass_open_connections").await;
    let mut deaf = Vec::new();
    for path in ["/api/v1/configmaps", "/api/v1/namespaces/default/configmaps/large", "/openapi/v2"] {
        for _ in 0..10 {
            let mut client = Raw::connect(&served).await;
            // One answer may fit in what the system holds for the client.
            client.send(client.head("GET", path, "").repeat(20)).await;
            deaf.push(client);
        }
    }
    eventually("they are cut off", async || others.metric("windlass_open_connections").await <= before + 2)
        .await;
    others.are_served().await;
    drop(deaf);
}
