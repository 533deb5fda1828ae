//! Outputs of states that wait or fail, fenced outputs, and what a state writes beside them.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use serde_json::{Value, json};
use windlass::model::{PatchKind, Request, ResourceId, Store, Verb};
use windlass::{
    Ask, Bug, Controller, Cx, Declaration, Machine, Outcome, Output, ReconcileResult, States, done, fail,
    fail_for_good, requeue_after, secs,
};

use crate::fixture::{Bench, Widget, config_map, maps};

#[derive(States)]
enum Only {
    #[state(initial, condition = "Made")]
    Make,
}

/// Does what the widget's `choice` says, in one state.
struct Maker;

impl Machine for Maker {
    type Parent = Widget;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.name("maker").output::<ConfigMap>().output::<Secret>();
    }

    async fn run(&self, _: Only, cx: &Cx<Widget>) -> Outcome<Only> {
        let spec = &cx.parent().spec;
        let map = config_map("made", &spec.value);
        match spec.choice.as_str() {
            "wait" => {
                cx.ensure(map);
                return requeue_after(secs(5), "WaitingForTheWorld");
            }
            "fail" => {
                cx.ensure(map);
                return fail("Broken", "it is broken");
            }
            "terminal" => {
                cx.ensure(map);
                return fail_for_good("Hopeless", "it is hopeless");
            }
            "refused" => {
                cx.ensure(map);
                cx.create(&config_map("Not A Name", "")).await?;
            }
            "password" => {
                let password = cx.random_password(50).await;
                let secret: Secret = serde_json::from_value(json!({
                    "metadata": { "name": "made" }, "stringData": { "password": password },
                }))
                .expect("a Secret");
                cx.ensure(Output::from(secret).only_if_absent());
            }
            "fenced" => cx.ensure(Output::from(map).fenced()),
            "read" => {
                let read = cx.get::<ConfigMap>("made").await?.expect("it was made before");
                // Somebody else's turn, in the middle of the reconcile.
                cx.request(
                    maps(Verb::Patch(PatchKind::Merge))
                        .named("made")
                        .with_body(json!({ "data": { "other": cx.random().await.to_string() } })),
                )
                .await;
                cx.ensure(Output::from(map).if_unchanged_since(&read));
            }
            "create" => {
                if cx.get::<ConfigMap>("made").await?.is_none() {
                    let mut first = map.clone();
                    first.data.get_or_insert_default().insert("first".to_owned(), "x".to_owned());
                    cx.create(&first).await?;
                }
                cx.ensure(config_map("made", "ensured"));
            }
            "patch" => {
                cx.ensure(map);
                if cx.get::<ConfigMap>("made").await?.is_some() {
                    cx.patch::<ConfigMap>("made", json!({ "data": { "value": "patched", "mine": "1" } }))
                        .await?;
                }
            }
            _ => {}
        }
        done()
    }
}

fn bench(choice: &str) -> Bench {
    let mut bench = Bench::new(json!({ "choice": choice, "value": "1" }));
    bench.controller = Controller::new(Maker);
    bench
}

/// The entries of `managedFields` that are the controller's, as `manager operation`.
fn ownership(object: &Value) -> Vec<String> {
    let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let shown = |entry: &Value| format!("{} {}", entry["manager"], entry["operation"]).replace('"', "");
    entries.iter().map(shown).filter(|entry| entry.starts_with("windlass-maker")).collect()
}

#[test]
fn outputs_of_a_state_that_waits_are_applied() {
    let mut bench = bench("wait");
    let ended = bench.reconcile();
    assert!(matches!(ended.result, ReconcileResult::Requeue { .. }), "{:?}", ended.result);
    assert_eq!(bench.map("made").unwrap()["data"]["value"], "1");
    assert_eq!(bench.inventory(), ["made"]);
    assert_eq!(bench.condition("Made"), "False WaitingForTheWorld");
    assert_eq!(bench.condition("Ready"), "False WaitingForTheWorld");
    // It is still pruned once a completed run wants it no more.
    bench.patch(json!({ "spec": { "choice": "" } }));
    bench.reconcile();
    assert_eq!(bench.map("made"), None);
}

#[test]
fn a_state_that_ensures_and_then_decides_to_fail_is_a_bug() {
    for (choice, reason) in [("fail", "Broken"), ("terminal", "Hopeless")] {
        let mut bench = bench(choice);
        let bug = bench.reconcile().bug.unwrap();
        let Bug::OutputNotApplied { state, outputs, reason: given, .. } = &bug else { panic!("{bug}") };
        assert_eq!(
            (state.as_str(), outputs.as_str(), given.as_str()),
            ("Make", "ConfigMap default/made", reason)
        );
        assert_eq!(bench.condition("Ready"), "False OutputNotApplied");
        assert_eq!(bench.map("made"), None);
    }
}

