//! A child gets a generated name, which is recorded afterwards: a crash in between, and there are two children.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::ResourceExt;
use serde_json::json;
use windlass::{Cx, Declaration, Machine, Outcome, States, Verb, done};
use windlass_check::{Check, Faults, check};

use crate::broker::{Broker, broker, claim, field};
use crate::by_hand::{create_once, patch};
use crate::{Specimen, Twin};

struct ClaimStorage(Twin);

#[derive(States)]
enum Step {
    #[state(initial)]
    Claim,
}

impl Machine for ClaimStorage {
    type Parent = Broker;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.may::<PersistentVolumeClaim>([Verb::Create]).may::<Broker>([Verb::Patch]);
    }

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        if !field(cx.parent(), "claim").is_empty() {
            return done();
        }
        let name = match self.0 {
            Twin::Broken => {
                let mut claim = claim("", "1Gi");
                claim.metadata.generate_name = Some("mq-".to_owned());
                cx.create(&claim).await?.name_any()
            }
            Twin::Repaired => {
                // Whoever tries again comes to the same name.
                let name = format!("mq-{}", cx.parent().uid().unwrap_or_default());
                create_once(cx, &claim(&name, "1Gi")).await?;
                name
            }
        };
        patch::<_, Broker>(cx, cx.name(), json!({ "data": { "claim": name } })).await?;
        done()
    }
}

fn check_twin(twin: Twin) -> Check {
    check(ClaimStorage(twin))
        .given([broker(&[])])
        .faults(Faults::none().crashes(1))
        .always("there is at most one claim", |world| world.all::<PersistentVolumeClaim>().len() <= 1)
        .eventually("there is a claim", |world| !world.all::<PersistentVolumeClaim>().is_empty())
        .sometimes("it is recorded", |world| {
            world.get::<Broker>("mq").is_some_and(|broker| !field(&broker, "claim").is_empty())
        })
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "generated_name_not_recorded",
        story: "A child is created with a generated name; after a crash before the name is recorded, another one is.",
        origin: "crossplane/crossplane issue 1910",
        reveals: "there is at most one claim",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
