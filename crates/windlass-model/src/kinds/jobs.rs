//! Jobs and CronJobs.

use serde_json::{Map, Value, json};

use super::cron::check_schedule;
use super::pods::check_template;
use super::selectors::{self, check_selector};
use super::values::{
    Errors, all_nonnegative, immutable, list, nonnegative, number, object_at, one_of, one_of_if_set, put,
    text,
};
use crate::field::{FieldError, FieldPath};
use crate::object;
use windlass_cel::formats::names;

const NAME_LABELS: [&str; 2] = ["job-name", "batch.kubernetes.io/job-name"];
const UID_LABELS: [&str; 2] = ["controller-uid", "batch.kubernetes.io/controller-uid"];

/// Gives a new job a selector that matches its own pods alone, unless it brings one itself.
pub(super) fn prepare_job(job: &mut Map<String, Value>) {
    let identity = Value::Object(job.clone());
    let (name, uid) = (object::name(&identity), object::uid(&identity));
    let Some(spec) =
        object_at(job, "spec").filter(|spec| spec.get("manualSelector") != Some(&Value::Bool(true)))
    else {
        return;
    };
    let metadata = object_at(spec, "template").and_then(|template| object_at(template, "metadata"));
    if let Some(labels) = metadata.and_then(|metadata| object_at(metadata, "labels")) {
        for (keys, value) in [(NAME_LABELS, name), (UID_LABELS, uid)] {
            for key in keys {
                labels.entry(key).or_insert_with(|| value.into());
            }
        }
    }
    let selector = object_at(spec, "selector").and_then(|selector| object_at(selector, "matchLabels"));
    if let Some(labels) = selector {
        labels.entry(UID_LABELS[1]).or_insert_with(|| uid.into());
    }
}

/// The rules of Jobs.
pub(super) fn check_job(errors: &mut Errors, new: &Value, old: Option<&Value>) {
    let (path, spec) = (FieldPath::of("spec"), &new["spec"]);
    check_generated_selector(errors, new);
    check_job_spec(errors, &path, spec);
    let selector = &spec["selector"];
    if selector.is_object() {
        check_selector(errors, &path.child("selector"), selector);
    } else {
        errors.push(FieldError::required(&path.child("selector"), ""));
    }
    let labels = &spec["template"]["metadata"]["labels"];
    if selectors::excludes(selector, labels) {
        let path = path.child("template").child("metadata").child("labels");
        errors.push(FieldError::invalid(
            &path,
            labels.clone(),
            "`selector` does not match template `labels`",
        ));
    }
    check_indexed_name(errors, new);
    if let Some(old) = old {
        check_job_update(errors, &path, spec, old);
    }
}

/// Labels that were generated must be those of this job.
fn check_generated_selector(errors: &mut Errors, job: &Value) {
    let (spec, name, uid) = (&job["spec"], object::name(job), object::uid(job));
    if spec["manualSelector"] == true || !spec["selector"].is_object() {
        return;
    }
    if uid.is_empty() {
        errors.push(FieldError::required(&FieldPath::of("metadata.uid"), ""));
    }
    let labels = &spec["template"]["metadata"]["labels"];
    let expected =
        [(UID_LABELS[0], uid), (NAME_LABELS[0], name), (UID_LABELS[1], uid), (NAME_LABELS[1], name)];
    for (key, value) in expected {
        let path = FieldPath::of("spec.template.metadata.labels").key(key);
        match labels.get(key) {
            None => errors.push(FieldError::required(&path, format!("must be '{value}'"))),
            Some(label) if text(label) != value => {
                errors.push(FieldError::invalid(&path, labels.clone(), format!("must be '{value}'")));
            }
            Some(_) => {}
        }
    }
    let generated: Map<String, Value> =
        expected.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect();
    if selectors::excludes(&spec["selector"], &generated.into()) {
        let detail = "`selector` not auto-generated";
        errors.push(FieldError::invalid(&FieldPath::of("spec.selector"), spec["selector"].clone(), detail));
    }
}

/// What holds for the spec of a job and for that in a CronJob.
fn check_job_spec(errors: &mut Errors, path: &FieldPath, spec: &Value) {
    let counts = [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ];
    all_nonnegative(errors, path, spec, &counts);
    one_of_if_set(errors, &path.child("completionMode"), &spec["completionMode"], &["NonIndexed", "Indexed"]);
    check_indexing(errors, path, spec);
    check_replacement(errors, path, spec);
    check_template(errors, &path.child("template"), &spec["template"]);
    check_restart_policy(errors, path, spec);
}

