//! Controllers deployed by their own manifests: the rights that these give are enough, and no others are there.

use std::path::Path;
use std::process::{Command, Stdio};

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{Pod, Service, ServiceAccount};
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Client, CustomResourceExt};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use web_app::toy_dns::{self, SharedZone};
use web_app::{WebApp, web_app};
use windlass_klight::network::{LightNetwork, NETWORK_LABEL, PORT_ANNOTATION};
use windlass_klight::peer::{Peer, PeerSettings};

use crate::eventually::eventually;
use crate::served::Served;
use crate::started::Started;

fn windlass(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_windlass")).args(arguments).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Creates every document of a text.
async fn create_all(client: &Client, text: &str) {
    for document in text.split("---\n").filter(|part| !part.is_empty()) {
        let object: DynamicObject = serde_saphyr::from_str(document).expect("an object");
        let types = object.types.clone().expect("a kind");
        let kind = GroupVersionKind::try_from(&types).expect("a kind");
        let resource = ApiResource::from_gvk(&kind);
        let api: Api<DynamicObject> = match &object.metadata.namespace {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
            None => Api::all_with(client.clone(), &resource),
        };
        if let Err(error) = api.create(&PostParams::default(), &object).await {
            panic!("{error}:\n{document}");
        }
    }
}

/// A kubeconfig of the service account that the manifests made.
async fn kubeconfig_of_account(served: &Served, client: &Client, account: &str, file: &Path) {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "operators");
    let asked = json!({ "metadata": {}, "spec": { "audiences": [], "expirationSeconds": 3600 } });
    let asked: TokenRequest = serde_json::from_value(asked).expect("a request");
    let granted = accounts.create_token_request(account, &PostParams::default(), &asked).await;
    let token = granted.expect("a token").status.expect("a status").token;
    let text = std::fs::read_to_string(served.kubeconfig()).expect("a kubeconfig");
    let mut config: Value = serde_saphyr::from_str(&text).expect("YAML");
    config["users"][0]["user"] = json!({ "token": token });
    std::fs::write(file, config.to_string()).expect("it is written");
}

async fn is_ready(apps: &Api<WebApp>) -> bool {
    let Some(status) = apps.get("shop").await.ok().and_then(|app| app.status) else { return false };
    status.conditions.iter().any(|condition| condition.r#type == "Ready" && condition.status == "True")
}

#[tokio::test]
async fn the_account_of_the_manifests_is_enough() {
    let served = Served::start(&["--authorization", "rbac"]);
    let client = served.client().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let zone = SharedZone::default();
    tokio::spawn(toy_dns::serve(listener, zone.clone()));
    let text = windlass(&["manifests", "web-app", "--namespace", "operators", "--replicas", "2"]);
    create_all(&client, &text).await;
    let deployed = Api::<Deployment>::namespaced(client.clone(), "operators").get("web-app").await;
    let template = deployed.expect("it is deployed").spec.template.spec.expect("a pod");
    let arguments = template.containers[0].args.clone().expect("arguments");
    assert_eq!(arguments, ["run", "web-app", "--endpoints", "0.0.0.0:8080", "--lease", "operators/web-app"]);

    let folder = tempfile::tempdir().expect("a folder");
    let kubeconfig = folder.path().join("kubeconfig");
    kubeconfig_of_account(&served, &client, "web-app", &kubeconfig).await;
    let apps: Api<WebApp> = Api::namespaced(client.clone(), "default");
    eventually("web apps are served", async || apps.list(&Default::default()).await.is_ok()).await;
    // The arguments of the pod, except for the address of its endpoints.
    let log = std::fs::File::create(folder.path().join("log")).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args([
        "run",
        "web-app",
        "--endpoints",
        "127.0.0.1:0",
        "--lease",
        "operators/web-app",
        "--dns",
        &url,
    ]);
    let process = command.env("KUBECONFIG", &kubeconfig).stderr(log).stdout(Stdio::null()).spawn();
    let _process = Started(process.expect("it starts"));
    let mut app = web_app("shop");
    app.spec.exposed = true;
    apps.create(&PostParams::default(), &app).await.expect("an app");
    eventually("the app is ready", async || is_ready(&apps).await).await;
    let services: Api<Service> = Api::namespaced(client.clone(), "default");
    services.get("shop").await.expect("a Service");
    apps.delete("shop", &Default::default()).await.expect("it is there");
    eventually("the app is gone", async || apps.get_opt("shop").await.is_ok_and(|app| app.is_none())).await;
    assert!(zone.lock().expect("lock is not poisoned").records().is_empty());
    let log = std::fs::read_to_string(folder.path().join("log")).expect("a log");
    assert!(!log.contains("forbidden") && !log.contains("WARN"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_account_of_klight_is_enough() {
    let served = Served::start(&["--authorization", "rbac"]);
    let client = served.client().await;
    create_all(&client, &windlass(&["manifests", "klight", "--namespace", "operators"])).await;
    let folder = tempfile::tempdir().expect("a folder");
    let kubeconfig = folder.path().join("kubeconfig");
    kubeconfig_of_account(&served, &client, "klight", &kubeconfig).await;
    let networks: Api<LightNetwork> = Api::namespaced(client.clone(), "default");
    eventually("networks are served", async || networks.list(&Default::default()).await.is_ok()).await;
    let log = std::fs::File::create(folder.path().join("log")).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    // The arguments of the pod, except for the address of its endpoints.
    command.args(["run", "klight", "--endpoints", "127.0.0.1:0", "--namespace", "default"]);
    let process = command.env("KUBECONFIG", &kubeconfig).stderr(log).stdout(Stdio::null()).spawn();
    let _process = Started(process.expect("it starts"));

    let peer = Peer::start(PeerSettings::default()).await.expect("a lightpeer");
    let port = peer.address().rsplit(':').next().expect("a port");
    let pod = json!({
        "metadata": {
            "name": "first",
            "labels": { (NETWORK_LABEL): "blue" },
            "annotations": { (PORT_ANNOTATION): port },
        },
        "spec": { "containers": [{ "name": "lightpeer", "image": "lightpeer" }] },
    });
    let pods: Api<Pod> = Api::namespaced(client, "default");
    let pod = serde_json::from_value(pod).expect("a pod");
    pods.create(&PostParams::default(), &pod).await.expect("it is created");
    let status = json!({ "status": { "phase": "Running", "podIP": "127.0.0.1" } });
    let patched = pods.patch_status("first", &PatchParams::default(), &Patch::Merge(status)).await;
    patched.expect("it runs");
    eventually("the pod is a member", async || {
        networks.get("blue").await.is_ok_and(|network| network.stack().len() == 1)
    })
    .await;
    let log = std::fs::read_to_string(folder.path().join("log")).expect("a log");
    assert!(!log.contains("forbidden"), "{log}");
}

#[test]
fn the_definition_is_that_of_the_derive() {
    let printed: Value = serde_saphyr::from_str(&windlass(&["crd", "web-app"])).expect("YAML");
    assert_eq!(printed, serde_json::to_value(WebApp::crd()).expect("JSON"));
    let list: Value = serde_json::from_str(&windlass(&["crd", "--output", "json"])).expect("JSON");
    // Those of the examples and of klight, and seven of mizar, each once.
    assert_eq!(list["items"].as_array().map(Vec::len), Some(10));
    let unknown = Command::new(env!("CARGO_BIN_EXE_windlass")).args(["crd", "nothing"]).output();
    let unknown = unknown.expect("it runs");
    assert!(!unknown.status.success());
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("there are:"), "it says what there is");
}
