//! The times of the protocol, and which of them go together.

/// Milliseconds of a clock that only the instance itself reads.
///
/// It must be monotonic and run while the machine is suspended (`CLOCK_BOOTTIME`). Where it begins does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub u64);

impl Millis {
    /// The time that is this many milliseconds later.
    #[must_use]
    pub fn plus(self, ms: u64) -> Self {
        Millis(self.0.saturating_add(ms))
    }
}

/// Times of the protocol, in milliseconds. All instances of a ring must have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timing {
    /// L: how long others must see a lease unchanged before they end it. Default: 15 s.
    pub lease_ms: u64,
    /// R: how long after it has **sent** its last good renewal an instance may act. Default: 10 s.
    pub renew_ms: u64,
    /// T: the longest that a request may be in flight, from the check of its permit on. Default: 5 s.
    pub request_ms: u64,
    /// Time between two renewals, and between two reads of the ring and of the leases. Default: 2 s.
    pub retry_ms: u64,
    /// What clocks may differ by in L, added to the wait after an expiry. Default: 150 ms.
    pub drift_ms: u64,
    /// How long the holder of the lock waits for other members to come and go before it computes who owns what.
    /// Default: 500 ms.
    pub settle_ms: u64,
}

impl Default for Timing {
    fn default() -> Self {
        Timing {
            lease_ms: 15_000,
            renew_ms: 10_000,
            request_ms: 5_000,
            retry_ms: 2_000,
            drift_ms: 150,
            settle_ms: 500,
        }
    }
}

/// With these times, two could act on one slot, or none could.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimingError {
    /// Others would end the lease of an instance that still acts.
    #[error(
        "the lease ({lease_ms} ms) must last longer than an instance acts without renewing it ({renew_ms} ms)"
    )]
    LeaseTooShort {
        /// L.
        lease_ms: u64,
        /// R.
        renew_ms: u64,
    },
    /// An instance would stop acting between two renewals.
    #[error(
        "an instance must be able to act ({renew_ms} ms) for twice the time between two renewals ({retry_ms} ms)"
    )]
    RenewTooShort {
        /// R.
        renew_ms: u64,
        /// The time between two renewals.
        retry_ms: u64,
    },
    /// Something that takes time would take none.
    #[error("{0} must not be zero")]
    Zero(&'static str),
}

impl Timing {
    /// Whether these times can work.
    ///
    /// # Errors
    /// Which of them do not go together.
    pub fn check(&self) -> Result<(), TimingError> {
        let Timing { lease_ms, renew_ms, retry_ms, request_ms, .. } = *self;
        if retry_ms == 0 {
            return Err(TimingError::Zero("the time between two renewals"));
        }
        if request_ms == 0 {
            return Err(TimingError::Zero("the time that a request may be in flight"));
        }
        if lease_ms <= renew_ms {
            return Err(TimingError::LeaseTooShort { lease_ms, renew_ms });
        }
        if renew_ms < 2 * retry_ms {
            return Err(TimingError::RenewTooShort { renew_ms, retry_ms });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_go_together() {
        assert_eq!(Timing::default().check(), Ok(()));
    }

    #[test]
    fn times_that_do_not_go_together_are_named() {
        let check = |change: fn(&mut Timing)| {
            let mut timing = Timing::default();
            change(&mut timing);
            timing.check().unwrap_err().to_string()
        };
        assert_eq!(
            check(|timing| timing.lease_ms = 10_000),
            "the lease (10000 ms) must last longer than an instance acts without renewing it (10000 ms)"
        );
        assert_eq!(
            check(|timing| timing.retry_ms = 6_000),
            "an instance must be able to act (10000 ms) for twice the time between two renewals (6000 ms)"
        );
        assert_eq!(check(|timing| timing.retry_ms = 0), "the time between two renewals must not be zero");
        assert_eq!(
            check(|timing| timing.request_ms = 0),
            "the time that a request may be in flight must not be zero"
        );
    }
}
