//! What the cache does not show is taken for missing, and made once more: a new watch is behind the last one.

use k8s_openapi::api::core::v1::Pod;
use windlass::{Cx, Declaration, Machine, ObjectRef, Outcome, Select, States, Verb, done};
use windlass_check::{Check, Faults, View, check};

use crate::broker::{Broker, broker, pod};
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
        declaration.watches::<Pod>(parents).may::<Pod>([Verb::List, Verb::Create]);
    }

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        let mut pods = cx.list_cached::<Pod>(Select::all()).await?;
        if pods.is_empty() && self.0 == Twin::Repaired {
            // What the cache does not show may be there: before another one is made, the API itself is asked.
            pods = cx.list::<Pod>(Select::all()).await?;
        }
        if pods.is_empty() {
            let mut pod = pod("");
            pod.metadata.generate_name = Some("mq-".to_owned());
            cx.create(&pod).await?;
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
        .faults(Faults::none().watch_gaps(1).stale(1))
        .always("there is at most one pod", |world| pods(world) <= 1)
        .sometimes("there is a pod", |world| pods(world) == 1)
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "absent_from_the_cache",
        story: "A watch starts again on an API server that is behind, the cache does not show a pod, and another one is created.",
        origin: "k0sproject/k0smotron pull request 1535",
        reveals: "there is at most one pod",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