#[test]
fn a_refused_request_names_the_outputs_that_wait_for_the_next_try() {
    let mut bench = bench("refused");
    let ended = bench.reconcile();
    let ReconcileResult::Failed { reason, message } = &ended.result else { panic!("{:?}", ended.result) };
    assert_eq!(reason, "RequestRefused");
    assert!(message.ends_with("; not applied yet: ConfigMap default/made"), "{message}");
    assert_eq!(bench.map("made"), None);
}

#[test]
fn what_is_created_only_if_absent_is_never_changed() {
    let mut bench = bench("password");
    bench.reconcile();
    let secret = |bench: &Bench| bench.object("", "secrets", "default", "made").unwrap();
    let first = secret(&bench);
    assert_eq!(first["data"]["password"].as_str().unwrap().len(), 68, "50 characters in base64");
    bench.reconcile();
    assert_eq!(secret(&bench), first);
    // A create that was sent before the crash, with another password, arrives late.
    let create = bench
        .local
        .log
        .iter()
        .find(|(ask, _)| matches!(ask, Ask::Api { request, .. } if request.verb == Verb::Create));
    assert!(create.is_none(), "the second reconcile sends none");
    assert_eq!(bench.inventory(), ["made"]);
    // It is an output like others: found again and pruned.
    bench.patch(json!({ "spec": { "choice": "" } }));
    bench.reconcile();
    assert_eq!(bench.object("", "secrets", "default", "made"), None);
}

/// The writes of the last reconcile to ConfigMaps and Secrets.
fn writes(bench: &Bench) -> Vec<Request> {
    let outputs = |request: &Request| {
        request.verb.is_write() && ["configmaps", "secrets"].contains(&&*request.resource.plural)
    };
    let requests = bench.local.log.iter().filter_map(|(ask, _)| match ask {
        Ask::Api { request, .. } if outputs(request) => Some((**request).clone()),
        _ => None,
    });
    requests.collect()
}

#[test]
fn late_and_repeated_writes_of_fenced_outputs_change_nothing() {
    let mut bench = bench("fenced");
    bench.reconcile();
    let mut old = writes(&bench);
    assert_eq!(old.len(), 1, "one create");
    bench.patch(json!({ "spec": { "value": "2" } }));
    bench.reconcile();
    old.extend(writes(&bench));
    bench.patch(json!({ "spec": { "value": "3" } }));
    bench.reconcile();
    old.extend(writes(&bench));
    let settled = bench.map("made").unwrap();
    assert_eq!(settled["data"], json!({ "value": "3" }));
    assert_eq!(ownership(&settled), ["windlass-maker Apply"]);
    for request in old {
        bench.send(request);
    }
    assert_eq!(bench.map("made").unwrap(), settled);
}

#[test]
fn an_output_that_changed_since_it_was_read_is_a_conflict() {
    let mut bench = bench("fenced");
    bench.reconcile();
    bench.patch(json!({ "spec": { "choice": "read", "value": "2" } }));
    let ended = bench.reconcile();
    assert!(matches!(ended.result, ReconcileResult::Conflict { .. }), "{:?}", ended.result);
    assert_eq!(bench.map("made").unwrap()["data"]["value"], "1");
}

#[test]
fn what_the_controller_created_itself_it_can_ensure() {
    let mut bench = bench("create");
    for round in 0..3 {
        let ended = bench.reconcile();
        assert_eq!(ended.result, ReconcileResult::Done { requeue_after: None }, "round {round}");
    }
    let map = bench.map("made").unwrap();
    assert_eq!(map["data"], json!({ "value": "ensured" }), "what the apply leaves out goes");
    assert_eq!(ownership(&map), ["windlass-maker Apply"]);
}

#[test]
fn an_update_of_its_own_does_not_stand_in_the_way() {
    let mut bench = bench("patch");
    bench.reconcile();
    for _ in 0..2 {
        let ended = bench.reconcile();
        assert_eq!(ended.result, ReconcileResult::Done { requeue_after: None });
        let map = bench.map("made").unwrap();
        assert_eq!(map["data"], json!({ "value": "1", "mine": "1" }));
    }
    // But one of somebody else does.
    let theirs =
        maps(Verb::Patch(PatchKind::Merge)).named("made").with_body(json!({ "data": { "value": "theirs" } }));
    bench.send(theirs);
    bench.patch(json!({ "spec": { "choice": "fenced" } }));
    assert!(matches!(bench.reconcile().result, ReconcileResult::Conflict { .. }));
}

#[test]
fn random_values_differ_from_one_reconcile_to_the_next() {
    let mut bench = bench("password");
    let mut drawn = Vec::new();
    for _ in 0..2 {
        bench.reconcile();
        let secrets = ResourceId::new("", "v1", "secrets");
        bench.send(Request::new(Verb::Delete, secrets).in_namespace("default").named("made"));
        drawn.push(
            bench.local.log.iter().find(|(ask, _)| *ask == Ask::Random { secret: true }).unwrap().1.clone(),
        );
    }
    assert_ne!(drawn[0], drawn[1]);
    assert_eq!(bench.local.cluster.store().all().filter(|(key, _)| &*key.plural == "secrets").count(), 0);
}
