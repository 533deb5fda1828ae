//! The time of day, as objects show it. What waits or expires goes by `Instant`, which cannot be set.

use std::time::{SystemTime, UNIX_EPOCH};

use windlass::model::Timestamp;

/// The time of day.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
