//! A program with one controller and two checks: `cargo run -p windlass-app --example pairs -- --help`.

use std::process::ExitCode;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::CustomResourceExt;
use two_configmaps::{Pair, SecondFirst, TwoConfigMaps, pair};
use windlass::Machine;
use windlass_app::{AppCheck, AppController};
use windlass_check::{Check, check};

fn main() -> ExitCode {
    windlass_app::main(|app| {
        app.about("Two ConfigMaps for each Pair")
            .version("1.2.3")
            .controller(AppController::new(TwoConfigMaps).definition(Pair::crd()))
            .check("in-order", "the second ConfigMap only after the first", || in_order(TwoConfigMaps))
            .checks([AppCheck::new("out-of-order", "the same, broken", || in_order(SecondFirst)).specimen()])
    })
}

fn in_order(machine: impl Machine<Parent = Pair>) -> Check {
    check(machine)
        .crd(&Pair::crd())
        .given([pair("a")])
        .always("in order", |world| !world.has::<ConfigMap>("a-cm2") || world.has::<ConfigMap>("a-cm1"))
}
