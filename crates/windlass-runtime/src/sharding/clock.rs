//! The clock of the protocol: monotonic, and running while the machine is suspended.

use std::sync::Arc;

use windlass_shard::Millis;

/// Reads the time. Where it begins does not matter.
#[derive(Clone)]
pub(crate) struct Clock(Arc<dyn Fn() -> Millis + Send + Sync>);

impl Clock {
    /// The time since the machine started, suspensions included: a permit must not outlive a lease that ended while
    /// this machine slept.
    pub(crate) fn since_boot() -> Self {
        Clock(Arc::new(|| {
            let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
            let (seconds, nanoseconds) = (time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs());
            Millis(seconds * 1_000 + nanoseconds / 1_000_000)
        }))
    }

    pub(crate) fn now(&self) -> Millis {
        (self.0)()
    }
}
