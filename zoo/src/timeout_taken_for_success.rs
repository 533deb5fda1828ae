//! A member that does not answer will have heard all the same, and its pod is deleted: the request never
//! arrived, and the member was not drained.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::{Value, json};
use windlass::{CallError, Cx, Declaration, Machine, Outcome, Select, Service, States, Verb, done};
use windlass_check::{Check, Faults, View, check};

use crate::broker::{Broker, broker, field, pod};
use crate::{Specimen, Twin};

struct DrainAndDelete(Twin);

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

impl Machine for DrainAndDelete {
    type Parent = Broker;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.may::<Pod>([Verb::List, Verb::Delete]);
    }

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        let replicas: usize = field(cx.parent(), "replicas").parse().unwrap_or(1);
        for pod in cx.list::<Pod>(Select::all()).await?.into_iter().skip(replicas) {
            match cx.call(Members, pod.name_any()).await {
                // Draining is idempotent: whoever is in doubt asks again.
                Err(CallError::Timeout { .. }) if self.0 == Twin::Broken => {}
                drained => drained?,
            }
            cx.delete(&pod).await?;
        }
        done()
    }
}

fn members(world: &View<'_>) -> usize {
    world.service("members").and_then(Value::as_array).map_or(0, Vec::len)
}

fn check_twin(twin: Twin) -> Check {
    check(DrainAndDelete(twin))
        .given([broker(&[("replicas", "1")])])
        .given([pod("mq-0"), pod("mq-1")])
        .service("members", json!(["mq-0", "mq-1"]), |members, drained| {
            if let Some(members) = members.as_array_mut() {
                members.retain(|member| member != drained);
            }
            Ok(Value::Null)
        })
        .faults(Faults::none().lost_requests(1))
        .always("every member has its pod", |world| members(world) <= world.all::<Pod>().len())
        .eventually("one member is left", |world| members(world) == 1)
        .sometimes("a drained member still has its pod", |world| members(world) < world.all::<Pod>().len())
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "timeout_taken_for_success",
        story: "A request to drain a member is not answered, and its pod is deleted all the same: it was lost on the way.",
        origin: "etcd-io/etcd-operator pull request 500",
        reveals: "every member has its pod",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
