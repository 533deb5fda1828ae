//! The endpoints over real connections.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

/// A health whose readiness the test sets.
#[derive(Default)]
struct Watches {
    synced: AtomicBool,
}

impl Health for Watches {
    fn readiness(&self) -> Vec<Check> {
        let pods = "watch pods in all namespaces";
        vec![
            Check::good("watch configmaps in default"),
            if self.synced.load(Ordering::Relaxed) {
                Check::good(pods)
            } else {
                Check::bad(pods, "the API refused the list: allow list on pods")
            },
        ]
    }
}

async fn started() -> (Endpoints, Arc<Watches>, Metrics) {
    let (watches, metrics) = (Arc::new(Watches::default()), Metrics::new());
    let health = Arc::clone(&watches) as Arc<dyn Health>;
    let endpoints = Endpoints::start(Endpoints::default_address(), metrics.clone(), health).await;
    (endpoints.expect("a port is free"), watches, metrics)
}

/// Sends one request on a connection of its own, and returns the status line's code, the headers and the body.
async fn ask(endpoints: &Endpoints, line: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(endpoints.address()).await.expect("it listens");
    let request = format!("{line} HTTP/1.1\r\nhost: windlass\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("it takes requests");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("it answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    let code = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status code");
    (code, head.to_owned(), body.to_owned())
}

#[tokio::test]
async fn readiness_names_what_is_not_synced_and_why() {
    let (endpoints, watches, _) = started().await;
    let (code, _, body) = ask(&endpoints, "GET /readyz").await;
    assert_eq!(code, 503);
    assert_eq!(
        body,
        "[-]watch pods in all namespaces failed: the API refused the list: allow list on pods\n\
         readyz check failed\n"
    );
    let (code, _, body) = ask(&endpoints, "GET /readyz?verbose=true").await;
    assert_eq!((code, body.lines().next()), (503, Some("[+]watch configmaps in default ok")));
    watches.synced.store(true, Ordering::Relaxed);
    let (code, _, body) = ask(&endpoints, "GET /readyz").await;
    assert_eq!((code, body.as_str()), (200, "ok"));
    let (code, _, body) = ask(&endpoints, "GET /readyz?verbose").await;
    let all = "[+]watch configmaps in default ok\n[+]watch pods in all namespaces ok\nreadyz check passed\n";
    assert_eq!((code, body.as_str()), (200, all));
    endpoints.shutdown().await;
}

#[tokio::test]
async fn who_is_not_ready_lives_all_the_same() {
    let (endpoints, _, _) = started().await;
    for path in ["/healthz", "/livez"] {
        let (code, _, body) = ask(&endpoints, &format!("GET {path}")).await;
        assert_eq!((code, body.as_str()), (200, "ok"), "{path}");
    }
    endpoints.shutdown().await;
}

#[tokio::test]
async fn metrics_come_as_prometheus_reads_them() {
    let (endpoints, _, metrics) = started().await;
    metrics.requested("GET", "example:6443", Some(200));
    let (code, head, body) = ask(&endpoints, "GET /metrics").await;
    assert_eq!(code, 200);
    assert!(head.contains("content-type: application/openmetrics-text; version=1.0.0"), "{head}");
    assert!(
        body.contains("rest_client_requests_total{code=\"200\",host=\"example:6443\",method=\"GET\"} 1\n")
    );
    endpoints.shutdown().await;
}

#[tokio::test]
async fn other_paths_and_methods_are_refused() {
    let (endpoints, _, _) = started().await;
    assert_eq!(ask(&endpoints, "GET /else").await.0, 404);
    let (code, head, _) = ask(&endpoints, "POST /metrics").await;
    assert_eq!(code, 405);
    assert!(head.contains("allow: GET, HEAD"), "{head}");
    let (code, _, body) = ask(&endpoints, "HEAD /healthz").await;
    assert_eq!((code, body.as_str()), (200, ""));
    endpoints.shutdown().await;
}

#[tokio::test]
async fn shutdown_closes_the_port_and_waits_for_no_idle_client() {
    let (endpoints, _, _) = started().await;
    let address = endpoints.address();
    let mut idle = TcpStream::connect(address).await.expect("it listens");
    idle.write_all(b"GET /healthz HTTP/1.1\r\nhost: windlass\r\n\r\n").await.expect("it takes requests");
    let mut first = [0; 12];
    idle.read_exact(&mut first).await.expect("it answers");
    assert_eq!(&first, b"HTTP/1.1 200");
    endpoints.shutdown().await;
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_port_that_is_taken_is_named() {
    let (endpoints, _, metrics) = started().await;
    let health: Arc<dyn Health> = Arc::new(Watches::default());
    let Err(error) = Endpoints::start(endpoints.address(), metrics, health).await else {
        panic!("it is taken")
    };
    assert!(error.to_string().contains(&endpoints.address().to_string()), "{error}");
    endpoints.shutdown().await;
}
