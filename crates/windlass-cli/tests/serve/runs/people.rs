//! What people do: install the manifests with kubectl, wait for Ready, look at columns and events, plan a change.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use conformance::kubernetes::assets;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use web_app::toy_dns::{self, SharedZone};

use super::process::Process;
use super::server::Server;
use crate::eventually::eventually;

const APP: &str = "
apiVersion: example.windlass.dev/v1
kind: WebApp
metadata: {name: shop, namespace: default}
spec: {image: 'registry.example/shop:1', replicas: 2, config: 'colour = blue', exposed: true}
";

/// A user with a kubeconfig and a folder.
struct Person {
    kubeconfig: PathBuf,
    folder: tempfile::TempDir,
}

impl Person {
    fn with(kubeconfig: PathBuf) -> Person {
        Person { kubeconfig, folder: tempfile::tempdir().expect("a temporary folder") }
    }

    fn run(&self, mut command: Command, arguments: &[&str]) -> Output {
        command.args(arguments).env("KUBECONFIG", &self.kubeconfig).env("HOME", self.folder.path());
        tokio::task::block_in_place(|| command.output().expect("it runs"))
    }

    /// What kubectl prints; it must succeed.
    fn kubectl(&self, arguments: &[&str]) -> String {
        let program = assets().expect("KUBEBUILDER_ASSETS is set: see `cargo xtask envtest`").join("kubectl");
        succeeded(self.run(Command::new(program), arguments), arguments)
    }

    /// What windlass prints; it must succeed.
    fn windlass(&self, arguments: &[&str]) -> String {
        succeeded(self.run(Command::new(env!("CARGO_BIN_EXE_windlass")), arguments), arguments)
    }

    /// A file with this content.
    fn file(&self, name: &str, content: &str) -> String {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).expect("it is written");
        path.to_str().expect("a plain path").to_owned()
    }
}

fn succeeded(output: Output, arguments: &[&str]) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The words of the line that begins so.
fn words<'a>(text: &'a str, beginning: &str) -> Vec<&'a str> {
    let line = text.lines().find(|line| line.trim_start().starts_with(beginning));
    line.unwrap_or_else(|| panic!("no line begins with {beginning:?}:\n{text}")).split_whitespace().collect()
}

/// The kubeconfig with another token.
fn with_token(kubeconfig: &Path, token: &str) -> String {
    let text = std::fs::read_to_string(kubeconfig).expect("a kubeconfig");
    let mut config: Value = serde_saphyr::from_str(&text).expect("YAML");
    config["users"][0]["user"] = json!({ "token": token });
    config.to_string()
}

/// Installs the manifests, and starts what their Deployment would start, with only the rights of its account.
async fn install(person: &Person, dns: &str) -> Process {
    let text = person.windlass(&["manifests", "web-app", "--namespace", "operators", "--replicas", "2"]);
    let file = person.file("manifests.yaml", &text);
    let applied = person.kubectl(&["apply", "-f", &file]);
    let documents = text.split("---\n").filter(|part| !part.trim().is_empty()).count();
    assert_eq!(applied.lines().filter(|line| line.ends_with(" created")).count(), documents, "{applied}");
    person.kubectl(&["wait", "--for=condition=Established", "crd/webapps.example.windlass.dev"]);
    let token = person.kubectl(&["create", "token", "web-app", "-n", "operators"]);
    let account = person.file("account", &with_token(&person.kubeconfig, token.trim()));
    let arguments = ["web-app", "--endpoints", "127.0.0.1:0", "--lease", "operators/web-app", "--dns", dns];
    Process::start(Path::new(&account), &arguments)
}

fn shows_columns(person: &Person, ready: &str, reason: &str) {
    let listed = person.kubectl(&["get", "webapps"]);
    assert_eq!(words(&listed, "NAME"), ["NAME", "READY", "REASON", "AGE"]);
    assert_eq!(words(&listed, "shop")[1..3], [ready, reason], "{listed}");
}

async fn shows_event(person: &Person, kind: &str, reason: &str) {
    eventually(reason, async || {
        let described = person.kubectl(&["describe", "webapp", "shop"]);
        let events = described.split("Events:").nth(1).unwrap_or_default().to_owned();
        events.lines().any(|line| line.contains(kind) && line.contains(reason) && line.contains("web-app"))
    })
    .await;
}

async fn used(server: Server) {
    let person = Person::with(server.kubeconfig());
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let dns = format!("http://{}", listener.local_addr().expect("an address"));
    let zone = SharedZone::default();
    tokio::spawn(toy_dns::serve(listener, zone.clone()));
    let process = install(&person, &dns).await;

    let app = person.file("app.yaml", APP);
    let planned = person.windlass(&["plan", &app]);
    for object in ["ConfigMap default/shop", "Deployment.apps default/shop", "Service default/shop"] {
        assert!(planned.contains(&format!("create {object}")), "{object}: {planned}");
    }
    person.kubectl(&["apply", "-f", &app]);
    person.kubectl(&["wait", "--for=condition=Ready", "webapp/shop", "--timeout=120s"]);
    shows_columns(&person, "True", "AllDone");
    shows_event(&person, "Normal", "Ready").await;
    assert!(person.windlass(&["plan", "webapp/shop"]).contains("nothing"), "all is as it should be");

    let patch = r#"{"spec": {"databaseSecret": "database"}}"#;
    person.kubectl(&["patch", "webapp", "shop", "--type=merge", "-p", patch]);
    person.kubectl(&["wait", "--for=condition=Ready=false", "webapp/shop", "--timeout=120s"]);
    shows_columns(&person, "False", "SecretMissing");
    shows_event(&person, "Normal", "SecretMissing").await;
    let secret = "{apiVersion: v1, kind: Secret, metadata: {name: database, labels: {example.windlass.dev/web-app: shop}}}";
    person.kubectl(&["apply", "-f", &person.file("secret.yaml", secret)]);
    person.kubectl(&["wait", "--for=condition=Ready", "webapp/shop", "--timeout=120s"]);

    person.kubectl(&["delete", "webapp", "shop", "--timeout=120s"]);
    assert!(zone.lock().expect("lock is not poisoned").records().is_empty(), "its name was withdrawn");
    let log = process.log();
    assert!(!log.contains("forbidden") && !log.contains("WARN") && !log.contains("ERROR"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn on_the_embedded_server() {
    used(Server::embedded_with(&["--authorization", "rbac"])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_kube_apiserver() {
    used(tokio::task::block_in_place(Server::real)).await;
}
