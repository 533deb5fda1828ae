//! The life of a namespace: created active, emptied when deleted, and some that cannot be.

use crate::support::*;
use serde_json::json;
use windlass_model::{Cluster, Request, Verb, controllers};

#[test]
fn a_new_namespace_is_active_and_held() {
    let mut cluster = cluster();
    let made = ok(&mut cluster, &create("namespaces", namespace("a")));
    assert_eq!(made["status"]["phase"], "Active");
    assert_eq!(made["spec"]["finalizers"], json!(["kubernetes"]));
    assert_eq!(made["metadata"]["labels"]["kubernetes.io/metadata.name"], "a");
    let mut changed = (*made).clone();
    changed["spec"]["finalizers"] = json!([]);
    changed["status"]["phase"] = "Terminating".into();
    changed["metadata"]["labels"]["more"] = "x".into();
    let updated = ok(&mut cluster, &update("namespaces", changed));
    assert_eq!(updated["spec"], made["spec"], "only the finalize subresource takes its finalizer");
    assert_eq!(updated["status"], made["status"]);
    assert_eq!(updated["metadata"]["labels"]["more"], "x");
}

#[test]
fn some_namespaces_are_always_there() {
    let mut cluster = cluster();
    for name in ["default", "kube-system", "kube-public"] {
        let response = cluster.request(&delete("namespaces", name));
        refused(
            &response,
            403,
            "Forbidden",
            &format!("namespaces {name:?} is forbidden: this namespace may not be deleted"),
        );
    }
    assert!(exists(&mut cluster, "namespaces", "kube-node-lease"));
}

