//! The example as it runs in production: a real API server, the real HTTP client, a real service.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Secret, Service};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, CustomResourceExt};
use serde_json::json;
use tokio::net::TcpListener;
use web_app::toy_dns::{self, SharedZone};
use web_app::{Dns, HttpDns, WAITING_APP_LABEL, WebApp, WebApps, host_name, web_app};
use windlass::CallError;
use windlass_runtime::{Manager, ServiceClient};
use windlass_server::{Server, ServerOptions, TlsSource};

const TIMEOUT: Duration = Duration::from_secs(60);
const ASK_EVERY: Duration = Duration::from_millis(5);

async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(ASK_EVERY).await;
        }
    };
    assert!(tokio::time::timeout(TIMEOUT, waiting).await.is_ok(), "this never came: {what}");
}

/// A server, and a client of it that may do everything.
async fn cluster() -> (Server, Client) {
    let options = ServerOptions { tls: TlsSource::Off, ..ServerOptions::default() };
    let server = Server::start(options).await.expect("the server starts");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("kubeconfig");
    server.kubeconfig().write(&file).expect("a kubeconfig");
    let kubeconfig = kube::config::Kubeconfig::read_from(&file).expect("a kubeconfig");
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await;
    let client = Client::try_from(config.expect("a usable kubeconfig")).expect("a client");
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.create(&PostParams::default(), &WebApp::crd()).await.expect("a CRD");
    let apps: Api<WebApp> = Api::namespaced(client.clone(), "default");
    eventually("web apps are served", async || apps.list(&Default::default()).await.is_ok()).await;
    (server, client)
}

/// The service on a free port: its address, and what it holds.
async fn dns() -> (String, SharedZone) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let zone = SharedZone::default();
    tokio::spawn(toy_dns::serve(listener, zone.clone()));
    (url, zone)
}

fn names(zone: &SharedZone) -> Vec<String> {
    let zone = zone.lock().expect("lock is not poisoned");
    zone.records().iter().map(|record| record.name.clone()).collect()
}

/// Status and reason of `Ready`, if it is about the app as it is now.
async fn ready(apps: &Api<WebApp>) -> Option<(String, String)> {
    let app = apps.get("shop").await.ok()?;
    let status = app.status?;
    let ready = status.conditions.iter().find(|condition| condition.r#type == "Ready")?;
    let current = status.observed_generation == app.metadata.generation;
    current.then(|| (ready.status.clone(), ready.reason.clone()))
}

async fn until_ready(apps: &Api<WebApp>) {
    eventually("the app is ready", async || ready(apps).await.is_some_and(|(status, _)| status == "True"))
        .await;
}

#[tokio::test]
async fn an_app_waits_is_served_is_hidden_and_goes() {
    let (server, client) = cluster().await;
    let (url, zone) = dns().await;
    let manager = Manager::new().client(client.clone()).namespace("default").controller(WebApps);
    let running = manager.service(Dns, HttpDns::new(&url)).start().await.expect("it starts");

    let apps: Api<WebApp> = Api::namespaced(client.clone(), "default");
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), "default");
    let services: Api<Service> = Api::namespaced(client.clone(), "default");
    let mut app = web_app("shop");
    app.spec.exposed = true;
    app.spec.database_secret = Some("database".to_owned());
    apps.create(&PostParams::default(), &app).await.expect("an app");
    let waits = Some(("False".to_owned(), "SecretMissing".to_owned()));
    eventually("it waits for the Secret", async || ready(&apps).await == waits).await;
    assert!(deployments.get_opt("shop").await.expect("an answer").is_none());

    // Within the timeout of the test, only the watch on Secrets triggers a reconcile.
    let labels = json!({ WAITING_APP_LABEL: "shop" });
    let secret = json!({ "metadata": { "name": "database", "labels": labels } });
    let secret = serde_json::from_value(secret).expect("a Secret");
    Api::<Secret>::namespaced(client.clone(), "default")
        .create(&PostParams::default(), &secret)
        .await
        .expect("a Secret");
    until_ready(&apps).await;
    assert_eq!(names(&zone), [host_name(&app)]);
    assert!(services.get_opt("shop").await.expect("an answer").is_some());

    let hide = Patch::Merge(json!({ "spec": { "exposed": false } }));
    apps.patch("shop", &PatchParams::default(), &hide).await.expect("a change");
    until_ready(&apps).await;
    assert!(names(&zone).is_empty());
    assert!(services.get_opt("shop").await.expect("an answer").is_none());

    let show = Patch::Merge(json!({ "spec": { "exposed": true } }));
    apps.patch("shop", &PatchParams::default(), &show).await.expect("a change");
    until_ready(&apps).await;
    assert_eq!(names(&zone), [host_name(&app)]);
    apps.delete("shop", &DeleteParams::default()).await.expect("it is there");
    eventually("the app is gone", async || apps.get_opt("shop").await.is_ok_and(|app| app.is_none())).await;
    assert!(names(&zone).is_empty(), "an app goes only after its name");
    running.stop().await;
    server.shutdown().await;
}

#[tokio::test]
async fn a_silent_service_times_out() {
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = silent.local_addr().expect("an address");
    let request = web_app::RecordRequest { owner: "u".to_owned(), generation: 1, record: None };
    let client = HttpDns::new(&format!("http://{address}")).timeout(Duration::from_millis(50));
    let answer = client.call(request.clone()).await;
    assert_eq!(answer, Err(CallError::Timeout { service: "dns".to_owned() }));
    drop(silent);
    assert!(matches!(client.call(request).await, Err(CallError::Unavailable { .. })));
}
