//! `windlass run` exports traces to a collector, if the environment names one.

use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use kube::Api;
use kube::api::PostParams;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use two_configmaps::{Pair, pair};

use crate::eventually::{TIMEOUT, eventually};
use crate::plans::served_with_pairs;
use crate::started::Started;

/// Answers every request with 200 and keeps all that comes in.
async fn collect(listener: TcpListener, received: Arc<Mutex<Vec<u8>>>) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let received = Arc::clone(&received);
        tokio::spawn(async move {
            let mut piece = [0; 16 * 1024];
            while let Ok(length @ 1..) = stream.read(&mut piece).await {
                received.lock().expect("lock is not poisoned").extend(&piece[..length]);
                // A batch may come in several pieces; an answer too many is not read.
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
            }
        });
    }
}

fn contains(received: &Mutex<Vec<u8>>, text: &str) -> bool {
    let received = received.lock().expect("lock is not poisoned");
    received.windows(text.len()).any(|window| window == text.as_bytes())
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_reach_the_collector_of_the_environment() {
    let (served, client) = served_with_pairs().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let collector = format!("http://{}", listener.local_addr().expect("an address"));
    let received = Arc::default();
    tokio::spawn(collect(listener, Arc::clone(&received)));

    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args(["run", "two-configmaps"]).env("KUBECONFIG", served.kubeconfig());
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector).stderr(Stdio::null());
    let mut process = Started(command.spawn().expect("the program starts"));
    let pairs: Api<Pair> = Api::namespaced(client, "default");
    pairs.create(&PostParams::default(), &pair("a")).await.expect("a pair");
    eventually("it has been reconciled", async || {
        pairs.get("a").await.is_ok_and(|pair| pair.status.is_some())
    })
    .await;
    // The last spans are sent before it ends.
    process.terminate(TIMEOUT);
    for text in ["POST /v1/traces", "two-configmaps", "First", "Second", "default/a"] {
        assert!(
            contains(&received, text),
            "no {text:?} in {} bytes",
            received.lock().map_or(0, |all| all.len())
        );
    }
}
