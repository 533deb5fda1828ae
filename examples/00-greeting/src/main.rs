//! The program: `greeting --help` lists its commands.

use std::process::ExitCode;

use greeting::{Greeter, Greeting, two_greetings};
use kube::CustomResourceExt;
use windlass_app::AppController;

fn main() -> ExitCode {
    windlass_app::main(|app| {
        app.about("For each Greeting, a ConfigMap that greets somebody")
            .controller(AppController::new(Greeter).definition(Greeting::crd()))
            .check("two-greetings", "everybody is greeted", || two_greetings(Greeter))
    })
}
