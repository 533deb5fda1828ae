//! The rules of a reconcile, one by one, against a cluster in memory.

use crate::fixture::{Bench, WIDGET, config_map, maps, widgets};
use serde_json::json;
use windlass::model::{PatchKind, Timestamp, Verb};
use windlass::{Bug, ObjectRef, ReconcileResult, secs, to_value};

#[test]
fn outcomes_become_conditions_and_a_result() {
    let rows = [
        ("left", "True Done", "True Done", "Unknown NotReached", "True AllDone"),
        ("right", "True Done", "Unknown NotReached", "True Done", "True AllDone"),
        ("", "True Done", "Unknown NotReached", "Unknown NotReached", "True AllDone"),
        ("again", "True Done", "Unknown NotReached", "Unknown NotReached", "True AllDone"),
        (
            "wait",
            "False WaitingForAChoice",
            "Unknown NotReached",
            "Unknown NotReached",
            "False WaitingForAChoice",
        ),
        ("fail", "False Broken", "Unknown NotReached", "Unknown NotReached", "False Broken"),
        ("terminal", "False Hopeless", "Unknown NotReached", "Unknown NotReached", "False Hopeless"),
        (
            "astray",
            "False UndeclaredTransition",
            "Unknown NotReached",
            "Unknown NotReached",
            "False UndeclaredTransition",
        ),
    ];
    for (choice, made, left, right, ready) in rows {
        let mut bench = Bench::new(json!({ "maps": ["a"], "choice": choice }));
        let ended = bench.reconcile();
        assert_eq!(bench.condition("MapsReady"), "True Done", "{choice}");
        assert_eq!(bench.condition("ChoiceMade"), made, "{choice}");
        assert_eq!(bench.condition("LeftReady"), left, "{choice}");
        assert_eq!(bench.condition("RightReady"), right, "{choice}");
        assert_eq!(bench.condition("Ready"), ready, "{choice}");
        let result = match choice {
            "again" => ReconcileResult::Done { requeue_after: Some(secs(60)) },
            "wait" => ReconcileResult::Requeue { after: secs(5), reason: "waiting for a choice".to_owned() },
            "fail" => {
                ReconcileResult::Failed { reason: "Broken".to_owned(), message: "it is broken".to_owned() }
            }
            "terminal" => ReconcileResult::Terminal {
                reason: "Hopeless".to_owned(),
                message: "it is hopeless".to_owned(),
            },
            "astray" => {
                assert!(matches!(ended.result, ReconcileResult::Terminal { .. }));
                continue;
            }
            _ => ReconcileResult::Done { requeue_after: None },
        };
        assert_eq!(ended.result, result, "{choice}");
    }
}

#[test]
fn an_undeclared_transition_names_controller_and_states() {
    let mut bench = Bench::new(json!({ "choice": "astray" }));
    let bug = bench.reconcile().bug.unwrap();
    assert_eq!(
        bug,
        Bug::UndeclaredTransition {
            controller: "widgets".to_owned(),
            from: "Choice".to_owned(),
            to: "Maps".to_owned()
        }
    );
}

#[test]
fn a_panic_is_caught_names_the_state_and_falsifies_ready() {
    let mut bench = Bench::new(json!({ "choice": "left" }));
    bench.reconcile();
    assert_eq!(bench.condition("Ready"), "True AllDone");
    bench.patch(json!({ "spec": { "choice": "panic" } }));
    let bug = bench.reconcile().bug.unwrap();
    assert!(
        bug.to_string().starts_with("controller `widgets`, state `Choice`: it panicked: this was"),
        "{bug}"
    );
    assert_eq!(bench.condition("ChoiceMade"), "False Panicked");
    assert_eq!(bench.condition("Ready"), "False Panicked");
}

#[test]
fn a_second_reconcile_writes_nothing() {
    let mut bench = Bench::new(json!({ "maps": ["a", "b"], "choice": "left" }));
    bench.reconcile();
    // The finalizer, two outputs, the status.
    assert_eq!(bench.writes(), 4);
    let before = bench.local.cluster.store().clone();
    bench.local.set_now(Timestamp::from_unix_seconds(5_000));
    bench.reconcile();
    assert_eq!(*bench.local.cluster.store(), before);
    // The applies are sent, as this driver has no cache to skip them by, and change nothing; no status is written.
    assert_eq!(bench.writes(), 2);
    // The parent; per output a look and an apply; the list that finds what is left over.
    assert_eq!(bench.local.log.len(), 6);
}

