//! What must hold of greetings under every fault.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::CustomResourceExt;
use windlass::Machine;
use windlass_check::{Check, Faults, View, check};

use crate::{Greeting, greeting};

/// Two greetings, one crash, duplicates and reordering, for a controller of greetings.
pub fn two_greetings(machine: impl Machine<Parent = Greeting>) -> Check {
    check(machine)
        .crd(&Greeting::crd())
        .given([greeting("a", "Ada"), greeting("b", "Bob")])
        .faults(Faults::none().crashes(1).duplicates().reorders())
        .eventually("Ada is greeted", |world| greets(world, "a", "Hello, Ada!"))
        .sometimes("only Bob is greeted", |world| {
            greets(world, "b", "Hello, Bob!") && !world.has::<ConfigMap>("a")
        })
}

fn greets(world: &View<'_>, name: &str, text: &str) -> bool {
    let data = world.get::<ConfigMap>(name).and_then(|map| map.data).unwrap_or_default();
    data.get("text").is_some_and(|greeted| greeted == text)
}
