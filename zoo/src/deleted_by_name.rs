//! A pod on a lost node is deleted by its name: by then the name belongs to a new pod on a good node.

use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::json;
use windlass::{Cx, Declaration, Machine, Outcome, Select, States, Verb, done};
use windlass_check::{Check, ClientEvent, View, check};

use crate::broker::{object, pod_on};
use crate::{Specimen, Twin};

struct Evict(Twin);

#[derive(States)]
enum Step {
    #[state(initial)]
    Pods,
}

impl Machine for Evict {
    type Parent = Node;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.may::<Pod>([Verb::List, Verb::Delete]);
    }

    async fn run(&self, _: Step, cx: &Cx<Node>) -> Outcome<Step> {
        let on_this_node = Select::all().everywhere().fields(&format!("spec.nodeName={}", cx.name()));
        for mut pod in cx.list::<Pod>(on_this_node).await? {
            if self.0 == Twin::Broken {
                // Without a uid, the delete means whatever has this name when it arrives.
                pod.metadata.uid = None;
            }
            cx.delete(&pod).await?;
        }
        done()
    }
}

fn runs_on(world: &View<'_>, node: &str) -> bool {
    let pod = world.get::<Pod>("mq-0");
    pod.is_some_and(|pod| pod.spec.is_some_and(|spec| spec.node_name.as_deref() == Some(node)))
}

fn check_twin(twin: Twin) -> Check {
    check(Evict(twin))
        .given([object::<Node>(json!({ "metadata": { "name": "lost" } }))])
        .given([pod_on("lost", "mq-0")])
        .client([ClientEvent::delete::<Pod>("mq-0"), ClientEvent::create(pod_on("good", "mq-0"))])
        .eventually("the new pod stays", |world| runs_on(world, "good"))
        .sometimes("the old pod is there", |world| runs_on(world, "lost"))
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "deleted_by_name",
        story: "A pod is deleted by its name, which by then belongs to a new pod on another node.",
        origin: "kubernetes/kubernetes issue 29522",
        reveals: "the new pod stays",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
