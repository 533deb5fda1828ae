//! The API over HTTP: connections, requests, answers. Every rule is the model's.

pub(crate) mod about;
pub(crate) mod access;
pub(crate) mod activity;
pub(crate) mod answer;
pub(crate) mod api;
pub(crate) mod body;
pub(crate) mod connections;
pub(crate) mod definition_status;
pub(crate) mod documents;
pub(crate) mod guarded;
pub(crate) mod health;
pub(crate) mod stall;
#[cfg(test)]
mod tests;
pub(crate) mod texts;
pub(crate) mod watch;
