//! The only place where the server reads the time of day.

use std::time::{SystemTime, UNIX_EPOCH};

use windlass_model::Timestamp;

/// The time of day, as objects show it.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// The part of the time that looks random.
pub(crate) fn now_nanoseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::from(since.subsec_nanos())
}
