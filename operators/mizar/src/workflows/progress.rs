//! How far the workflow of an object has come.

use serde::Serialize;
use windlass::{Condition, Kind, MachineStatus};

use super::table::{WORKFLOWS, Workflow, WorkflowStep};
use crate::api::{Bouncer, Divider, Droplet, Endpoint, EndpointType, Phase, Subnet, Vpc};

/// An object that workflows are about.
pub trait Tracked: Kind {
    /// Whether it works.
    fn phase(&self) -> Phase;
    /// What the framework keeps.
    fn machine(&self) -> Option<&MachineStatus>;
    /// The name of the workflow that it is in, apart from deletion.
    fn creation(&self) -> &'static str;
    /// The name of the workflow that deletes it.
    fn deletion(&self) -> &'static str;
}

/// How far a workflow has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// The namespace of the object.
    pub namespace: String,
    /// Its kind and name, as `Vpc/vpc0`.
    pub object: String,
    /// The workflow.
    pub workflow: &'static str,
    /// Which step is under way, from 1; one more than there are when all are done.
    pub step: usize,
    /// How many steps there are.
    pub steps: usize,
    /// Whether it has come to its end.
    pub finished: bool,
    /// Who does the step.
    pub operator: &'static str,
    /// What it waits for.
    pub waits_for: String,
    /// Since when, in RFC 3339.
    pub since: Option<String>,
}

/// The workflow that an object is in.
pub fn workflow_of<K: Tracked>(object: &K) -> Option<&'static Workflow> {
    let is_deleting = object.object_meta().deletion_timestamp.is_some();
    let name = if is_deleting { object.deletion() } else { object.creation() };
    WORKFLOWS.iter().find(|workflow| workflow.name == name)
}

/// Whether a step of an object's workflow is done.
pub fn is_done<K: Tracked>(object: &K, step: &WorkflowStep) -> bool {
    let conditions = object.machine().map_or(&[][..], |machine| &machine.conditions);
    conditions.iter().any(|one| one.r#type == step.condition && one.status == "True")
}

/// The progress of the workflow that an object is in.
pub fn progress<K: Tracked>(object: &K) -> Option<Progress> {
    let metadata = object.object_meta();
    let is_deleting = metadata.deletion_timestamp.is_some();
    let workflow = workflow_of(object)?;
    let conditions = object.machine().map_or(&[][..], |machine| &machine.conditions);
    let condition = |kind: &str| conditions.iter().find(|condition| condition.r#type == kind);
    let done = workflow.steps.iter().take_while(|step| is_done(object, step)).count();
    let current = workflow.steps.get(done);
    let waiting =
        current.and_then(|step| condition(step.condition)).filter(|condition| condition.status == "False");
    let begun = if is_deleting { &metadata.deletion_timestamp } else { &metadata.creation_timestamp };
    let before = done.checked_sub(1).and_then(|last| condition(workflow.steps[last].condition));
    let since = waiting.or(before).map(|condition| condition.last_transition_time.clone());
    Some(Progress {
        namespace: metadata.namespace.clone().unwrap_or_default(),
        object: format!("{}/{}", workflow.kind, metadata.name.clone().unwrap_or_default()),
        workflow: workflow.name,
        step: done + 1,
        steps: workflow.steps.len(),
        finished: current.is_none() && !is_deleting && object.phase() == Phase::Provisioned,
        operator: current.map_or("", |step| step.operator),
        waits_for: waits_for(current.map(|step| step.about), waiting),
        since: since.or_else(|| begun.as_ref().map(|time| time.0.to_string())),
    })
}

fn waits_for(about: Option<&str>, waiting: Option<&Condition>) -> String {
    let about = about.unwrap_or_default();
    match waiting {
        Some(condition) if condition.message.is_empty() => format!("{about} ({})", condition.reason),
        Some(condition) => format!("{about} ({}: {})", condition.reason, condition.message),
        None => about.to_owned(),
    }
}

macro_rules! tracked {
    ($kind:ident, $creation:expr, $deletion:expr) => {
        impl Tracked for $kind {
            fn phase(&self) -> Phase {
                self.state().phase
            }

            fn machine(&self) -> Option<&MachineStatus> {
                self.status.as_ref().map(|status| &status.machine)
            }

            fn creation(&self) -> &'static str {
                $creation(self)
            }

            fn deletion(&self) -> &'static str {
                $deletion(self)
            }
        }
    };
}

tracked!(Vpc, |_: &Vpc| "create VPC", |_: &Vpc| "delete VPC");
tracked!(Subnet, |_: &Subnet| "create network", |_: &Subnet| "delete network");
tracked!(Divider, |_: &Divider| "create divider", |_: &Divider| "delete divider");
tracked!(Bouncer, |_: &Bouncer| "create bouncer", |_: &Bouncer| "delete bouncer");
tracked!(Droplet, |_: &Droplet| "create droplet", |_: &Droplet| "delete droplet");
tracked!(Endpoint, creation_of, deletion_of);

fn creation_of(endpoint: &Endpoint) -> &'static str {
    let state = endpoint.state();
    match endpoint.spec.r#type {
        EndpointType::Scaled if state.phase == Phase::Init => "create scaled endpoint",
        EndpointType::Scaled if !endpoint.is_known_to_bouncers() => "update scaled endpoint",
        EndpointType::Scaled => "create scaled endpoint",
        _ => "create endpoint",
    }
}

fn deletion_of(endpoint: &Endpoint) -> &'static str {
    match endpoint.spec.r#type {
        EndpointType::Scaled => "delete scaled endpoint",
        _ => "delete endpoint",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shows_which_step_waits_for_what_and_since_when() {
        let vpc: Vpc = serde_json::from_value(json!({
            "metadata": { "name": "vpc0", "namespace": "default", "creationTimestamp": "2026-01-02T03:04:05Z" },
            "spec": { "ip": "10.0.0.0", "prefix": 16 },
            "status": { "conditions": [
                { "type": "VniAllocated", "status": "True", "reason": "Done", "message": "",
                  "lastTransitionTime": "2026-01-02T03:04:06Z" },
                { "type": "DividersReady", "status": "False", "reason": "DividersNotReady",
                  "message": "0 of 1 dividers are Provisioned", "lastTransitionTime": "2026-01-02T03:04:07Z" },
            ] },
        }))
        .unwrap();
        let shown = progress(&vpc).unwrap();
        assert_eq!((shown.workflow, shown.step, shown.steps, shown.finished), ("create VPC", 2, 2, false));
        assert_eq!(shown.object, "Vpc/vpc0");
        assert_eq!(shown.since.as_deref(), Some("2026-01-02T03:04:07Z"));
        assert_eq!(
            shown.waits_for,
            "its dividers, each Provisioned (DividersNotReady: 0 of 1 dividers are Provisioned)"
        );
    }

    #[test]
    fn all_workflows_of_the_kinds_are_known() {
        for kind in ["Vpc", "Subnet", "Divider", "Bouncer", "Droplet", "Endpoint"] {
            for deletes in [false, true] {
                assert!(WORKFLOWS.iter().any(|one| one.kind == kind && one.deletes == deletes), "{kind}");
            }
        }
        assert_eq!(WORKFLOWS.len(), 15);
    }
}
