//! For each `Greeting`, a ConfigMap that greets somebody.

mod checks;
mod controller;
mod kind;
mod mistake;

pub use checks::two_greetings;
pub use controller::Greeter;
pub use kind::{Greeting, GreetingSpec, config_map, greeting};
pub use mistake::CreatesOnce;