#[test]
fn conditions_carry_the_generation_and_keep_their_time() {
    let mut bench = Bench::new(json!({ "choice": "left" }));
    bench.reconcile();
    let first = bench.widget().unwrap()["status"].clone();
    assert_eq!(first["observedGeneration"], 1);
    assert_eq!(first["conditions"][0]["lastTransitionTime"], "1970-01-01T00:16:40Z");

    bench.local.set_now(Timestamp::from_unix_seconds(2_000));
    bench.patch(json!({ "spec": { "choice": "right" } }));
    bench.reconcile();
    let second = bench.widget().unwrap()["status"].clone();
    assert_eq!(second["observedGeneration"], 2);
    for condition in second["conditions"].as_array().unwrap() {
        assert_eq!(condition["observedGeneration"], 2, "{condition}");
        let moved = ["LeftReady", "RightReady"].contains(&condition["type"].as_str().unwrap());
        let expected = if moved { "1970-01-01T00:33:20Z" } else { "1970-01-01T00:16:40Z" };
        assert_eq!(condition["lastTransitionTime"], expected, "{condition}");
    }
}

#[test]
fn outputs_have_an_owner_and_a_manager() {
    let mut bench = Bench::new(json!({ "maps": ["a"], "value": "1" }));
    bench.reconcile();
    let map = bench.map("a").unwrap();
    let owner = &map["metadata"]["ownerReferences"][0];
    assert_eq!(owner["kind"], "Widget");
    assert_eq!(owner["controller"], true);
    assert_eq!(owner["uid"], bench.widget().unwrap()["metadata"]["uid"]);
    assert_eq!(map["metadata"]["managedFields"][0]["manager"], "windlass-widgets");
    assert_eq!(map["metadata"]["managedFields"][0]["operation"], "Apply");
}

#[test]
fn what_is_no_longer_ensured_is_pruned_in_reverse_order() {
    let mut bench = Bench::new(json!({ "maps": ["a", "b", "c"] }));
    bench.reconcile();
    assert_eq!(bench.inventory(), ["a", "b", "c"]);
    bench.patch(json!({ "spec": { "maps": ["b"] } }));
    bench.reconcile();
    let deleted: Vec<&str> = bench
        .local
        .log
        .iter()
        .filter_map(|(ask, _)| match ask {
            windlass::Ask::Api { request, .. } if request.verb == Verb::Delete => request.name.as_deref(),
            _ => None,
        })
        .collect();
    assert_eq!(deleted, ["c", "a"]);
    assert_eq!((bench.map("a"), bench.map("c")), (None, None));
    assert_eq!(bench.inventory(), ["b"]);
}

#[test]
fn an_unfinished_run_prunes_nothing() {
    let mut bench = Bench::new(json!({ "maps": ["a", "b"] }));
    bench.reconcile();
    bench.patch(json!({ "spec": { "maps": ["c"], "choice": "wait" } }));
    bench.reconcile();
    assert!(bench.map("a").is_some() && bench.map("b").is_some() && bench.map("c").is_some());
    assert_eq!(bench.inventory(), ["a", "b", "c"]);
    bench.patch(json!({ "spec": { "choice": "" } }));
    bench.reconcile();
    assert!(bench.map("a").is_none() && bench.map("c").is_some());
}