fn check_indexing(errors: &mut Errors, path: &FieldPath, spec: &Value) {
    if spec["completionMode"] == "Indexed" {
        if spec["completions"].is_null() {
            errors.push(FieldError::required(&path.child("completions"), "when completion mode is Indexed"));
        }
        if number(&spec["parallelism"]) > 100_000 {
            let detail = "must be less than or equal to 100000 when completion mode is Indexed";
            errors.push(FieldError::invalid(&path.child("parallelism"), spec["parallelism"].clone(), detail));
        }
        return;
    }
    for field in ["backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"] {
        if !spec[field].is_null() {
            let detail = "requires indexed completion mode";
            errors.push(FieldError::invalid(&path.child(field), spec[field].clone(), detail));
        }
    }
}

fn check_replacement(errors: &mut Errors, path: &FieldPath, spec: &Value) {
    let allowed: &[&str] =
        if spec["podFailurePolicy"].is_object() { &["Failed"] } else { &["Failed", "TerminatingOrFailed"] };
    one_of_if_set(errors, &path.child("podReplacementPolicy"), &spec["podReplacementPolicy"], allowed);
}

/// A job must be able to end, so its pods are not restarted for ever.
fn check_restart_policy(errors: &mut Errors, path: &FieldPath, spec: &Value) {
    let path = path.child("template").child("spec").child("restartPolicy");
    let policy = &spec["template"]["spec"]["restartPolicy"];
    match text(policy) {
        "" | "Always" => errors.push(FieldError::required(&path, "valid values: \"OnFailure\", \"Never\"")),
        "OnFailure" if spec["podFailurePolicy"].is_object() => {
            let detail = "only \"Never\" is supported when podFailurePolicy is specified";
            errors.push(FieldError::invalid(&path, policy.clone(), detail));
        }
        "OnFailure" | "Never" => {}
        _ => errors.push(FieldError::not_supported(&path, policy.clone(), &["OnFailure", "Never"])),
    }
}

/// Pods of indexed jobs have the index in their host name.
fn check_indexed_name(errors: &mut Errors, job: &Value) {
    let completions = number(&job["spec"]["completions"]);
    if job["spec"]["completionMode"] != "Indexed" || completions <= 0 {
        return;
    }
    let name = object::name(job);
    let last = format!("{name}-{}", completions - 1);
    if !names::is_dns1123_label(&last).is_empty() {
        let detail = format!("will not able to create pod with invalid DNS label: {last}");
        errors.push(FieldError::invalid(&FieldPath::of("metadata.name"), name, detail));
    }
}

fn check_job_update(errors: &mut Errors, path: &FieldPath, spec: &Value, old: &Value) {
    let before = &old["spec"];
    check_completions(errors, path, spec, before);
    immutable(errors, &path.child("selector"), &spec["selector"], &before["selector"]);
    let never_started = before["suspend"] == true && old["status"]["startTime"].is_null();
    let template = if never_started {
        scheduled_as(&before["template"], &spec["template"])
    } else {
        before["template"].clone()
    };
    immutable(errors, &path.child("template"), &spec["template"], &template);
    for field in ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"]
    {
        immutable(errors, &path.child(field), &spec[field], &before[field]);
    }
}

/// Completions are fixed; an indexed job may be scaled by changing both counts alike.
fn check_completions(errors: &mut Errors, path: &FieldPath, spec: &Value, before: &Value) {
    let path = path.child("completions");
    let (new, old) = (&spec["completions"], &before["completions"]);
    if spec["completionMode"] != "Indexed" {
        immutable(errors, &path, new, old);
    } else if new != old && !new.is_null() && *new != spec["parallelism"] {
        let detail = "can only be modified in tandem with spec.parallelism";
        errors.push(FieldError::invalid(&path, new.clone(), detail));
    }
}

/// The old template with the scheduling directives of the new one: those may change until the job starts.
fn scheduled_as(old: &Value, new: &Value) -> Value {
    let mut template = old.clone();
    if let Some(spec) = template.get_mut("spec").and_then(Value::as_object_mut) {
        for field in ["nodeSelector", "tolerations", "schedulingGates"] {
            put(spec, field, new["spec"][field].clone());
        }
        let mut affinity = spec.get("affinity").cloned().unwrap_or_else(|| json!({}));
        if let Some(affinity) = affinity.as_object_mut() {
            put(affinity, "nodeAffinity", new["spec"]["affinity"]["nodeAffinity"].clone());
        }
        let is_needed = affinity != json!({}) || new["spec"]["affinity"].is_object();
        put(spec, "affinity", if is_needed { affinity } else { Value::Null });
    }
    if let Some(metadata) = template.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in ["annotations", "labels"] {
            put(metadata, field, new["metadata"][field].clone());
        }
    }
    template
}

