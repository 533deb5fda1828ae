//! A network is ordered from a cloud, and its number is noted afterwards: a crash in between, and a second one
//! is ordered.

use kube::ResourceExt;
use serde_json::{Value, json};
use windlass::{Cx, Declaration, Machine, Outcome, Service, States, Verb, done};
use windlass_check::{Check, Faults, View, check};

use crate::broker::{Broker, broker, field};
use crate::by_hand::patch;
use crate::{Specimen, Twin};

struct OrderNetwork(Twin);

#[derive(States)]
enum Step {
    #[state(initial)]
    Network,
}

/// The cloud: each order makes a network, unless it carries a key that was used before.
struct Cloud;

impl Service for Cloud {
    const NAME: &'static str = "cloud";
    /// The key, or nothing.
    type Request = Option<String>;
    /// The number of the network.
    type Response = usize;
}

impl Machine for OrderNetwork {
    type Parent = Broker;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.may::<Broker>([Verb::Patch]);
    }

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        if !field(cx.parent(), "network").is_empty() {
            return done();
        }
        let key = match self.0 {
            Twin::Broken => None,
            Twin::Repaired => cx.parent().uid(),
        };
        let number = cx.call(Cloud, key).await?;
        let noted = json!({ "data": { "network": number.to_string() } });
        patch::<_, Broker>(cx, cx.name(), noted).await?;
        done()
    }
}

/// The networks are a list of the keys that they were ordered with.
fn order(networks: &mut Value, key: &Value) -> Value {
    let Some(keys) = networks.as_array_mut() else { return Value::Null };
    let known = keys.iter().position(|known| !key.is_null() && known == key);
    let number = known.unwrap_or_else(|| {
        keys.push(key.clone());
        keys.len() - 1
    });
    number.into()
}

fn networks(world: &View<'_>) -> usize {
    world.service("cloud").and_then(Value::as_array).map_or(0, Vec::len)
}

fn check_twin(twin: Twin) -> Check {
    check(OrderNetwork(twin))
        .given([broker(&[])])
        .faults(Faults::none().crashes(1))
        .service("cloud", json!([]), |networks, key| Ok(order(networks, key)))
        .always("at most one network is paid for", |world| networks(world) <= 1)
        .eventually("there is a network", |world| networks(world) == 1)
        .sometimes("it is noted", |world| {
            world.get::<Broker>("mq").is_some_and(|broker| field(&broker, "network") == "0")
        })
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "ordered_twice",
        story: "A network is ordered without a key of its own; after a crash before its number is noted, another one is.",
        origin: "aws-controllers-k8s/community issue 2062",
        reveals: "at most one network is paid for",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
