//! DELETE: preconditions, finalizers, grace, propagation, and what the answer is.

use crate::support::*;
use serde_json::{Value, json};
use windlass_model::{Body, Propagation, Request, Verb};

fn with_propagation(mut request: Request, propagation: Propagation) -> Request {
    request.options.propagation = Some(propagation);
    request
}

fn with_grace(mut request: Request, seconds: i64) -> Request {
    request.options.grace_period_seconds = Some(seconds);
    request
}

#[test]
fn the_answer_says_what_is_gone() {
    let mut cluster = cluster();
    let object = ok(&mut cluster, &create("widgets", widget("a")));
    let response = cluster.request(&delete("widgets", "a"));
    assert_eq!(response.code, 200);
    let Body::Status(status) = &response.body else { panic!("{response:?}") };
    let details = status.details.clone().unwrap();
    assert!(status.is_success());
    assert_eq!(details.name.as_deref(), Some("a"));
    assert_eq!(details.group.as_deref(), Some("example.com"));
    assert_eq!(details.kind.as_deref(), Some("widgets"));
    assert_eq!(details.uid.as_deref(), object["metadata"]["uid"].as_str());
    refused(
        &cluster.request(&delete("widgets", "a")),
        404,
        "NotFound",
        "widgets.example.com \"a\" not found",
    );
    // Some types answer with the object.
    ok(&mut cluster, &create("serviceaccounts", json!({ "metadata": { "name": "robot" } })));
    let response = cluster.request(&delete("serviceaccounts", "robot"));
    assert_eq!(response.as_object().unwrap()["metadata"]["name"], "robot");
}

#[test]
fn preconditions_must_hold() {
    let mut cluster = cluster();
    let object = ok(&mut cluster, &create("deployments", deployment("a")));
    let (uid, version) = (&object["metadata"]["uid"], &object["metadata"]["resourceVersion"]);
    let mut other_uid = delete("deployments", "a");
    other_uid.options.preconditions.uid = Some("other".to_owned());
    let message = format!(
        "Operation cannot be fulfilled on Deployment.apps \"a\": the UID in the precondition (other) does not match \
         the UID in record ({}). The object might have been deleted and then recreated",
        uid.as_str().unwrap()
    );
    refused(&cluster.request(&other_uid), 409, "Conflict", &message);
    let mut other_version = delete("deployments", "a");
    other_version.options.preconditions.resource_version = Some("99999".to_owned());
    let message = format!(
        "the ResourceVersion in the precondition (99999) does not match the ResourceVersion in record ({}). \
         The object might have been modified",
        version.as_str().unwrap()
    );
    refused(&cluster.request(&other_version), 409, "Conflict", &message);
    let mut exact = delete("deployments", "a");
    exact.options.preconditions.uid = uid.as_str().map(str::to_owned);
    exact.options.preconditions.resource_version = version.as_str().map(str::to_owned);
    ok(&mut cluster, &exact);
    assert!(!exists(&mut cluster, "deployments", "a"));
}

