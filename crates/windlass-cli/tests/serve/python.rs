//! Python: the official client, typed and dynamic, and an operator written with kopf, as their users run them.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Event};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::runtime::wait::{await_condition, conditions};
use kube::{Client, ResourceExt};
use serde_json::json;

use crate::eventually::eventually;
use crate::served::Served;

/// Timeout of each wait.
const TIMEOUT: Duration = Duration::from_secs(180);

#[test]
fn the_typed_client() {
    run("typed_client.py", TIMEOUT);
}

#[test]
fn watches() {
    run("watches.py", TIMEOUT);
}

#[test]
fn the_dynamic_client() {
    run("dynamic_client.py", TIMEOUT);
}

/// `WINDLASS_EXAMPLES` makes it longer.
#[test]
fn requests_made_up_from_the_openapi_documents() {
    run("openapi.py", TIMEOUT * 20);
}

/// The operator makes, changes and cleans up; it is killed, and what happened meanwhile is done when it is back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kopf_operator() {
    let served = Served::start(&[]);
    let client = served.client().await;
    let notes = install_notes(&client).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let operator = Operator::start(&served.kubeconfig());

    create(&notes, "plain", "hello").await;
    create(&notes, "slow", "troublesome").await;
    create(&notes, "lost", "impossible").await;
    for (name, text) in [("plain", "hello"), ("slow", "troublesome")] {
        until(&maps, name, |map| text_of(map) == Some(text)).await;
        until(&notes, name, |note| is_noted(note, "create_map")).await;
        until(&notes, name, |note| note.is_some_and(|note| note.data["status"]["ticks"] == 3)).await;
        until(&notes, name, |note| {
            note.is_some_and(|note| note.annotations().contains_key("example.com/watched"))
        })
        .await;
    }
    let note = notes.get("plain").await.expect("it is there");
    assert_eq!(note.finalizers(), ["example.com/kopf"]);
    let owner = &maps.get("plain").await.expect("made").owner_references()[0].uid.clone();
    assert_eq!(Some(owner), note.uid().as_ref());

    let changed = json!({"spec": {"text": "changed"}});
    notes.patch("plain", &PatchParams::default(), &Patch::Merge(changed)).await.expect("patched");
    until(&maps, "plain", |map| text_of(map) == Some("changed")).await;
    assert_eq!(maps.get("plain").await.expect("there").data.expect("data")["before"], "hello");

    // What happens while the operator is down is handled afterwards.
    operator.kill();
    create(&notes, "missed", "later").await;
    notes.delete("slow", &DeleteParams::default()).await.expect("asked to go");
    let unseen = json!({"spec": {"text": "unseen"}});
    notes.patch("plain", &PatchParams::default(), &Patch::Merge(unseen)).await.expect("patched");
    assert!(notes.get_opt("slow").await.expect("answered").is_some(), "its finalizer keeps it");
    let operator = Operator::start(&served.kubeconfig());
    until(&maps, "missed", |map| text_of(map) == Some("later")).await;
    until(&maps, "plain", |map| text_of(map) == Some("unseen")).await;
    until(&notes, "slow", |note| note.is_none()).await;
    until(&maps, "farewell-slow", |map| map.is_some()).await;
    until(&maps, "slow", |map| map.is_none()).await;
    assert!(maps.get_opt("lost").await.expect("answered").is_none(), "it was given up");
    until_event(&client, "plain", "Made").await;
    until_event(&client, "lost", "GivenUp").await;
    operator.kill();
}

