//! Two replicas of an operator run without electing a leader: both see that a child is missing, and both make
//! one.

use k8s_openapi::api::core::v1::Pod;
use windlass::{Cx, Declaration, Machine, Outcome, Select, States, Verb, done};
use windlass_check::{Check, View, check};

use crate::broker::{Broker, broker, pod};
use crate::by_hand::create_once;
use crate::{Specimen, Twin};

struct MakeProxy(Twin);

#[derive(States)]
enum Step {
    #[state(initial)]
    Pod,
}

impl Machine for MakeProxy {
    type Parent = Broker;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.may::<Pod>([Verb::List, Verb::Create]);
    }

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        if !cx.list::<Pod>(Select::all()).await?.is_empty() {
            return done();
        }
        match self.0 {
            Twin::Broken => {
                let mut pod = pod("");
                pod.metadata.generate_name = Some("mq-".to_owned());
                cx.create(&pod).await?;
            }
            // Of two with the same name, the API takes one.
            Twin::Repaired => create_once(cx, &pod("mq-0")).await?,
        }
        done()
    }
}

fn pods(world: &View<'_>) -> usize {
    world.all::<Pod>().len()
}

fn check_twin(twin: Twin) -> Check {
    check(MakeProxy(twin))
        .given([broker(&[])])
        .replicas(2)
        .always("there is at most one pod", |world| pods(world) <= 1)
        .sometimes("there is a pod", |world| pods(world) == 1)
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "two_replicas_of_the_operator",
        story: "Two replicas of an operator see that a pod is missing, and each makes one under a name of its own.",
        origin: "tailscale/tailscale issue 8580",
        reveals: "there is at most one pod",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
