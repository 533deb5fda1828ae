//! Jobs: pods that run to their end, until enough have succeeded or too many have failed.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::ownership::controlled;
use super::pods::{self, NewPod};
use super::statuses::{Condition, has_condition, set_condition, set_count, set_shown_count, set_text};
use super::writes::{JOBS, PODS, status_update};
use crate::object;
use crate::request::Request;
use crate::store::Store;
use crate::time::Timestamp;

const INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// When a condition of a Job was last written.
const TOUCHED: Option<&str> = Some("lastProbeTime");

/// Makes or deletes one pod; if nothing is to be done, writes the status.
pub(super) fn next<S: Store + ?Sized>(store: &S, job: &Value, now: Timestamp) -> Option<Request> {
    if object::is_deleting(job) || is_finished(job) || job["spec"]["managedBy"].is_string() {
        return None;
    }
    let pods = controlled(store, job, PODS);
    let progress = Progress::of(job, &pods);
    progress.next_change().or_else(|| progress.status(now))
}

fn is_finished(job: &Value) -> bool {
    has_condition(job, "Complete") || has_condition(job, "Failed")
}

struct Progress<'a> {
    job: &'a Value,
    pods: &'a [Arc<Value>],
    active: Vec<&'a Arc<Value>>,
    /// How many pods, or how many indices, have succeeded.
    succeeded: usize,
    failed: usize,
}

impl<'a> Progress<'a> {
    fn of(job: &'a Value, pods: &'a [Arc<Value>]) -> Self {
        let in_phase = |phase: &str| pods.iter().filter(|pod| pod["status"]["phase"] == phase).count();
        let active = pods.iter().filter(|pod| pods::is_active(pod)).collect();
        let mut progress = Progress { job, pods, active, succeeded: 0, failed: in_phase("Failed") };
        progress.succeeded = match progress.is_indexed() {
            true => progress.completed_indices().len(),
            false => in_phase("Succeeded"),
        };
        progress
    }

    fn number(&self, field: &str) -> Option<usize> {
        usize::try_from(self.job["spec"][field].as_i64()?).ok()
    }

    fn is_indexed(&self) -> bool {
        self.job["spec"]["completionMode"] == "Indexed"
    }

    fn is_suspended(&self) -> bool {
        self.job["spec"]["suspend"] == true
    }

    /// Whether more pods have failed than may.
    fn has_failed(&self) -> bool {
        self.failed > self.number("backoffLimit").unwrap_or(6)
    }

    fn is_complete(&self) -> bool {
        match self.number("completions") {
            Some(wanted) => self.succeeded >= wanted,
            // Whoever of the pods ends well first says that the work is done.
            None => self.succeeded > 0 && self.active.is_empty(),
        }
    }

    fn wanted_active(&self) -> usize {
        let most = self.number("parallelism").unwrap_or(1);
        match self.number("completions") {
            _ if self.is_suspended() || self.has_failed() || self.is_complete() => 0,
            Some(wanted) => most.min(wanted.saturating_sub(self.succeeded)),
            None if self.succeeded > 0 => self.active.len(),
            None => most,
        }
    }

    fn next_change(&self) -> Option<Request> {
        let wanted = self.wanted_active();
        if self.active.len() > wanted {
            let least = self.active.iter().rev().min_by_key(|pod| pods::use_of(pod))?;
            return Some(PODS.delete(least));
        }
        (self.active.len() < wanted).then(|| self.create()).flatten()
    }

    fn create(&self) -> Option<Request> {
        let pod = NewPod::from_template(JOBS, self.job, &self.job["spec"]["template"]);
        let name = object::name(self.job);
        if !self.is_indexed() {
            return Some(pod.prefixed(&format!("{name}-")).create());
        }
        let active = self.active.iter().filter_map(|pod| index(pod));
        let taken: BTreeSet<usize> = self.completed_indices().into_iter().chain(active).collect();
        let free = (0..self.number("completions")?).find(|index| !taken.contains(index))?;
        let text = free.to_string();
        let mut pod = pod.prefixed(&format!("{name}-{free}-")).annotated(INDEX, &text).labelled(INDEX, &text);
        pod.spec()["hostname"] = format!("{name}-{free}").into();
        let containers = pod.spec()["containers"].as_array_mut().into_iter().flatten();
        for container in containers {
            let mut variables = container["env"].as_array().cloned().unwrap_or_default();
            variables.push(json!({ "name": "JOB_COMPLETION_INDEX", "value": text }));
            container["env"] = variables.into();
        }
        Some(pod.create())
    }

    fn completed_indices(&self) -> BTreeSet<usize> {
        let succeeded = self.pods.iter().filter(|pod| pod["status"]["phase"] == "Succeeded");
        succeeded.filter_map(|pod| index(pod)).collect()
    }

    fn status(&self, now: Timestamp) -> Option<Request> {
        status_update(JOBS, self.job, |status| {
            let ready = self.active.iter().filter(|pod| pods::is_ready(pod)).count();
            set_count(status, "active", self.active.len());
            set_count(status, "succeeded", self.succeeded);
            set_count(status, "failed", self.failed);
            set_shown_count(status, "ready", ready);
            set_shown_count(status, "terminating", self.terminating());
            status.entry("uncountedTerminatedPods").or_insert_with(|| json!({}));
            if self.is_indexed() {
                let shown = intervals(&self.completed_indices());
                set_text(status, "completedIndexes", &shown);
            }
            if self.is_suspended() {
                status.remove("startTime");
            } else {
                status.entry("startTime").or_insert_with(|| now.to_string().into());
            }
            self.set_conditions(status, now);
        })
    }

    fn terminating(&self) -> usize {
        self.pods.iter().filter(|pod| object::is_deleting(pod) && !pods::is_finished(pod)).count()
    }

    fn set_conditions(&self, status: &mut Map<String, Value>, now: Timestamp) {
        let mut set = |kind, value, reason, message| {
            set_condition(status, &Condition { kind, status: value, reason, message }, TOUCHED, now);
        };
        let began = self.job["status"]["startTime"].is_string();
        // A Job ends only when the last of its pods has.
        let over = began && self.active.is_empty() && self.terminating() == 0;
        if self.is_suspended() {
            set("Suspended", true, "JobSuspended", "Job suspended");
        } else if has_condition(self.job, "Suspended") {
            set("Suspended", false, "JobResumed", "Job resumed");
        } else if over && self.has_failed() {
            let message = "Job has reached the specified backoff limit";
            set("FailureTarget", true, "BackoffLimitExceeded", message);
            set("Failed", true, "BackoffLimitExceeded", message);
        } else if over && self.is_complete() {
            let message = "Reached expected number of succeeded pods";
            set("SuccessCriteriaMet", true, "CompletionsReached", message);
            set("Complete", true, "CompletionsReached", message);
            status.insert("completionTime".to_owned(), now.to_string().into());
        }
    }
}

fn index(pod: &Value) -> Option<usize> {
    object::annotation(pod, INDEX)?.parse().ok()
}

/// `0-2,4`
fn intervals(indices: &BTreeSet<usize>) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for index in indices {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *index => *last = *index,
            _ => runs.push((*index, *index)),
        }
    }
    let shown = runs.iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first},{last}"),
        _ => format!("{first}-{last}"),
    });
    shown.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    #[test]
    fn runs_of_indices_are_shown_as_intervals() {
        let shown = |indices: &[usize]| super::intervals(&indices.iter().copied().collect());
        assert_eq!(shown(&[]), "");
        assert_eq!(shown(&[0, 1, 2, 4, 6, 7]), "0-2,4,6,7");
    }
}