/// Runs a script to its end against a server of its own.
fn run(script: &str, timeout: Duration) {
    let served = Served::start(&[]);
    let output = tempfile::tempfile().expect("a temporary file");
    let mut child = python(&served.kubeconfig())
        .arg(folder().join(script))
        .stdout(output.try_clone().expect("a second handle"))
        .stderr(output.try_clone().expect("a second handle"))
        .spawn()
        .expect("Python starts");
    let started = std::time::Instant::now();
    let status = loop {
        match child.try_wait().expect("it can be asked") {
            Some(status) => break Some(status),
            None if started.elapsed() > timeout => break None,
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    if status.is_none() {
        child.kill().expect("it runs");
    }
    let printed = printed(output);
    assert!(
        status.is_some_and(|status| status.success()) && printed.ends_with("ok\n"),
        "{script} ended with {status:?}:\n{printed}"
    );
}

fn printed(mut output: std::fs::File) -> String {
    use std::io::{Read, Seek};
    let mut text = Vec::new();
    output.rewind().expect("a file");
    output.read_to_end(&mut text).expect("it can be read");
    String::from_utf8_lossy(&text).into_owned()
}

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/serve/python"))
}

fn python(kubeconfig: &Path) -> Command {
    let python = std::env::var_os("WINDLASS_PYTHON").filter(|path| !path.is_empty()).expect(
        "WINDLASS_PYTHON names no Python with the packages of tests/serve/python/requirements.txt: \
         `cargo xtask python` makes one, and `cargo xtask test` uses it",
    );
    let mut command = Command::new(python);
    command.env("KUBECONFIG", kubeconfig).env("PYTHONUNBUFFERED", "1").env("PYTHONDONTWRITEBYTECODE", "1");
    command.stdin(Stdio::null());
    command
}

/// A running operator, killed when it is dropped; its log is shown if the test fails.
struct Operator {
    child: Child,
    log: tempfile::NamedTempFile,
}

impl Operator {
    fn start(kubeconfig: &Path) -> Operator {
        let log = tempfile::NamedTempFile::new().expect("a temporary file");
        let share = || log.as_file().try_clone().expect("a second handle");
        let child = python(kubeconfig)
            .args(["-m", "kopf", "run", "--namespace", "default", "--standalone"])
            .arg(folder().join("notes_operator.py"))
            .stdout(share())
            .stderr(share())
            .spawn()
            .expect("kopf starts");
        Operator { child, log }
    }

    /// Ends it without warning.
    fn kill(mut self) {
        self.child.kill().expect("it runs until it is killed");
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("{}", std::fs::read_to_string(self.log.path()).unwrap_or_default());
        }
    }
}

async fn install_notes(client: &Client) -> Api<DynamicObject> {
    let definition: CustomResourceDefinition = serde_json::from_value(json!({
        "metadata": {"name": "notes.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": "Note", "plural": "notes"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {
                        "spec": {"type": "object", "properties": {"text": {"type": "string"}}},
                        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}
                    }
                }}
            }]
        }
    }))
    .expect("a definition");
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.create(&PostParams::default(), &definition).await.expect("taken");
    let established = await_condition(definitions, "notes.example.com", conditions::is_crd_established());
    tokio::time::timeout(TIMEOUT, established).await.expect("in time").expect("established");
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Note"));
    Api::default_namespaced_with(client.clone(), &kind)
}

async fn create(notes: &Api<DynamicObject>, name: &str, text: &str) {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Note"));
    let note = DynamicObject::new(name, &kind).data(json!({"spec": {"text": text}}));
    notes.create(&PostParams::default(), &note).await.expect("created");
}

async fn until<K>(objects: &Api<K>, name: &str, wanted: impl Fn(Option<&K>) -> bool)
where
    K: kube::Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned + Send + 'static,
{
    let reached = await_condition(objects.clone(), name, |object: Option<&K>| wanted(object));
    let reached = tokio::time::timeout(TIMEOUT, reached).await;
    reached.unwrap_or_else(|_| panic!("{name} did not become as expected")).expect("the watch goes on");
}

/// Waits for an event about a note, which kopf posts from behind.
async fn until_event(client: &Client, name: &str, reason: &str) {
    let events: Api<Event> = Api::default_namespaced(client.clone());
    let selected = ListParams::default().fields(&format!("involvedObject.name={name},reason={reason}"));
    let what = format!("an event {reason} for {name}");
    eventually(&what, async || !events.list(&selected).await.expect("listed").items.is_empty()).await;
}

fn text_of(map: Option<&ConfigMap>) -> Option<&str> {
    map?.data.as_ref()?.get("text").map(String::as_str)
}

/// Whether kopf has noted the result of a handler in the status.
fn is_noted(note: Option<&DynamicObject>, handler: &str) -> bool {
    note.is_some_and(|note| note.data["status"][handler].is_object())
}
