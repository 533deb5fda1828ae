//! Settings of a queue.

use std::time::Duration;

use super::backoff::Backoff;
use super::rate_limit::RateLimit;

/// Settings of a queue. The defaults suit most controllers.
#[derive(Clone, Debug)]
pub struct QueueSettings {
    /// Backoff of objects that failed. Default: 1 s, doubled up to 60 s.
    pub backoff: Backoff,
    /// Maximum number of reconciles that start per second. Clones of one limit share it across controllers.
    /// Default: none, since the number of workers is a limit of its own.
    pub rate_limit: Option<RateLimit>,
    /// How long background objects (see [`Priority`](super::Priority)) let all live ones go first. After that they get
    /// every fourth turn. Default: 10 s.
    pub background_aging: Duration,
}

impl Default for QueueSettings {
    fn default() -> Self {
        QueueSettings {
            backoff: Backoff::default(),
            rate_limit: None,
            background_aging: Duration::from_secs(10),
        }
    }
}
