//! Reconciles that are written down: kept, served, saved, redacted, and run again.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{ObjectMeta, PostParams};
use serde_json::Value;
use two_configmaps::{Pair, TwoConfigMaps};
use windlass::recording::{RecordedEnd, Recording, Replayed, replay};
use windlass::{
    Controller, Cx, Declaration, Event, Machine, Outcome, ReconcileResult, States, Verb, done, fail,
    requeue_after, secs,
};
use windlass_runtime::operations::endpoints::Endpoints;

use crate::support::{Embedded, Rig, Tap, eventually, manager};

const PASSWORD: &str = "correct horse battery";

/// Copies a password out of a Secret, talks about it, and fails.
struct Indiscreet;

#[derive(States)]
enum Step {
    #[state(initial, condition = "Copied", next(Accepted))]
    Copy,
    #[state(condition = "Accepted")]
    Accepted,
}

impl Machine for Indiscreet {
    type Parent = Pair;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.name("indiscreet").output::<ConfigMap>().may::<Secret>([Verb::Get]);
    }

    async fn run(&self, step: Step, cx: &Cx<Pair>) -> Outcome<Step> {
        let Some(secret) = cx.get::<Secret>("login").await? else {
            return requeue_after(secs(1), "NoSecret");
        };
        let password = secret.data.unwrap_or_default().remove("password").unwrap_or_default();
        let password = String::from_utf8_lossy(&password.0).trim().to_owned();
        match step {
            Step::Copy => {
                let name = Some(format!("{}-url", cx.name()));
                let url = format!("postgres://me:{password}@host");
                cx.ensure(ConfigMap {
                    metadata: ObjectMeta { name, ..ObjectMeta::default() },
                    data: Some(BTreeMap::from([("url".to_owned(), url)])),
                    ..ConfigMap::default()
                });
                cx.event(Event::normal("Copied", format!("the password is {password}")));
                windlass::to(Step::Accepted)
            }
            Step::Accepted if cx.parent().spec.value == "fine" => done(),
            Step::Accepted => fail("Refused", format!("{password} is not accepted")),
        }
    }
}

async fn create_login(embedded: &Embedded) {
    let data = BTreeMap::from([("password".to_owned(), ByteString(format!("{PASSWORD}\n").into_bytes()))]);
    let metadata = ObjectMeta { name: Some("login".to_owned()), ..ObjectMeta::default() };
    let secrets: kube::Api<Secret> =
        kube::Api::namespaced(embedded.cluster.client.clone(), &embedded.cluster.namespace);
    let secret = Secret { metadata, data: Some(data), ..Secret::default() };
    secrets.create(&PostParams::default(), &secret).await.expect("a secret");
}

fn assert_same(controller: &Controller, recording: &Recording) {
    let replayed = replay(controller, recording);
    assert!(matches!(replayed, Replayed::Same { uncertain: 0, .. }), "{}: {replayed}", recording.id);
}

#[tokio::test]
async fn every_reconcile_can_be_run_again() {
    let embedded = Embedded::start().await;
    let rig = Rig::start(&embedded.cluster).await;
    embedded.cluster.create_pair("a").await;
    embedded.cluster.until_ready("a").await;
    rig.until_idle().await;
    let handle = rig.running.handle();
    let recordings = handle.recordings("two-configmaps");
    assert_eq!(recordings.len() as u64, rig.reconciles());
    let first = recordings.first().expect("there is one");
    assert_eq!(first.causes, ["Pair.example.windlass.dev test/a (Parent)"]);
    assert!(first.batches.iter().any(|batch| batch.state == "Second"), "{first:?}");
    let controller = Controller::new(TwoConfigMaps);
    recordings.iter().for_each(|recording| assert_same(&controller, recording));
    let other = Controller::new(two_configmaps::SecondFirst);
    assert!(matches!(replay(&other, first), Replayed::Diverged { .. }));
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(handle.save_recordings(folder.path()).expect("they are written"), recordings.len());
    assert!(handle.recordings("unknown").is_empty());
    rig.running.stop().await;
}

#[tokio::test]
async fn failed_ones_are_saved_without_their_secrets() {
    let embedded = Embedded::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    create_login(&embedded).await;
    let running = manager(&embedded.cluster, &Tap::new())
        .controller(Indiscreet)
        .recordings(folder.path().join("failed"))
        .endpoints(Endpoints::default_address())
        .start()
        .await
        .expect("it starts");
    embedded.cluster.create_pair("a").await;
    let files = || -> Vec<_> {
        let entries = std::fs::read_dir(folder.path().join("failed")).into_iter().flatten();
        let paths = entries.map(|entry| entry.expect("an entry").path());
        paths.filter(|path| path.extension().is_some_and(|ending| ending == "json")).collect()
    };
    eventually("a file", async || !files().is_empty()).await;
    let text = std::fs::read_to_string(files().first().expect("a file")).expect("it can be read");
    assert!(!text.contains(PASSWORD), "{text}");
    assert!(!text.contains("Y29ycmVjdCBob3JzZSBiYXR0ZXJ5"), "base64: {text}");
    let recording = Recording::from_json(&text).expect("a recording");
    let RecordedEnd::Ended { result: ReconcileResult::Failed { message, .. }, .. } = &recording.end else {
        panic!("it failed: {:?}", recording.end)
    };
    assert!(message.starts_with("redacted-") && message.ends_with(" is not accepted"), "{message}");
    assert_same(&Controller::new(Indiscreet), &recording);

    let address = running.endpoints().expect("it serves");
    let list: Value = serde_json::from_str(&get(address, "/debug/recordings").await).expect("JSON");
    let entry = list.as_array().and_then(|list| list.first()).expect("one at least");
    assert_eq!((&entry["failed"], &entry["target"]["name"]), (&Value::from(true), &Value::from("a")));
    let path = format!("/debug/recordings/{}", entry["id"].as_str().expect("an id"));
    let served = get(address, &path).await;
    assert!(!served.contains(PASSWORD), "{served}");
    assert_same(&Controller::new(Indiscreet), &Recording::from_json(&served).expect("a recording"));
    running.stop().await;
}

/// The body of an answer.
async fn get(address: std::net::SocketAddr, path: &str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(address).await.expect("it listens");
    let request = format!("GET {path} HTTP/1.0\r\nhost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("it takes requests");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("it answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    assert!(head.contains(" 200 "), "{head}");
    body.to_owned()
}
