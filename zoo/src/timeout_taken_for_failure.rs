//! An order that was not answered in time is taken for one that failed, and is placed elsewhere: now there are
//! two.

use serde_json::{Value, json};
use windlass::{CallError, Cx, Machine, Outcome, Service, States, done};
use windlass_check::{Check, Faults, View, check};

use crate::broker::{Broker, broker};
use crate::{Specimen, Twin};

struct OrderVolume(Twin);

#[derive(States)]
enum Step {
    #[state(initial)]
    Volume,
}

/// The cloud: one volume per zone, however often it is ordered.
struct Cloud;

impl Service for Cloud {
    const NAME: &'static str = "cloud";
    /// The zone.
    type Request = &'static str;
    type Response = ();
}

impl Machine for OrderVolume {
    type Parent = Broker;
    type State = Step;

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        match cx.call(Cloud, "zone-a").await {
            Ok(()) => {}
            // Whether there is a volume is not known: only the same order again can show it.
            Err(error @ CallError::Timeout { .. }) if self.0 == Twin::Repaired => return Err(error.into()),
            Err(_) => cx.call(Cloud, "zone-b").await?,
        }
        done()
    }
}

fn volumes(world: &View<'_>) -> usize {
    world.service("cloud").and_then(Value::as_array).map_or(0, Vec::len)
}

fn check_twin(twin: Twin) -> Check {
    check(OrderVolume(twin))
        .given([broker(&[])])
        .service("cloud", json!([]), |zones, zone| {
            if let Some(zones) = zones.as_array_mut()
                && !zones.contains(zone)
            {
                zones.push(zone.clone());
            }
            Ok(Value::Null)
        })
        .faults(Faults::none().lost_replies(1))
        .always("there is at most one volume", |world| volumes(world) <= 1)
        .sometimes("there is a volume", |world| volumes(world) == 1)
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "timeout_taken_for_failure",
        story: "An order whose answer was lost is taken for a failed one and placed in another zone.",
        origin: "kubernetes-sigs/vsphere-csi-driver issue 2507",
        reveals: "there is at most one volume",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