#[test]
fn finalizers_keep_an_object() {
    let mut cluster = cluster();
    ok(&mut cluster, &create("widgets", with_meta(widget("a"), "finalizers", json!(["x.io/y"]))));
    let response = cluster.request(&delete("widgets", "a"));
    assert_eq!(response.code, 200);
    let kept = response.as_object().unwrap().clone();
    assert_eq!(kept["metadata"]["deletionTimestamp"], "2026-01-01T00:00:00Z");
    assert_eq!(kept["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_eq!(kept["metadata"]["generation"], 2, "being deleted is a change of what is wanted");
    cluster.set_now(cluster.now().plus_seconds(60));
    let again = cluster.handle(&delete("widgets", "a"));
    assert!(again.changes.is_empty(), "deleting twice changes nothing");
    assert_eq!(again.response.as_object(), Some(&kept));
}

#[test]
fn propagation_becomes_a_finalizer() {
    let foreground: Value = json!(["foregroundDeletion"]);
    let orphan: Value = json!(["orphan"]);
    for (propagation, finalizers) in [
        (None, None),
        (Some(Propagation::Background), None),
        (Some(Propagation::Foreground), Some(foreground)),
        (Some(Propagation::Orphan), Some(orphan)),
    ] {
        let mut cluster = cluster();
        ok(&mut cluster, &create("widgets", widget("a")));
        let mut request = delete("widgets", "a");
        request.options.propagation = propagation;
        ok(&mut cluster, &request);
        match finalizers {
            None => assert!(!exists(&mut cluster, "widgets", "a"), "{propagation:?}"),
            Some(expected) => {
                assert_eq!(found(&mut cluster, "widgets", "a")["metadata"]["finalizers"], expected);
            }
        }
    }
}

#[test]
fn a_finalizer_of_the_collector_decides_unless_the_request_does() {
    for (propagation, expected) in [
        (None, json!(["x.io/y", "orphan"])),
        (Some(Propagation::Foreground), json!(["x.io/y", "foregroundDeletion"])),
        (Some(Propagation::Background), json!(["x.io/y"])),
    ] {
        let mut cluster = cluster();
        ok(
            &mut cluster,
            &create("widgets", with_meta(widget("a"), "finalizers", json!(["x.io/y", "orphan"]))),
        );
        let mut request = delete("widgets", "a");
        request.options.propagation = propagation;
        assert_eq!(ok(&mut cluster, &request)["metadata"]["finalizers"], expected, "{propagation:?}");
    }
}

#[test]
fn the_pods_of_a_job_are_orphaned_by_default() {
    let mut cluster = cluster();
    let job = json!({
        "metadata": { "name": "a" },
        "spec": { "template": { "spec": {
            "restartPolicy": "Never", "containers": [{ "name": "main", "image": "busybox" }],
        } } },
    });
    ok(&mut cluster, &create("jobs", job));
    let response = cluster.request(&delete("jobs", "a"));
    assert!(response.warnings[0].contains("child pods are preserved by default"), "{:?}", response.warnings);
    assert_eq!(found(&mut cluster, "jobs", "a")["metadata"]["finalizers"], json!(["orphan"]));
}

#[test]
fn a_running_pod_gets_time_to_end() {
    let mut cluster = cluster();
    ok(&mut cluster, &create("pods", pod_on_node("a")));
    let first = ok(&mut cluster, &delete("pods", "a"));
    assert_eq!(first["metadata"]["deletionTimestamp"], "2026-01-01T00:00:30Z");
    assert_eq!(first["metadata"]["deletionGracePeriodSeconds"], 30);
    for longer in
        [delete("pods", "a"), with_grace(delete("pods", "a"), 30), with_grace(delete("pods", "a"), 300)]
    {
        assert_eq!(ok(&mut cluster, &longer), first, "time is only ever shortened");
    }
    let shorter = ok(&mut cluster, &with_grace(delete("pods", "a"), 10));
    assert_eq!(shorter["metadata"]["deletionTimestamp"], "2026-01-01T00:00:10Z");
    assert_eq!(shorter["metadata"]["deletionGracePeriodSeconds"], 10);
    assert_eq!(shorter["metadata"]["generation"], first["metadata"]["generation"], "it was deleting already");
    cluster.set_now(time("2026-01-01T00:00:09Z"));
    let least = ok(&mut cluster, &with_grace(delete("pods", "a"), 5));
    assert_eq!(least["metadata"]["deletionTimestamp"], "2026-01-01T00:00:09Z");
    assert_eq!(least["metadata"]["deletionGracePeriodSeconds"], 1);
    ok(&mut cluster, &with_grace(delete("pods", "a"), 0));
    assert!(!exists(&mut cluster, "pods", "a"));
}

#[test]
fn deletes_a_pod_that_does_not_run_at_once() {
    for (body, grace) in [(pod("a"), None), (pod("a"), Some(30)), (pod_on_node("a"), Some(0))] {
        let mut cluster = cluster();
        ok(&mut cluster, &create("pods", body));
        let mut request = delete("pods", "a");
        request.options.grace_period_seconds = grace;
        let effect = cluster.handle(&request);
        let kept: Vec<bool> = effect.changes.iter().map(|change| change.after.is_some()).collect();
        assert_eq!(kept, [true, false], "watchers see why it went before it goes");
        assert!(effect.changes[0].version < effect.changes[1].version);
        ok(&mut cluster, &request);
        assert!(!exists(&mut cluster, "pods", "a"));
    }
}

#[test]
fn finalizers_outlast_grace() {
    let mut cluster = cluster();
    ok(&mut cluster, &create("pods", with_meta(pod_on_node("a"), "finalizers", json!(["x.io/y"]))));
    ok(&mut cluster, &delete("pods", "a"));
    let kept = ok(&mut cluster, &with_grace(delete("pods", "a"), 0));
    assert_eq!(kept["metadata"]["deletionGracePeriodSeconds"], 0);
    ok(&mut cluster, &merge("pods", "a", json!({ "metadata": { "finalizers": null } })));
    assert!(!exists(&mut cluster, "pods", "a"));
}

#[test]
fn the_last_finalizer_does_not_cut_grace_short() {
    let mut cluster = cluster();
    ok(&mut cluster, &create("pods", with_meta(pod_on_node("a"), "finalizers", json!(["x.io/y"]))));
    ok(&mut cluster, &delete("pods", "a"));
    ok(&mut cluster, &merge("pods", "a", json!({ "metadata": { "finalizers": null } })));
    assert!(exists(&mut cluster, "pods", "a"), "it still has time");
}

#[test]
fn a_dry_run_deletes_nothing() {
    let mut cluster = cluster();
    for (plural, body) in [("widgets", widget("a")), ("pods", pod_on_node("a"))] {
        ok(&mut cluster, &create(plural, body));
        let mut request = delete(plural, "a");
        request.options.dry_run = true;
        let response = cluster.request(&request);
        assert_eq!(response.code, 200);
        assert!(!found(&mut cluster, plural, "a")["metadata"]["deletionTimestamp"].is_string());
    }
}

#[test]
fn a_collection_is_deleted_by_label() {
    let mut cluster = cluster();
    for (name, app) in [("a", "web"), ("b", "db"), ("c", "web")] {
        ok(&mut cluster, &create("configmaps", with_meta(config_map(name), "labels", json!({ "app": app }))));
    }
    let mut all = request(Verb::DeleteCollection, "configmaps");
    all.options.label_selector = Some("app=web".to_owned());
    let list = ok(&mut cluster, &all);
    assert_eq!(list["kind"], "ConfigMapList");
    let names: Vec<&str> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["metadata"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["a", "c"]);
    assert!(!exists(&mut cluster, "configmaps", "a") && exists(&mut cluster, "configmaps", "b"));
    let kept = with_propagation(request(Verb::DeleteCollection, "configmaps"), Propagation::Foreground);
    ok(&mut cluster, &kept);
    assert_eq!(
        found(&mut cluster, "configmaps", "b")["metadata"]["finalizers"],
        json!(["foregroundDeletion"])
    );
    let namespaces = request(Verb::DeleteCollection, "namespaces");
    refused(&cluster.request(&namespaces), 405, "MethodNotAllowed", "does not allow this method");
}
