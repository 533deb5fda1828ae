//! Faulty pods: each is reported with its problem, and delays no other network.

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use windlass_klight::network::PORT_ANNOTATION;

use crate::controller::Controller;
use crate::namespace::{Namespace, eventually};

pub(crate) async fn faulty_pods_are_reported_and_delay_no_other_network(namespace: &Namespace) {
    let _controller = Controller::start(namespace);
    // The kernel accepts connections, and nothing ever answers on them.
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let babbling = babble().await;
    let containers = || json!([{ "name": "app", "image": "app" }]);
    namespace.pod("hung", "hung", &silent.local_addr().expect("bound").port().to_string()).await;
    namespace.pod("garbage", "garbage", &babbling.to_string()).await;
    namespace.pod_with("bare", "bare", json!({}), containers()).await;
    namespace.pod_with("port", "port", json!({ PORT_ANNOTATION: "http" }), containers()).await;
    // Each of these networks has a pod that is well, and there is one without any that is not.
    let mut well = Vec::new();
    for network in ["hung", "garbage", "bare", "port", "good"] {
        well.push(namespace.pod_with_peer(&format!("{network}-well"), network).await);
    }
    well.push(namespace.pod_with_peer("good-too", "good").await);

    eventually("the good network is whole", async || {
        namespace.members("good").await.len() == 2 && namespace.is_ready("good").await
    })
    .await;
    for (network, problem) in [
        ("hung", "did not answer within 2s"),
        ("garbage", "pod garbage: "),
        ("bare", "pod bare: it has no container \"lightpeer\", no port named \"klight-port\""),
        ("port", "pod port: its annotation klightPort is \"http\", which is no port"),
    ] {
        eventually(&format!("{network} is named, and the other pod is a member"), async || {
            let (status, message) = namespace.condition(network, "Joined").await;
            status == "False" && message.contains(problem) && message.starts_with("1 of 2 pods are members")
        })
        .await;
        assert_eq!(namespace.members(network).await, [format!("{network}-well")]);
    }
    for pod in ["bare", "port"] {
        eventually("an event names it", async || {
            namespace
                .events("PodNotUsable")
                .await
                .iter()
                .any(|note| note.starts_with(&format!("pod {pod}: ")))
        })
        .await;
    }
    drop(silent);
}

/// A server that answers everything with nonsense. Returns its port.
async fn babble() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(b"220 welcome, what would you like today?\r\n").await;
        }
    });
    port
}
