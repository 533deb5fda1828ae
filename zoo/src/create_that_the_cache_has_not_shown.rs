//! The answer to a create is lost, and the cache has not shown the new object yet: another one is made.
//!
//! The checker once passed this. It took it that a write brings all of the writer's caches up to date at once; in truth
//! its answer brings one object up to date, if it comes, and the watches of each kind deliver the rest when they do.

use k8s_openapi::api::core::v1::Pod;
use windlass::{Cx, Declaration, Machine, ObjectRef, Outcome, Select, States, Verb, done};
use windlass_check::{Check, Faults, View, check};

use crate::broker::{Broker, broker, pod};
use crate::by_hand::create_once;
use crate::{Specimen, Twin};

struct KeepOnePod(Twin);

#[derive(States)]
enum Step {
    #[state(initial)]
    Pod,
}

impl Machine for KeepOnePod {
    type Parent = Broker;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        let parents = |_: &Pod| vec![ObjectRef::new("default", "mq")];
        declaration.watches::<Pod>(parents).may::<Pod>([Verb::Create]);
    }

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        if !cx.list_cached::<Pod>(Select::all()).await?.is_empty() {
            return done();
        }
        match self.0 {
            Twin::Broken => {
                let mut pod = pod("");
                pod.metadata.generate_name = Some("mq-".to_owned());
                cx.create(&pod).await.map(drop)?;
            }
            // A second one would have the same name, and is refused.
            Twin::Repaired => create_once(cx, &pod("mq-0")).await?,
        }
        done()
    }
}

fn pods(world: &View<'_>) -> usize {
    world.all::<Pod>().len()
}

fn check_twin(twin: Twin) -> Check {
    check(KeepOnePod(twin))
        .given([broker(&[])])
        .faults(Faults::none().lost_replies(1).stale(1))
        .always("there is at most one pod", |world| pods(world) <= 1)
        .sometimes("there is a pod", |world| pods(world) == 1)
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "create_that_the_cache_has_not_shown",
        story: "The answer to a create is lost, the cache does not have the pod yet, and another one is created.",
        origin: "the reason for the expectations of Kubernetes' own ReplicaSet controller",
        reveals: "there is at most one pod",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