/// The rules of an update of a job's status.
pub(super) fn check_status(errors: &mut Errors, new: &Value, old: &Value) {
    let (path, status, before) = (FieldPath::of("status"), &new["status"], &old["status"]);
    all_nonnegative(errors, &path, status, &["active", "succeeded", "failed", "ready"]);
    for kind in ["Failed", "Complete", "FailureTarget", "SuccessCriteriaMet"] {
        if is_true(before, kind) && !is_true(status, kind) {
            let article = if kind == "SuccessCriteriaMet" { "the" } else { "the terminal" };
            let detail = format!("cannot disable {article} {kind}=True condition");
            errors.push(omitted(&path.child("conditions"), detail));
        }
    }
    if number(&status["failed"]) < number(&before["failed"]) {
        let detail = "cannot decrease the failed counter";
        errors.push(FieldError::invalid(&path.child("failed"), number(&status["failed"]), detail));
    }
    check_finished(errors, &path, status, before);
}

fn check_finished(errors: &mut Errors, path: &FieldPath, status: &Value, before: &Value) {
    let finished = |status: &Value| is_true(status, "Complete") || is_true(status, "Failed");
    if !finished(status) || finished(before) {
        return;
    }
    if is_true(status, "Failed") && !is_true(status, "FailureTarget") {
        let detail = "cannot set Failed=True condition without the FailureTarget=true condition";
        errors.push(omitted(&path.child("conditions"), detail));
    }
    if is_true(status, "Complete") {
        if !is_true(status, "SuccessCriteriaMet") {
            let detail = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
            errors.push(omitted(&path.child("conditions"), detail));
        }
        if status["completionTime"].is_null() {
            let detail = "completionTime is required for Complete jobs";
            errors.push(FieldError::required(&path.child("completionTime"), detail));
        }
    }
    if number(&status["active"]) > 0 {
        let detail = "active>0 is invalid for finished job";
        errors.push(FieldError::invalid(&path.child("active"), number(&status["active"]), detail));
    }
    if status["startTime"].is_null() {
        let detail = "startTime is required for finished job";
        errors.push(FieldError::required(&path.child("startTime"), detail));
    }
}

fn is_true(status: &Value, kind: &str) -> bool {
    list(&status["conditions"])
        .iter()
        .any(|condition| condition["type"] == kind && condition["status"] == "True")
}

/// An `Invalid` error that does not show the value.
fn omitted(path: &FieldPath, detail: impl Into<String>) -> FieldError {
    FieldError::new(crate::field::FieldErrorKind::Invalid, path, None, detail)
}

