//! Settings of the leader election: the lease, the identity of this process, and the timing.

use std::time::Duration;

/// Settings of the leader election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaderSettings {
    /// The namespace of the lease.
    pub namespace: String,
    /// The name of the lease. Processes with the same one elect one of them.
    pub name: String,
    /// The identity of this process; no other process that runs at the same time may have it.
    pub identity: String,
    /// The timing.
    pub timing: Timing,
}

/// Timing of the leader election. The defaults are those of client-go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How long others must see a lease unchanged before they take it. Default: 15 s.
    pub lease_duration: Duration,
    /// A leader that cannot renew its lease for this long stops leading. Default: 10 s.
    pub renew_deadline: Duration,
    /// Time between two attempts to acquire or renew the lease. Default: 2 s.
    pub retry_period: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Timing {
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}

/// With these settings, no leader could be elected, or two at a time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// Others could take the lease of a leader that still acts.
    #[error(
        "the lease must last longer than a leader tries to renew it: {lease:?} is not more than {renew:?}"
    )]
    LeaseTooShort {
        /// The lease duration.
        lease: Duration,
        /// The renew deadline.
        renew: Duration,
    },
    /// A leader would stop before it has tried to renew.
    #[error(
        "a leader must try to renew its lease for longer than {retry:?}, the time between two attempts, and {renew:?} is not"
    )]
    RenewTooShort {
        /// The renew deadline.
        renew: Duration,
        /// The retry period.
        retry: Duration,
    },
    /// A Lease counts whole seconds.
    #[error("a lease lasts whole seconds, at least one, and {lease:?} is not that")]
    NotSeconds {
        /// The lease duration.
        lease: Duration,
    },
    /// The lease would not show its holder.
    #[error(
        "the leader's identity is empty: use the name of the pod or of the machine, with something random"
    )]
    NoIdentity,
}

impl LeaderSettings {
    /// Whether these settings can work.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn check(&self) -> Result<(), SettingsError> {
        let Timing { lease_duration: lease, renew_deadline: renew, retry_period: retry } = self.timing;
        if self.identity.is_empty() {
            return Err(SettingsError::NoIdentity);
        }
        if lease <= renew {
            return Err(SettingsError::LeaseTooShort { lease, renew });
        }
        // A few attempts must fit, the pause between them being a fifth longer at times.
        if renew <= retry.mul_f64(1.2) || retry.is_zero() {
            return Err(SettingsError::RenewTooShort { renew, retry });
        }
        if lease.subsec_nanos() != 0 {
            return Err(SettingsError::NotSeconds { lease });
        }
        Ok(())
    }
}
