//! What must hold of greetings under every fault.

use greeting::{CreatesOnce, Greeter, Greeting, greeting};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::CustomResourceExt;
use windlass::Machine;
use windlass_check::{Check, Faults, View, check};

fn greets(world: &View<'_>, name: &str, text: &str) -> bool {
    let data = world.get::<ConfigMap>(name).and_then(|map| map.data).unwrap_or_default();
    data.get("text").is_some_and(|greeted| greeted == text)
}

pub(crate) fn two_greetings(machine: impl Machine<Parent = Greeting>) -> Check {
    check(machine)
        .crd(&Greeting::crd())
        .given([greeting("a", "Ada"), greeting("b", "Bob")])
        .faults(Faults::none().crashes(1).duplicates().reorders())
        .eventually("Ada is greeted", |world| greets(world, "a", "Hello, Ada!"))
        .sometimes("only Bob is greeted", |world| {
            greets(world, "b", "Hello, Bob!") && !world.has::<ConfigMap>("a")
        })
}

#[test]
fn everybody_is_greeted() {
    println!("{}", two_greetings(Greeter).assert());
}

#[test]
fn the_mistake_is_found() {
    let report = two_greetings(CreatesOnce).run();
    println!("{report}");
    assert!(!report.holds());
}
