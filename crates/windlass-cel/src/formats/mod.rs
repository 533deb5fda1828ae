//! The text formats of Kubernetes that expressions and schemas share.

pub mod base64;
pub mod calendar;
pub mod names;
pub mod pattern;
pub mod quantity;
