//! What scripts are performed against.

pub mod http;
pub mod model;
mod wire;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::exchange::{Answer, Sent};

/// One script's conversation with a target.
pub trait Session {
    /// Sends a request and waits for its whole answer.
    ///
    /// # Errors
    /// If there is no answer.
    fn send(&mut self, sent: &Sent) -> Result<Answer>;

    /// Opens a watch. Without events, the answer is a refusal, with its body.
    ///
    /// # Errors
    /// If there is no answer.
    fn watch(&mut self, sent: &Sent) -> Result<(Answer, Option<Box<dyn Events>>)>;

    /// Lets the target do what it does by itself, before a request is tried again.
    fn pause(&mut self);
}

/// The events of a watch, in the order in which they come.
pub trait Events {
    /// The next event; `None` if the watch is over.
    ///
    /// # Errors
    /// If none comes.
    fn next(&mut self) -> Result<Option<Value>>;

    /// Waits for the next event without reading it.
    ///
    /// # Errors
    /// If none comes, or the watch is over.
    fn skip(&mut self) -> Result<()> {
        self.next()?.map(drop).context("the watch is over")
    }
}
