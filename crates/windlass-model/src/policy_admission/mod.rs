//! The evaluation of admission [policies](crate::policies). Mutating ones change what is written, then validating ones look
//! at the result.
//!
//! The verbs describe a write as a `Review`, `mutate` it and `admit` it.

mod decision;
mod dispatch;
mod matching;
mod mutation;
mod mutator;
mod parameters;
mod review;
mod scope;
mod view;

pub(crate) use dispatch::admit;
pub(crate) use mutator::{Reinvocation, mutate};
pub(crate) use review::{Kind, Operation, Review};
