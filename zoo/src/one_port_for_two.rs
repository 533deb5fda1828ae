//! The lowest port that no broker has is given to a broker: two that are reconciled at the same time get the
//! same one.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Secret;
use serde_json::json;
use windlass::{Cx, Declaration, Error, Machine, Outcome, Select, States, Verb, done};
use windlass_check::{Check, Oracle, View, check};

use crate::broker::{Broker, broker, field, object};
use crate::by_hand::{create_once, patch};
use crate::{Specimen, Twin};

struct GivePorts(Twin);

#[derive(States)]
enum Step {
    #[state(initial)]
    Port,
}

impl Machine for GivePorts {
    type Parent = Broker;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.may::<Broker>([Verb::Patch]).may::<Secret>([Verb::Get, Verb::Create]);
    }

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        if !field(cx.parent(), "port").is_empty() {
            return done();
        }
        let port = match self.0 {
            Twin::Broken => lowest_free(cx).await?,
            Twin::Repaired => reserved(cx).await?,
        };
        patch::<_, Broker>(cx, cx.name(), json!({ "data": { "port": port } })).await?;
        done()
    }
}

async fn lowest_free(cx: &Cx<Broker>) -> Result<&'static str, Error> {
    let brokers = cx.list::<Broker>(Select::all()).await?;
    let is_free = |port: &&str| brokers.iter().all(|broker| field(broker, "port") != *port);
    Ok(["5671", "5672"].into_iter().find(is_free).unwrap_or_default())
}

/// Whoever creates an object that is named after a port has the port.
async fn reserved(cx: &Cx<Broker>) -> Result<&'static str, Error> {
    for port in ["5671", "5672"] {
        let name = format!("port-{port}");
        create_once(cx, &reservation(&name, cx.name())).await?;
        if cx.get::<Secret>(&name).await?.is_some_and(|found| found.type_.as_deref() == Some(cx.name())) {
            return Ok(port);
        }
    }
    Ok("")
}

fn reservation(name: &str, owner: &str) -> Secret {
    object(json!({ "metadata": { "name": name }, "type": owner }))
}

fn other_broker() -> Broker {
    let mut other = broker(&[]);
    other.metadata.name = Some("other".to_owned());
    other
}

fn ports(world: &View<'_>) -> Vec<String> {
    let brokers = world.all::<Broker>();
    brokers.iter().map(|broker| field(broker, "port").to_owned()).filter(|port| !port.is_empty()).collect()
}

fn check_twin(twin: Twin) -> Check {
    check(GivePorts(twin))
        .given([broker(&[]), other_broker()])
        .workers(2)
        .always("no two brokers have the same port", |world| {
            let ports = ports(world);
            ports.iter().collect::<BTreeSet<_>>().len() == ports.len()
        })
        .sometimes("both have a port", |world| ports(world).len() == 2)
        // First come, first served: who has which port depends on the order.
        .without(Oracle::OneResult)
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "one_port_for_two",
        story: "Two brokers that are reconciled at the same time are given the same port, free when both looked.",
        origin: "kubernetes/kubernetes issue 29058",
        reveals: "no two brokers have the same port",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
