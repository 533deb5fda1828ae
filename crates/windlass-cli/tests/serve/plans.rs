//! `windlass plan` and `windlass replay` as a user runs them, on a served cluster.

use std::path::Path;
use std::process::{Command, Output};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::PostParams;
use kube::{Api, CustomResourceExt};
use serde_json::Value;
use two_configmaps::{Pair, TwoConfigMaps, pair};

use crate::eventually::eventually;
use crate::served::Served;

fn windlass(served: &Served, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args(arguments).env("KUBECONFIG", served.kubeconfig()).output().expect("the program starts")
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}

/// A server that knows pairs.
pub(crate) async fn served_with_pairs() -> (Served, kube::Client) {
    let served = Served::start(&[]);
    let client = served.client().await;
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.create(&PostParams::default(), &Pair::crd()).await.expect("a CRD");
    let pairs: Api<Pair> = Api::namespaced(client.clone(), "default");
    eventually("pairs are served", async || pairs.list(&Default::default()).await.is_ok()).await;
    (served, client)
}

fn write(folder: &Path, name: &str, content: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, content).expect("it is written");
    path.to_str().expect("a plain path").to_owned()
}

#[test]
fn a_cluster_that_does_not_answer_is_an_error() {
    let served = Served::start(&[]);
    let kubeconfig = served.kubeconfig();
    let folder = tempfile::tempdir().expect("a folder");
    let kept =
        write(folder.path(), "kubeconfig", &std::fs::read_to_string(kubeconfig).expect("a kubeconfig"));
    drop(served);
    let program = || Command::new(env!("CARGO_BIN_EXE_windlass"));
    let planned = program().args(["plan", "pair/a", "--exit-code", "--kubeconfig", &kept]).output();
    let planned = planned.expect("the program starts");
    let complaint = text(&planned.stderr);
    assert_eq!(planned.status.code(), Some(2), "{complaint}");
    assert!(complaint.contains("pair/a cannot be read from https://127.0.0.1:"), "{complaint}");
    for command in [["plan", "pair/a"], ["run", "klight"]] {
        let ended = program().args(command).env("KUBECONFIG", "/nowhere").output();
        let complaint = text(&ended.expect("the program starts").stderr);
        assert!(complaint.contains("KUBECONFIG is /nowhere, which cannot be used"), "{complaint}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_of_a_file_and_of_an_object() {
    let (served, client) = served_with_pairs().await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = "apiVersion: example.windlass.dev/v1\nkind: Pair\nmetadata: {name: a}\nspec: {value: v}\n";
    let file = write(folder.path(), "pair.yaml", file);
    let planned = windlass(&served, &["plan", &file]);
    let out = text(&planned.stdout);
    assert!(planned.status.success(), "{out}{}", text(&planned.stderr));
    assert!(out.contains("create ConfigMap default/a-cm1\n  + apiVersion: \"v1\"\n"), "{out}");
    assert_eq!(windlass(&served, &["plan", &file, "--exit-code"]).status.code(), Some(2));

    let missing = windlass(&served, &["plan", "pair/a"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(text(&missing.stderr).contains("there is no pair/a in namespace \"default\""));
    let pairs: Api<Pair> = Api::namespaced(client, "default");
    pairs.create(&PostParams::default(), &pair("a")).await.expect("a pair");
    let planned = windlass(&served, &["plan", "pairs/a", "-n", "default", "--json"]);
    let plan: Value = serde_json::from_slice(&planned.stdout).expect("JSON");
    assert_eq!((&plan["controller"], &plan["target"]["name"]), (&"two-configmaps".into(), &"a".into()));
    assert_eq!(plan["changes"].as_array().map(Vec::len), Some(3), "{plan:#}");
    let unknown = windlass(&served, &["plan", "configmap/a"]);
    assert!(text(&unknown.stderr).contains("no controller of this program reconciles configmap"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recorded_reconcile_is_run_again() {
    let (served, client) = served_with_pairs().await;
    let manager = windlass_runtime::Manager::new().client(client.clone()).preflight(false);
    let running = manager.controller(TwoConfigMaps).start().await.expect("it starts");
    let pairs: Api<Pair> = Api::namespaced(client, "default");
    pairs.create(&PostParams::default(), &pair("a")).await.expect("a pair");
    let recorded = || running.handle().recordings("two-configmaps");
    eventually("a reconcile is recorded", async || !recorded().is_empty()).await;
    let recording = recorded().swap_remove(0);
    running.stop().await;
    let folder = tempfile::tempdir().expect("a folder");
    let whole = recording.to_json();
    let file = write(folder.path(), "reconcile.json", &whole);
    let replayed = windlass(&served, &["replay", &file]);
    let out = text(&replayed.stdout);
    assert_eq!(replayed.status.code(), Some(0), "{out}{}", text(&replayed.stderr));
    assert!(out.starts_with("two-configmaps reconciled default/a at "), "{out}");
    assert!(out.contains("because of Pair.example.windlass.dev default/a (Parent)\nthe same: "), "{out}");

    // As if the code had asked for something else when it was recorded.
    let other = write(folder.path(), "other.json", &whole.replace("a-cm1", "a-cm0"));
    let replayed = windlass(&served, &["replay", &other, "--json"]);
    assert_eq!(replayed.status.code(), Some(3));
    let outcome: Value = serde_json::from_slice(&replayed.stdout).expect("JSON");
    assert_eq!(outcome["replayed"], "diverged", "{outcome:#}");
    assert!(outcome["difference"].as_str().is_some_and(|lines| lines.contains("\n- ")), "{outcome:#}");
    let named = "\"controller\": \"two-configmaps\"";
    assert!(whole.contains(named), "{whole}");
    let unknown = write(folder.path(), "unknown.json", &whole.replacen(named, "\"controller\": \"mine\"", 1));
    let replayed = windlass(&served, &["replay", &unknown]);
    assert_eq!(replayed.status.code(), Some(2));
    let message = text(&replayed.stderr);
    assert!(
        message.contains(
            "of the controller \"mine\", which this program does not have (it has two-configmaps, web-app, klight, mizar)"
        ),
        "{message}"
    );
    // A file that is neither is reported as before.
    let neither = write(folder.path(), "neither.json", "{}");
    assert!(text(&windlass(&served, &["replay", &neither]).stderr).contains("no counterexample"));
}
