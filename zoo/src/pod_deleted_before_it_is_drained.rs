//! To scale down, a pod is deleted and then its member is drained: after a crash in between, no pod says any
//! more that there is a member to drain.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::{Value, json};
use windlass::{Cx, Declaration, Machine, Outcome, Select, Service, States, Verb, done};
use windlass_check::{Check, Faults, View, check};

use crate::broker::{Broker, broker, field, pod};
use crate::{Specimen, Twin};

struct ScaleDown(Twin);

#[derive(States)]
enum Step {
    #[state(initial)]
    Members,
}

/// The brokers' own list of members. To drain one is to take it off the list.
struct Members;

impl Service for Members {
    const NAME: &'static str = "members";
    /// The member to drain.
    type Request = String;
    type Response = ();
}

impl Machine for ScaleDown {
    type Parent = Broker;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.may::<Pod>([Verb::List, Verb::Delete]);
    }

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        let replicas: usize = field(cx.parent(), "replicas").parse().unwrap_or(1);
        for pod in cx.list::<Pod>(Select::all()).await?.into_iter().skip(replicas) {
            match self.0 {
                Twin::Broken => {
                    cx.delete(&pod).await?;
                    cx.call(Members, pod.name_any()).await?;
                }
                Twin::Repaired => {
                    cx.call(Members, pod.name_any()).await?;
                    cx.delete(&pod).await?;
                }
            }
        }
        done()
    }
}

fn members(world: &View<'_>) -> usize {
    world.service("members").and_then(Value::as_array).map_or(0, Vec::len)
}

fn check_twin(twin: Twin) -> Check {
    check(ScaleDown(twin))
        .given([broker(&[("replicas", "1")])])
        .given([pod("mq-0"), pod("mq-1")])
        .faults(Faults::none().crashes(1))
        .service("members", json!(["mq-0", "mq-1"]), |members, drained| {
            if let Some(members) = members.as_array_mut() {
                members.retain(|member| member != drained);
            }
            Ok(Value::Null)
        })
        .eventually("every member has its pod", |world| members(world) == world.all::<Pod>().len())
        .sometimes("one member is left", |world| members(world) == 1)
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "pod_deleted_before_it_is_drained",
        story: "A pod is deleted and then drained; after a crash in between, its member stays in the cluster for ever.",
        origin: "cockroachdb/cockroach-operator issue 542",
        reveals: "every member has its pod",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
