//! The network: requests that nobody waits for any more.

use std::collections::BTreeSet;

use super::database::{Database, Request};

/// Messages on their way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Network {
    /// Sent by a controller that has crashed since, and not delivered yet.
    pub(crate) late: Vec<Request>,
    /// Delivered once, and perhaps once more.
    pub(crate) copies: BTreeSet<Request>,
}

impl Network {
    /// Forgets what can never do anything again.
    pub(crate) fn drop_dead(&mut self, database: &Database) {
        self.late.retain(|request| !database.is_dead(*request));
        self.copies.retain(|request| !database.is_dead(*request));
    }
}