#[test]
fn a_failed_prune_stays_in_the_inventory() {
    let mut bench = Bench::new(json!({ "maps": ["a", "b"] }));
    bench.reconcile();
    // Something holds the map back.
    let hold = json!({ "metadata": { "finalizers": ["example.com/hold"] } });
    bench.send(maps(Verb::Patch(PatchKind::Merge)).named("a").with_body(hold));
    bench.patch(json!({ "spec": { "maps": ["b"] } }));
    bench.reconcile();
    assert!(bench.map("a").unwrap()["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(bench.inventory(), ["b", "a"]);
    let release = json!({ "metadata": { "finalizers": null } });
    bench.send(maps(Verb::Patch(PatchKind::Merge)).named("a").with_body(release));
    bench.reconcile();
    assert_eq!(bench.map("a"), None);
    assert_eq!(bench.inventory(), ["b"]);
}

#[test]
fn an_object_of_somebody_else_is_not_pruned() {
    let mut bench = Bench::new(json!({ "maps": ["a"] }));
    bench.reconcile();
    // Deleted and made again by hand, with the labels copied.
    let mut copy = to_value(&config_map("a", "mine")).unwrap();
    copy["metadata"]["labels"] = bench.map("a").unwrap()["metadata"]["labels"].clone();
    bench.send(maps(Verb::Delete).named("a"));
    bench.send(maps(Verb::Create).with_body(copy));
    bench.patch(json!({ "spec": { "maps": [] } }));
    bench.reconcile();
    assert_eq!(bench.map("a").unwrap()["data"]["value"], "mine");
    assert_eq!(bench.inventory(), Vec::<String>::new());
}

#[test]
fn a_conflict_is_not_an_error_and_names_the_other_manager() {
    let mut bench = Bench::new(json!({ "maps": ["a"], "value": "ours" }));
    bench.reconcile();
    let theirs = json!({ "data": { "value": "theirs" } });
    bench.send(maps(Verb::Patch(PatchKind::Merge)).named("a").with_body(theirs));
    let ended = bench.reconcile();
    assert!(matches!(ended.result, ReconcileResult::Conflict { .. }), "{ended:?}");
    assert_eq!(bench.condition("MapsReady"), "False Conflict");
    let message = bench.widget().unwrap()["status"]["conditions"][0]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("conflict with \"user\"") && message.contains(".data.value"), "{message}");
    assert_eq!(bench.map("a").unwrap()["data"]["value"], "theirs");
}

#[test]
fn what_somebody_else_made_is_not_taken_over() {
    let mut bench = Bench::new(json!({ "maps": ["a"], "value": "ours" }));
    let mut theirs = to_value(&config_map("a", "theirs")).unwrap();
    theirs["data"] = json!({ "other": "theirs" });
    bench.send(maps(Verb::Create).with_body(theirs.clone()));
    let ended = bench.reconcile();
    let ReconcileResult::Conflict { message, .. } = &ended.result else { panic!("{ended:?}") };
    assert!(message.contains("made by \"user\"") && message.contains("Output::forced"), "{message}");
    assert_eq!(bench.map("a").unwrap()["data"], theirs["data"]);
    bench.delete();
    bench.reconcile();
    bench.local.cluster.settle();
    assert!(bench.widget().is_none() && bench.map("a").is_some());
}

#[test]
fn two_parents_do_not_take_turns_with_one_output() {
    let mut bench = Bench::new(json!({ "maps": ["a"] }));
    bench.reconcile();
    let mut second = bench.widget().unwrap();
    second["metadata"] = json!({ "name": "w2", "namespace": "default" });
    bench.send(widgets(Verb::Create).with_body(second));
    let ended = bench.local.reconcile(&bench.controller, &ObjectRef::new("default", "w2")).unwrap();
    let ReconcileResult::Conflict { message, .. } = &ended.result else { panic!("{ended:?}") };
    assert!(message.contains("it belongs to Widget w;"), "{message}");
    assert_eq!(bench.map("a").unwrap()["metadata"]["ownerReferences"].as_array().unwrap().len(), 1);
}

#[test]
fn done_and_requeue_does_not_release_the_finalizer() {
    let mut bench = Bench::new(json!({}));
    bench.reconcile();
    bench.registry_answers(vec![json!("requeue"), json!(true)]);
    bench.delete();
    assert_eq!(bench.reconcile().result, ReconcileResult::Done { requeue_after: Some(secs(9)) });
    assert!(bench.widget().is_some());
    bench.reconcile();
    assert_eq!(bench.widget(), None);
}

#[test]
fn the_schema_of_the_status_guards_the_inventory() {
    let mut bench = Bench::new(json!({ "maps": ["a"] }));
    bench.reconcile();
    let broken =
        json!({ "status": { "controllers": [{ "name": "widgets", "outputs": [{ "kind": "ConfigMap" }] }] } });
    let request = widgets(Verb::Patch(PatchKind::Merge)).named(WIDGET).on("status").with_body(broken);
    let response = bench.send(request);
    assert_eq!(response.code, 422, "{response:?}");
    assert_eq!(bench.inventory(), ["a"]);
}

#[test]
fn suspended_means_hands_off_even_on_deletion() {
    let mut bench = Bench::new(json!({ "maps": ["a"] }));
    bench.reconcile();
    bench.patch(
        json!({ "metadata": { "annotations": { "windlass.dev/suspend": "" } }, "spec": { "maps": ["b"] } }),
    );
    assert_eq!(bench.reconcile().result, ReconcileResult::Idle);
    assert_eq!(bench.condition("Suspended"), "True Annotated");
    assert!(bench.map("b").is_none() && bench.map("a").is_some());
    assert_eq!(bench.widget().unwrap()["status"]["observedGeneration"], 1);

    bench.delete();
    assert_eq!(bench.reconcile().result, ReconcileResult::Idle);
    assert!(bench.widget().is_some());

    bench.patch(json!({ "metadata": { "annotations": { "windlass.dev/suspend": null } } }));
    bench.reconcile();
    assert_eq!(bench.widget(), None);
}

#[test]
fn suspension_ends_with_its_condition() {
    let mut bench = Bench::new(json!({ "maps": [] }));
    bench.patch(json!({ "metadata": { "annotations": { "windlass.dev/suspend": "true" } } }));
    bench.reconcile();
    bench.patch(json!({ "metadata": { "annotations": { "windlass.dev/suspend": "false" } } }));
    bench.reconcile();
    assert_eq!(bench.condition("Suspended"), "absent");
    assert_eq!(bench.condition("Ready"), "True AllDone");
}

#[test]
fn the_finalizer_comes_first_and_goes_only_when_its_machine_is_done() {
    let mut bench = Bench::new(json!({ "maps": ["a"], "elsewhere": "e" }));
    bench.reconcile();
    let first_write = bench.local.log.iter().find(|(ask, _)| ask.has_effect()).map(|(ask, _)| ask.clone());
    let windlass::Ask::Api { request, .. } = first_write.unwrap() else { panic!("a call") };
    assert_eq!(request.body.unwrap()["metadata"]["finalizers"], json!(["windlass.dev/widgets"]));
    assert!(bench.object("", "configmaps", "kube-public", "e").is_some());

    // The service says "not yet", then "yes".
    bench.registry_answers(vec![json!(false), json!(true)]);
    bench.delete();
    let waiting = bench.reconcile();
    assert!(matches!(waiting.result, ReconcileResult::Requeue { .. }), "{waiting:?}");
    assert_eq!(bench.condition("Unregistered"), "False StillThere");
    assert_eq!(bench.condition("Ready"), "False StillThere");
    assert!(bench.widget().is_some());
    assert_eq!(bench.map("farewell"), None, "outputs during deletion never create");

    bench.reconcile();
    assert_eq!(bench.widget(), None);
    // No owner reference reaches another namespace: the controller cleans up there; the collector does the rest.
    assert_eq!(bench.object("", "configmaps", "kube-public", "e"), None);
    bench.local.cluster.settle();
    assert_eq!(bench.map("a"), None);
}

#[test]
fn what_only_the_inventory_knows_is_recorded_before_it_is_created() {
    let mut bench = Bench::new(json!({ "untied": "u" }));
    bench.reconcile();
    let position = |wanted: &dyn Fn(&windlass::model::Request) -> bool| {
        bench
            .local
            .log
            .iter()
            .position(|(ask, _)| matches!(ask, windlass::Ask::Api { request, .. } if wanted(request)))
            .unwrap()
    };
    let recorded = position(&|request| request.subresource.as_deref() == Some("status"));
    let created = position(&|request| request.name.as_deref() == Some("u") && request.verb.is_write());
    assert!(recorded < created);
    assert_eq!(bench.map("u").unwrap()["metadata"]["labels"], json!(null));
    bench.patch(json!({ "spec": { "untied": null } }));
    bench.reconcile();
    assert_eq!(bench.map("u"), None);
}

#[test]
fn a_parent_that_is_gone_is_no_error() {
    let mut bench = Bench::new(json!({}));
    bench.send(widgets(Verb::Delete).named(WIDGET));
    assert_eq!(bench.reconcile().result, ReconcileResult::Gone);
}

#[test]
fn a_changed_parent_makes_the_status_write_a_conflict() {
    let bench = Bench::new(json!({ "maps": ["a"] }));
    let mut coroutine = bench.controller.reconcile(&ObjectRef::new("default", WIDGET), false);
    let mut cluster = bench.local.cluster.clone();
    let mut answers = Vec::new();
    let result = loop {
        match coroutine.resume(std::mem::take(&mut answers)) {
            windlass::CoroutineState::End(ended) => break ended.result,
            windlass::CoroutineState::Bug(bug) => panic!("{bug}"),
            windlass::CoroutineState::Ask(asks) => {
                for ask in asks {
                    answers.push(match ask {
                        windlass::Ask::Api { request, .. } => {
                            if request.subresource.as_deref() == Some("status") {
                                // Somebody gets in between.
                                let touch = json!({ "metadata": { "labels": { "touched": "yes" } } });
                                let touch =
                                    widgets(Verb::Patch(PatchKind::Merge)).named(WIDGET).with_body(touch);
                                cluster.request(&touch);
                            }
                            windlass::Answer::Api(cluster.request(&request))
                        }
                        windlass::Ask::Now => windlass::Answer::Now(Timestamp::default()),
                        windlass::Ask::Random { .. } => {
                            windlass::Answer::Random(windlass::RandomBytes::numbered(0))
                        }
                        windlass::Ask::Call { .. } => windlass::Answer::Call(Ok(json!(true))),
                    });
                }
            }
        }
    };
    assert!(matches!(result, ReconcileResult::Conflict { .. }), "{result:?}");
}
