//! For each `Greeting`, a ConfigMap that greets somebody.

mod controller;
mod kind;
mod mistake;

pub use controller::Greeter;
pub use kind::{Greeting, GreetingSpec, config_map, greeting};
pub use mistake::CreatesOnce;
