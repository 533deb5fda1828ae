//! What can be set about a queue.

use std::time::Duration;

use super::backoff::Backoff;
use super::rate_limit::RateLimit;

/// What can be set about a queue. The default suits most controllers.
#[derive(Clone, Debug)]
pub struct QueueSettings {
    /// How long an object that failed waits.
    pub backoff: Backoff,
    /// How many reconciles may start per second. Clones of one limit are shared, so that several controllers
    /// together keep it. By default there is none: workers are a limit of their own.
    pub rate_limit: Option<RateLimit>,
    /// How long objects that nobody waits for in particular let all others go first. After that they have every fourth turn.
    pub patience: Duration,
}

impl Default for QueueSettings {
    fn default() -> Self {
        QueueSettings { backoff: Backoff::default(), rate_limit: None, patience: Duration::from_secs(10) }
    }
}
