//! Traffic is switched to the version that the user asks for. The process crashes with a request on its way, its next life
//! switches to a newer version, and then the old request arrives.
//!
//! The checker once had this wrong. With `crashes()` alone, what a crashed process had sent arrived before anything that
//! its next life sent, and the broken controller *held*; it took `reorders()` to show it. But the two lives have two
//! connections, and nothing keeps the requests of one behind those of the other.

use k8s_openapi::api::core::v1::Service;
use serde_json::json;
use windlass::{Cx, Declaration, Machine, Outcome, States, Verb, done};
use windlass_check::{Check, ClientEvent, Faults, View, check};

use crate::broker::{Broker, broker, field, service};
use crate::by_hand::patch;
use crate::{Specimen, Twin};

struct SwitchTraffic(Twin);

#[derive(States)]
enum Step {
    #[state(initial)]
    Switch,
}

impl Machine for SwitchTraffic {
    type Parent = Broker;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.may::<Service>([Verb::Get, Verb::Update, Verb::Patch]);
    }

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        let version = field(cx.parent(), "version").to_owned();
        match self.0 {
            Twin::Broken => {
                patch::<_, Service>(cx, "mq", json!({ "spec": { "selector": { "version": version } } }))
                    .await?;
            }
            Twin::Repaired => {
                let Some(mut service) = cx.get::<Service>("mq").await? else { return done() };
                let selector = service.spec.get_or_insert_default().selector.get_or_insert_default();
                selector.insert("version".to_owned(), version);
                // It carries the resource version that was read: late, it is refused.
                cx.update(&service).await?;
            }
        }
        done()
    }
}

fn serves(world: &View<'_>, version: &str) -> bool {
    let selector = world.get::<Service>("mq").and_then(|service| service.spec?.selector);
    selector.is_some_and(|selector| selector.get("version").is_some_and(|serving| serving == version))
}

fn check_twin(twin: Twin) -> Check {
    check(SwitchTraffic(twin))
        .given([broker(&[("version", "2")])])
        .given([service("mq")])
        .client([ClientEvent::patch::<Broker>("mq", json!({ "data": { "version": "3" } }))])
        .faults(Faults::none().crashes(1))
        .never_between("traffic goes back", |step| serves(&step.before, "3") && serves(&step.after, "2"))
        .sometimes("version 2 gets the traffic", |world| serves(world, "2"))
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "late_write_of_a_crashed_process",
        story: "A process crashes with a switch of traffic on its way, its next life switches on, and the old switch comes \
                last. While requests of both lives stayed in order unless reorders() was on, this held.",
        origin: "a wrong verdict of this checker",
        reveals: "traffic goes back",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
