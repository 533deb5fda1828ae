//! Jobs.

use super::*;
use windlass_model::object;

pub(super) fn job(name: &str, more: Value) -> Value {
    let mut spec = json!({
        "template": { "spec": {
            "restartPolicy": "Never", "containers": [{ "name": "main", "image": "busybox" }],
        } },
    });
    for (field, value) in more.as_object().expect("fields of a spec") {
        spec[field] = value.clone();
    }
    json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": name }, "spec": spec })
}

fn behaving(mut job: Value, behaviour: &str) -> Value {
    job["spec"]["template"]["metadata"] =
        json!({ "annotations": { "windlass.dev/pod-behaviour": behaviour } });
    job
}

#[test]
fn a_job_completes_with_no_more_pods_at_once_than_allowed() {
    for order in ORDERS {
        let mut cluster = ready_cluster();
        ok(&mut cluster, &create("jobs", job("work", json!({ "completions": 3, "parallelism": 2 }))));
        let mut most = 0;
        settle(&mut cluster, order, |cluster| {
            let pods = all(cluster, "pods");
            most = most.max(pods.iter().filter(|pod| pod["status"]["phase"] == "Pending").count());
        });
        let work = found(&mut cluster, "jobs", "work");
        assert!(has(&work, "Complete") && work["status"]["completionTime"].is_string());
        assert_eq!(counts(&work, &["active", "succeeded", "failed"]), [0, 3, 0]);
        assert!(most <= 2 && all(&cluster, "pods").len() == 3, "{most}");
    }
}

#[test]
fn a_job_fails_after_its_last_attempt() {
    let mut cluster = ready_cluster();
    let broken = behaving(job("work", json!({ "backoffLimit": 1 })), "Failed");
    ok(&mut cluster, &create("jobs", broken));
    settle(&mut cluster, Order::First, |_| {});
    let work = found(&mut cluster, "jobs", "work");
    assert!(has(&work, "Failed") && !has(&work, "Complete"));
    assert_eq!(counts(&work, &["active", "failed"]), [0, 2]);
}

#[test]
fn each_index_is_done_once() {
    let mut cluster = ready_cluster();
    let indexed = json!({ "completions": 3, "parallelism": 3, "completionMode": "Indexed" });
    ok(&mut cluster, &create("jobs", job("work", indexed)));
    settle(&mut cluster, Order::Last, |_| {});
    let work = found(&mut cluster, "jobs", "work");
    assert_eq!(work["status"]["completedIndexes"], "0-2");
    let pods = all(&cluster, "pods");
    let index = |pod: &Arc<Value>| {
        object::annotation(pod, "batch.kubernetes.io/job-completion-index").unwrap_or("").to_owned()
    };
    let mut indices: Vec<String> = pods.iter().map(index).collect();
    indices.sort();
    assert_eq!(indices, ["0", "1", "2"]);
}

#[test]
fn a_suspended_job_has_no_pods() {
    let mut cluster = ready_cluster();
    ok(&mut cluster, &create("jobs", behaving(job("work", json!({})), "Pending")));
    settle(&mut cluster, Order::First, |_| {});
    assert_eq!(counts(&found(&mut cluster, "jobs", "work"), &["active"]), [1]);
    ok(&mut cluster, &merge("jobs", "work", json!({ "spec": { "suspend": true } })));
    settle(&mut cluster, Order::First, |_| {});
    let work = found(&mut cluster, "jobs", "work");
    assert!(has(&work, "Suspended") && work["status"]["startTime"].is_null());
    assert!(all(&cluster, "pods").is_empty());
    ok(&mut cluster, &merge("jobs", "work", json!({ "spec": { "suspend": false } })));
    settle(&mut cluster, Order::First, |_| {});
    let work = found(&mut cluster, "jobs", "work");
    assert!(!has(&work, "Suspended") && work["status"]["startTime"].is_string());
    assert_eq!(all(&cluster, "pods").len(), 1);
}