#[test]
fn a_deleted_namespace_takes_nothing_new_and_is_emptied() {
    let mut cluster = cluster();
    ok(&mut cluster, &create("namespaces", namespace("a")));
    for (plural, body) in
        [("configmaps", config_map("x")), ("widgets", widget("x")), ("deployments", deployment("x"))]
    {
        ok(&mut cluster, &create(plural, body).in_namespace("a"));
    }
    let held = with_meta(config_map("held"), "finalizers", json!(["x.io/y"]));
    ok(&mut cluster, &create("configmaps", held).in_namespace("a"));

    let deleting = ok(&mut cluster, &delete("namespaces", "a"));
    assert_eq!(deleting["status"]["phase"], "Terminating");
    assert!(deleting["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(ok(&mut cluster, &delete("namespaces", "a")), deleting, "deleting twice changes nothing");
    let response = cluster.request(&create("configmaps", config_map("late")).in_namespace("a"));
    refused(
        &response,
        403,
        "Forbidden",
        "configmaps \"late\" is forbidden: unable to create new content in namespace a because it is being terminated",
    );
    let cause = &response.failure().unwrap().details.as_ref().unwrap().causes[0];
    assert_eq!(cause.reason.as_deref(), Some("NamespaceTerminating"));
    assert_eq!(cause.message.as_deref(), Some("namespace a is being terminated"));
    assert_eq!(cause.field.as_deref(), Some("metadata.namespace"));

    assert!(cluster.settle());
    for plural in ["widgets", "deployments"] {
        assert_eq!(cluster.request(&get(plural, "x").in_namespace("a")).code, 404, "{plural}");
    }
    assert!(exists(&mut cluster, "namespaces", "a"), "something is left in it");
    ok(
        &mut cluster,
        &merge("configmaps", "held", json!({ "metadata": { "finalizers": null } })).in_namespace("a"),
    );
    assert!(cluster.settle());
    assert!(!exists(&mut cluster, "namespaces", "a"));
    ok(&mut cluster, &create("namespaces", namespace("a")));
}

#[test]
fn pods_go_first() {
    let mut cluster = cluster();
    ok(&mut cluster, &create("namespaces", namespace("a")));
    ok(&mut cluster, &create("pods", pod_on_node("x")).in_namespace("a"));
    ok(&mut cluster, &create("configmaps", config_map("x")).in_namespace("a"));
    ok(&mut cluster, &delete("namespaces", "a"));
    assert!(cluster.settle());
    let pod = ok(&mut cluster, &get("pods", "x").in_namespace("a"));
    assert!(pod["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(
        cluster.request(&get("configmaps", "x").in_namespace("a")).code,
        200,
        "the pod may still need it"
    );
    let mut now = delete("pods", "x").in_namespace("a");
    now.options.grace_period_seconds = Some(0);
    ok(&mut cluster, &now);
    assert!(cluster.settle());
    assert!(!exists(&mut cluster, "namespaces", "a"));
}

#[test]
fn finalizers_in_metadata_hold_a_namespace_too() {
    let mut cluster = cluster();
    ok(&mut cluster, &create("namespaces", with_meta(namespace("a"), "finalizers", json!(["x.io/y"]))));
    ok(&mut cluster, &delete("namespaces", "a"));
    assert!(cluster.settle());
    let held = found(&mut cluster, "namespaces", "a");
    assert!(held["spec"]["finalizers"].as_array().is_none_or(Vec::is_empty));
    ok(&mut cluster, &merge("namespaces", "a", json!({ "metadata": { "finalizers": null } })));
    assert!(!exists(&mut cluster, "namespaces", "a"));
}

#[test]
fn finalize_is_for_put_only() {
    let mut cluster = cluster();
    let response = cluster.request(&request(Verb::Get, "namespaces").named("default").on("finalize"));
    refused(&response, 405, "MethodNotAllowed", "does not allow this method");
    let mut mismatched = delete("namespaces", "default");
    mismatched.options.preconditions.uid = Some("other".to_owned());
    refused(
        &cluster.request(&mismatched),
        409,
        "Conflict",
        "Operation cannot be fulfilled on namespaces \"default\": Precondition failed: UID in precondition: other, \
         UID in object meta: ",
    );
}

#[test]
fn only_namespaces_that_a_change_concerns_need_to_be_looked_at() {
    let mut cluster = cluster();
    for name in ["a", "b"] {
        ok(&mut cluster, &create("namespaces", namespace(name)));
        ok(&mut cluster, &create("configmaps", config_map("x")).in_namespace(name));
    }
    let now = cluster.now();
    let mut perform = |request: &Request| {
        let effect = cluster.handle(request);
        cluster.commit(&effect.changes);
        let after = controllers::requests_after(cluster.store(), cluster.types(), now, &effect.changes);
        let all = controllers::next_requests(cluster.store(), cluster.types(), now);
        (after, all)
    };
    let (after, all) = perform(&delete("namespaces", "a"));
    assert!(after.len() == 1 && after == all, "the content is to be deleted: {after:?}");
    let (nothing, still) = perform(&create("configmaps", config_map("y")).in_namespace("b"));
    assert!(nothing.is_empty() && still == all, "another namespace is not concerned");
    let (after, all) = perform(&after[0].request);
    assert!(
        after.len() == 1 && after == all && after[0].request.subresource.is_some(),
        "then it is finalized: {after:?}"
    );
    let (after, all) = perform(&after[0].request);
    assert!(after.is_empty() && all.is_empty());
    assert!(!exists(&mut cluster, "namespaces", "a") && exists(&mut cluster, "namespaces", "b"));
}

#[test]
fn conditions_say_what_holds_a_namespace() {
    let mut cluster = cluster();
    ok(&mut cluster, &create("namespaces", namespace("a")));
    for (name, finalizers) in [("x", json!(["x.io/a", "x.io/b"])), ("y", json!(["x.io/a"]))] {
        let held = with_meta(config_map(name), "finalizers", finalizers);
        ok(&mut cluster, &create("configmaps", held).in_namespace("a"));
    }
    let held = with_meta(widget("w"), "finalizers", json!(["x.io/a"]));
    ok(&mut cluster, &create("widgets", held).in_namespace("a"));
    ok(&mut cluster, &delete("namespaces", "a"));
    assert!(cluster.settle());
    let shown = |cluster: &mut Cluster| {
        let namespace = found(cluster, "namespaces", "a");
        assert_eq!(namespace["status"]["phase"], "Terminating");
        let conditions = namespace["status"]["conditions"].as_array().expect("conditions").clone();
        let texts = conditions.iter().map(|condition| {
            let text = |field: &str| condition[field].as_str().unwrap_or("?").to_owned();
            format!("{} {} {}: {}", text("type"), text("status"), text("reason"), text("message"))
        });
        (texts.collect::<Vec<_>>(), conditions[3]["lastTransitionTime"].clone())
    };
    let good = [
        "NamespaceDeletionDiscoveryFailure False ResourcesDiscovered: All resources successfully discovered",
        "NamespaceDeletionGroupVersionParsingFailure False ParsedGroupVersions: All legacy kube types successfully parsed",
        "NamespaceDeletionContentFailure False ContentDeleted: All content successfully deleted, may be waiting on finalization",
    ];
    let (texts, since) = shown(&mut cluster);
    assert_eq!(texts[..3], good);
    assert_eq!(
        texts[3..],
        [
            "NamespaceContentRemaining True SomeResourcesRemain: Some resources are remaining: \
             configmaps. has 2 resource instances, widgets.example.com has 1 resource instances",
            "NamespaceFinalizersRemaining True SomeFinalizersRemain: Some content in the namespace has finalizers \
             remaining: x.io/a in 3 resource instances, x.io/b in 1 resource instances",
        ]
    );
    // A count that changes is no transition.
    cluster.set_now(time("2026-01-01T00:10:00Z"));
    let free = json!({ "metadata": { "finalizers": null } });
    for name in ["x", "y"] {
        ok(&mut cluster, &merge("configmaps", name, free.clone()).in_namespace("a"));
    }
    assert!(cluster.settle());
    let (texts, still) = shown(&mut cluster);
    assert!(texts[3].ends_with("remaining: widgets.example.com has 1 resource instances"), "{}", texts[3]);
    assert_eq!(still, since);
    ok(&mut cluster, &merge("widgets", "w", free).in_namespace("a"));
    assert!(cluster.settle());
    assert!(!exists(&mut cluster, "namespaces", "a"));
}

#[test]
fn conditions_are_good_where_only_the_namespace_itself_is_held() {
    let mut cluster = cluster();
    ok(&mut cluster, &create("namespaces", with_meta(namespace("a"), "finalizers", json!(["x.io/y"]))));
    ok(&mut cluster, &delete("namespaces", "a"));
    assert!(cluster.settle());
    let conditions = found(&mut cluster, "namespaces", "a")["status"]["conditions"].clone();
    let conditions = conditions.as_array().expect("conditions");
    assert_eq!(conditions.len(), 5);
    assert!(conditions.iter().all(|condition| condition["status"] == "False"), "{conditions:?}");
}
