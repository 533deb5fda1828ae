//! A standby takes over when the leader's lease is over by the standby's own clock: the clock jumps, and there
//! are two leaders.

use std::time::Duration;

use serde_json::{Value, json};
use windlass::model::Timestamp;
use windlass::{Cx, Machine, Outcome, Service, States, done};
use windlass_check::{Check, Faults, View, check};

use crate::broker::{Broker, broker, field};
use crate::{Specimen, Twin};

/// How long a lease lasts.
const LEASE_SECONDS: i64 = 15;

struct TakeOver(Twin);

#[derive(States)]
enum Step {
    #[state(initial)]
    Lease,
}

/// The brokers themselves: each leads, or does not.
struct Brokers;

impl Service for Brokers {
    const NAME: &'static str = "brokers";
    /// Which broker, and whether it is to lead.
    type Request = (&'static str, bool);
    type Response = ();
}

impl Machine for TakeOver {
    type Parent = Broker;
    type State = Step;

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        let renewed = Timestamp::parse(field(cx.parent(), "renewed")).unwrap_or_default();
        if cx.now().await < renewed.plus_seconds(LEASE_SECONDS) {
            return done();
        }
        if self.0 == Twin::Repaired {
            // Whatever the clock says, the old leader must have stopped.
            cx.call(Brokers, ("mq-0", false)).await?;
        }
        cx.call(Brokers, ("mq-1", true)).await?;
        done()
    }
}

fn leads(world: &View<'_>, broker: &str) -> bool {
    world.service("brokers").is_some_and(|leaders| leaders[broker] == true)
}

fn check_twin(twin: Twin) -> Check {
    check(TakeOver(twin))
        .given([broker(&[("renewed", "2026-01-01T00:00:00Z")])])
        .service("brokers", json!({ "mq-0": true }), |leaders, request| {
            leaders[request[0].as_str().unwrap_or_default()] = request[1].clone();
            Ok(Value::Null)
        })
        // Who leads in the end is up to the clock.
        .service_may_differ("brokers")
        .faults(Faults::none().clock_jumps(1, Duration::from_secs(3600)))
        .always("there is one leader at most", |world| !(leads(world, "mq-0") && leads(world, "mq-1")))
        .sometimes("the standby leads", |world| leads(world, "mq-1"))
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "takes_over_by_its_own_clock",
        story: "A standby's clock jumps, the lease looks as if it were over, and there are two leaders.",
        origin: "kubernetes/kubernetes issue 125761",
        reveals: "there is one leader at most",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