/// The rules of CronJobs.
pub(super) fn check_cron_job(errors: &mut Errors, new: &Value, old: Option<&Value>) {
    let (path, spec) = (FieldPath::of("spec"), &new["spec"]);
    check_schedule(errors, &path.child("schedule"), spec, old.map(|old| &old["spec"]));
    nonnegative(errors, &path.child("startingDeadlineSeconds"), &spec["startingDeadlineSeconds"]);
    let policies = ["Allow", "Forbid", "Replace"];
    one_of(errors, &path.child("concurrencyPolicy"), &spec["concurrencyPolicy"], &policies);
    let (job_path, job) = (path.child("jobTemplate").child("spec"), &spec["jobTemplate"]["spec"]);
    check_job_spec(errors, &job_path, job);
    if job["selector"].is_object() {
        let detail = "`selector` will be auto-generated";
        errors.push(FieldError::invalid(&job_path.child("selector"), job["selector"].clone(), detail));
    }
    if job["manualSelector"] == true {
        errors.push(FieldError::not_supported(&job_path.child("manualSelector"), true, &["nil", "false"]));
    }
    all_nonnegative(errors, &path, spec, &["successfulJobsHistoryLimit", "failedJobsHistoryLimit"]);
    let name = object::name(new);
    if old.is_none() && name.len() > 52 {
        let detail = "must be no more than 52 characters";
        errors.push(FieldError::invalid(&FieldPath::of("metadata.name"), name, detail));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, check_on, prepared};
    use serde_json::{Value, json};

    fn job(more: Value) -> Value {
        let mut spec = json!({ "template": { "spec": { "restartPolicy": "Never", "containers": [{ "name": "c", "image": "i" }] } } });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        prepared("Job", None, json!({ "metadata": { "name": "j", "uid": "u" }, "spec": spec }), None)
    }

    #[test]
    fn selectors_are_generated() {
        let job = job(json!({}));
        assert_eq!(
            job["spec"]["selector"],
            json!({ "matchLabels": { "batch.kubernetes.io/controller-uid": "u" } })
        );
        assert_eq!(
            job["spec"]["template"]["metadata"]["labels"],
            json!({ "job-name": "j", "controller-uid": "u", "batch.kubernetes.io/job-name": "j", "batch.kubernetes.io/controller-uid": "u" })
        );
        check("Job", None, job, &[]);
        let manual =
            json!({ "metadata": { "name": "j" }, "spec": { "manualSelector": true, "template": {} } });
        assert_eq!(prepared("Job", None, manual, None)["spec"].get("selector"), None);
    }

    #[test]
    fn restart_policies() {
        let policy = |policy: &str| {
            job(
                json!({ "template": { "spec": { "restartPolicy": policy, "containers": [{ "name": "c", "image": "i" }] } } }),
            )
        };
        check("Job", None, policy("OnFailure"), &[]);
        check(
            "Job",
            None,
            policy("Always"),
            &["spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""],
        );
    }

    #[test]
    fn little_may_change() {
        let old = job(json!({}));
        let mut new = old.clone();
        new["spec"]["parallelism"] = 2.into();
        new["spec"]["suspend"] = true.into();
        check("Job", Some(old.clone()), new, &[]);
        let mut new = old.clone();
        new["spec"]["completions"] = 2.into();
        check("Job", Some(old), new, &["spec.completions: Invalid value: 2: field is immutable"]);
        let suspended = job(json!({ "suspend": true }));
        let mut directed = suspended.clone();
        directed["spec"]["template"]["spec"]["nodeSelector"] = json!({ "a": "b" });
        check("Job", Some(suspended), directed, &[]);
    }

    #[test]
    fn indexed_jobs() {
        check(
            "Job",
            None,
            job(json!({ "completionMode": "Indexed", "parallelism": 2 })),
            &["spec.completions: Required value: when completion mode is Indexed"],
        );
        check(
            "Job",
            None,
            job(json!({ "backoffLimitPerIndex": 1 })),
            &["spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode"],
        );
    }

    #[test]
    fn finished_jobs_stay_finished() {
        let with = |status: Value| {
            let mut job = job(json!({}));
            job["status"] = status;
            job
        };
        let done = json!({
            "conditions": [{ "type": "SuccessCriteriaMet", "status": "True" }, { "type": "Complete", "status": "True" }],
            "startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:00:00Z",
        });
        check_on("Job", Some("status"), Some(with(json!({}))), with(done.clone()), &[]);
        check_on(
            "Job",
            Some("status"),
            Some(with(json!({}))),
            with(json!({ "conditions": [{ "type": "Complete", "status": "True" }] })),
            &[
                "status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
                "status.completionTime: Required value: completionTime is required for Complete jobs",
                "status.startTime: Required value: startTime is required for finished job",
            ],
        );
        check_on(
            "Job",
            Some("status"),
            Some(with(done)),
            with(json!({})),
            &[
                "status.conditions: Invalid value: cannot disable the terminal Complete=True condition",
                "status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition",
            ],
        );
    }

    #[test]
    fn cron_jobs() {
        let template = json!({ "spec": { "template": { "spec": { "restartPolicy": "Never", "containers": [{ "name": "c", "image": "i" }] } } } });
        let cron = |schedule: &str| json!({ "metadata": { "name": "c" }, "spec": { "schedule": schedule, "jobTemplate": template } });
        check("CronJob", None, cron("*/5 * * * *"), &[]);
        check("CronJob", None, cron(""), &["spec.schedule: Required value"]);
        let mut long = cron("@daily");
        long["metadata"]["name"] = "x".repeat(53).into();
        check(
            "CronJob",
            None,
            long,
            &[&format!(
                "metadata.name: Invalid value: {:?}: must be no more than 52 characters",
                "x".repeat(53)
            )],
        );
    }
}
