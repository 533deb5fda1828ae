//! The network: requests that no process waits for any more.

use std::collections::BTreeSet;

use super::database::{Database, Request};

/// Messages on their way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Network {
    /// Sent by a controller that has crashed since, and not delivered yet. Sorted: they arrive in any order.
    pub(crate) late: Vec<Request>,
    /// Delivered once, and perhaps once more.
    pub(crate) copies: BTreeSet<Request>,
    /// Those whose sender waits: it may get the refusal of the copy first.
    pub(crate) awaited: BTreeSet<Request>,
}

impl Network {
    /// Forgets what can never do anything again.
    pub(crate) fn drop_dead(&mut self, database: &Database) {
        let awaited = &self.awaited;
        self.late.retain(|request| !database.is_dead(*request));
        self.copies.retain(|request| awaited.contains(request) || !database.is_dead(*request));
    }

    /// A copy arrives.
    pub(crate) fn use_copy(&mut self, request: Request) {
        self.copies.remove(&request);
        self.awaited.remove(&request);
    }

    /// The sender of a request waits no more.
    pub(crate) fn abandon(&mut self, request: Request, database: &Database) {
        self.awaited.remove(&request);
        self.drop_dead(database);
    }
}
