//! The controller under test: for each `Task` one ConfigMap with its value.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::CustomResource;
use kube::core::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass::{Cx, Declaration, Machine, MachineStatus, Outcome, States, done};

/// The name of the controller, and of its ring.
pub const CONTROLLER: &str = "chaos-tasks";
/// The field of the ConfigMap that has the value.
pub const VALUE: &str = "value";

/// A value that a child must have. It only grows.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "chaos.windlass.dev", version = "v1", kind = "Task", namespaced, status = "MachineStatus")]
pub struct TaskSpec {
    /// What the child must have.
    pub value: u64,
}

/// Gives each task its child.
pub struct Tasks;

/// The one step of a reconcile.
#[derive(States)]
pub enum Step {
    /// The child.
    #[state(initial, condition = "Written")]
    Write,
}

impl Machine for Tasks {
    type Parent = Task;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.name(CONTROLLER).output::<ConfigMap>();
    }

    async fn run(&self, _: Step, cx: &Cx<Task>) -> Outcome<Step> {
        cx.ensure(child(cx.parent()));
        done()
    }
}

/// The child of a task. It has the same name.
fn child(task: &Task) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta { name: task.metadata.name.clone(), ..ObjectMeta::default() },
        data: Some(BTreeMap::from([(VALUE.to_owned(), task.spec.value.to_string())])),
        ..ConfigMap::default()
    }
}

#[cfg(test)]
mod tests {
    use kube::CustomResourceExt;
    use windlass_check::{Faults, check};

    use super::*;

    #[test]
    fn value_reaches_the_child_under_every_fault() {
        let mut task = Task::new("a", TaskSpec { value: 7 });
        task.metadata.namespace = Some("default".to_owned());
        check(Tasks)
            .crd(&Task::crd())
            .given([task])
            .faults(Faults::none().crashes(1).duplicates().reorders())
            .eventually("the child has the value", |world| {
                let data = world.get::<ConfigMap>("a").and_then(|child| child.data).unwrap_or_default();
                data.get(VALUE).is_some_and(|value| value == "7")
            })
            .assert();
    }
}
