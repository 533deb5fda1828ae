//! What happens to services, and what is asked of them without changing anything.

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use serde_json::{Value, json};
use windlass::{Cx, Declaration, Machine, Outcome, Service, done, requeue_after, secs};
use windlass_check::{Check, ClientEvent, Faults, check};

use crate::things::{Only, Thing, map, thing};

/// A gate that somebody else opens.
struct Gate;

impl Service for Gate {
    const NAME: &'static str = "gate";
    type Request = Value;
    type Response = Value;
}

/// Makes a ConfigMap once the gate is open.
struct Enters;

impl Machine for Enters {
    type Parent = Thing;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.output::<ConfigMap>();
    }

    async fn run(&self, _: Only, cx: &Cx<Thing>) -> Outcome<Only> {
        if cx.call(Gate, json!("ask")).await? != json!("open") {
            return requeue_after(secs(1), "GateClosed");
        }
        cx.ensure(map("in"));
        done()
    }
}

fn entering() -> Check {
    check(Enters)
        .given([thing("t")])
        .service("gate", json!("closed"), |gate, request| {
            if request == "open" {
                *gate = json!("open");
            }
            Ok(gate.clone())
        })
        .client([ClientEvent::call(Gate, &json!("open"))])
        .faults(Faults::none().crashes(1).duplicates().reorders())
        .always("in only through an open gate", |world| {
            !world.has::<ConfigMap>("in") || world.service("gate") == Some(&json!("open"))
        })
        .eventually("it is in", |world| world.has::<ConfigMap>("in"))
        .sometimes("the gate is open and it is not in", |world| {
            world.service("gate") == Some(&json!("open")) && !world.has::<ConfigMap>("in")
        })
}

#[test]
fn something_happens_to_a_service_at_any_time() {
    println!("{}", entering().assert());
}

#[test]
fn requests_that_change_nothing_make_fewer_states() {
    let all = entering().assert();
    let fewer = entering().service_reads("gate", |request| request == "ask").assert();
    assert!(fewer.states() < all.states(), "{} against {}", fewer.states(), all.states());
}

#[test]
fn given_objects_have_the_status_they_come_with() {
    let pod: Pod = serde_json::from_value(json!({
        "metadata": { "name": "p", "namespace": "default" },
        "spec": { "containers": [{ "name": "c", "image": "i" }] },
        "status": { "phase": "Running", "podIP": "10.0.0.1" },
    }))
    .expect("a pod");
    let moved = json!({ "status": { "podIP": "10.0.0.2" } });
    let is_at = |ip: &'static str| {
        move |world: &windlass_check::View<'_>| {
            world.get::<Pod>("p").and_then(|pod| pod.status?.pod_ip).as_deref() == Some(ip)
        }
    };
    entering()
        .given([pod])
        .client([ClientEvent::patch_status::<Pod>("p", moved)])
        .sometimes("it is where it was", is_at("10.0.0.1"))
        .eventually("it has moved", is_at("10.0.0.2"))
        .assert();
}
