//! `#[derive(States)]`: the steps of a reconcile as an enum, checked at compile time.
//!
//! ```
//! # extern crate self as windlass;
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/contract/mod.rs"));
//! use windlass_derive::States;
//!
//! #[derive(States)]
//! enum Step {
//!     #[state(initial, condition = "FirstReady", next(Second))]
//!     First,
//!     #[state(condition = "SecondReady", when_true = "the token is in place", when_false = "no token yet")]
//!     Second { token: String },
//! }
//!
//! # fn main() {
//! assert_eq!(Step::GRAPH[0].next, [1]);
//! assert_eq!(Step::Second { token: String::new() }.index(), 1);
//! # }
//! ```
//!
//! A machine that cannot work does not compile, and all of its mistakes are shown at once. This one would go round for ever:
//!
//! ```compile_fail
//! # extern crate self as windlass;
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/contract/mod.rs"));
//! # use windlass_derive::States;
//! #[derive(States)]
//! enum Step {
//!     #[state(initial, next(Second))]
//!     First,
//!     #[state(next(First))] // error: these states form a cycle: First -> Second -> First
//!     Second,
//! }
//! # fn main() {}
//! ```

mod attribute;
mod condition;
mod errors;
mod expand;
mod graph;
mod nearest;

/// Implements `windlass::States` for an enum whose variants are the steps of a reconcile.
///
/// Each variant may have one `#[state(...)]` attribute, with these keys:
///
/// | key | meaning |
/// | --- | --- |
/// | `initial` | a reconcile starts here; exactly one variant, without data |
/// | `condition = "FirstReady"` | the status condition that says whether this state is done |
/// | `when_true = "..."` | the message of the condition once it is; if absent, made from the variant's name |
/// | `when_false = "..."` | the message until then; if absent, empty |
/// | `next(Second, Third)` | the states that may follow; if absent, the reconcile ends here |
///
/// # Errors
///
/// The enum does not compile if it has no or two initial states, a cycle, a state that cannot be
/// reached, a `next` that names no variant or one twice, a condition that is not a condition type,
/// is reserved (`Ready`, `Suspended`) or used twice, a message without its condition, an attribute
/// or key that is unknown or doubled, or if it is empty or generic.
#[proc_macro_derive(States, attributes(state))]
pub fn derive_states(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    expand::expand_or_explain(&input).into()
}
