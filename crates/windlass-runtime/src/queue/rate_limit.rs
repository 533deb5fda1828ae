//! How many reconciles may start per second, over all controllers that share the limit.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A token bucket. Clones share it.
#[derive(Clone, Debug)]
pub struct RateLimit {
    per_second: f64,
    burst: f64,
    bucket: Arc<Mutex<Bucket>>,
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    /// When the tokens were counted; none before the first was taken.
    counted: Option<Instant>,
}

impl RateLimit {
    /// A rate in starts per second, and the burst that is possible after a quiet time. Both are raised to a minimum that
    /// lets work go on.
    pub fn new(per_second: f64, burst: u32) -> Self {
        let burst = f64::from(burst.max(1));
        let bucket = Arc::new(Mutex::new(Bucket { tokens: burst, counted: None }));
        RateLimit { per_second: per_second.max(0.001), burst, bucket }
    }

    /// Takes a token.
    ///
    /// # Errors
    /// When there is none: the time at which there will be one, unless another caller takes it.
    pub(crate) fn take(&self, now: Instant) -> Result<(), Instant> {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = bucket.counted.map_or(Duration::ZERO, |counted| now.saturating_duration_since(counted));
        bucket.tokens = (bucket.tokens + passed.as_secs_f64() * self.per_second).min(self.burst);
        // Callers read the clock before they get here, so one may be a little behind another.
        bucket.counted = bucket.counted.max(Some(now));
        if bucket.tokens >= 1.0 {
            bucket.tokens -= 1.0;
            return Ok(());
        }
        let missing = Duration::from_secs_f64((1.0 - bucket.tokens) / self.per_second);
        // Rounding must not lead to a time at which a little is still missing.
        Err(now + missing + Duration::from_micros(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_a_burst_and_then_its_rate() {
        let limit = RateLimit::new(10.0, 3);
        let shared = limit.clone();
        let start = Instant::now();
        assert!((0..3).all(|_| limit.take(start).is_ok()));
        let Err(mut now) = shared.take(start) else { panic!("the burst is over, for all who share it") };
        for taken in 1..100 {
            assert!(limit.take(now).is_ok(), "a token at the time that was named, {taken}");
            now = limit.take(now).expect_err("one at a time");
        }
        let seconds = now.duration_since(start).as_secs_f64();
        assert!((9.9..10.1).contains(&seconds), "{seconds}");
    }

    #[test]
    fn a_quiet_time_fills_no_more_than_the_burst() {
        let limit = RateLimit::new(10.0, 2);
        let later = Instant::now() + Duration::from_secs(3_600);
        assert_eq!((0..9).filter(|_| limit.take(later).is_ok()).count(), 2);
        assert_eq!((0..9).filter(|_| limit.take(later + Duration::from_secs(60)).is_ok()).count(), 2);
    }

    #[test]
    fn a_clock_that_is_behind_gives_nothing() {
        let limit = RateLimit::new(1.0, 1);
        let now = Instant::now() + Duration::from_secs(10);
        assert!(limit.take(now).is_ok());
        assert!(limit.take(now - Duration::from_secs(5)).is_err());
        assert!(limit.take(now + Duration::from_millis(500)).is_err());
        assert!(limit.take(now + Duration::from_millis(1_001)).is_ok());
    }
}
