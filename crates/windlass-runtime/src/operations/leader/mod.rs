//! Leader election: of several processes with the same lease, one acts.
//!
//! Start with [`Leadership::start`]. The protocol is pure and is in `election.rs`; this file only sends what it requests
//! for, and waits. A request that a leader sent before its lease was over may still arrive later: an election cannot
//! prevent that, but every write of a controller carries the version that it was decided on.

mod election;
mod lease;
mod settings;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::hashed_fraction::hashed_fraction;

use super::clock;
use super::metrics::Metrics;
use super::perform::Perform;
use election::{Election, LeaseRequest, LeaseResponse, Next};
pub use settings::{LeaderSettings, SettingsError, Timing};

/// The part of a process that takes part in an election.
pub struct Leadership {
    state: watch::Receiver<State>,
    ending: watch::Sender<bool>,
    task: JoinHandle<()>,
}

/// Whether this process leads. Clones share it.
#[derive(Clone)]
pub struct Leading(watch::Receiver<State>);

/// The state of the election.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    leads_until: Option<Instant>,
    holder: String,
}

impl Leading {
    /// Whether this process may act as the leader now.
    pub fn now(&self) -> bool {
        self.0.borrow().leads_until.is_some_and(|until| now() < until)
    }

    /// The last known holder of the lease.
    pub fn holder(&self) -> String {
        self.0.borrow().holder.clone()
    }

    /// Waits until this process leads.
    pub async fn begin(&mut self) {
        loop {
            if self.now() {
                return;
            }
            self.changed().await;
        }
    }

    /// Waits until this process does not lead any more.
    pub async fn end(&mut self) {
        loop {
            let until = self.0.borrow_and_update().leads_until;
            let Some(left) = until.map(|until| until.saturating_duration_since(now())) else { return };
            if left.is_zero() {
                return;
            }
            // Either it is renewed, or its time is over.
            let _ = timeout(left, self.changed()).await;
        }
    }

    /// For tests: who leads is decided by hand.
    #[cfg(test)]
    pub(crate) fn controlled() -> (Control, Leading) {
        let (sender, receiver) = watch::channel(State::default());
        (Control(sender), Leading(receiver))
    }

    async fn changed(&mut self) {
        // The sender is gone: nothing changes any more.
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Decides who leads, for tests.
#[cfg(test)]
pub(crate) struct Control(watch::Sender<State>);

#[cfg(test)]
impl Control {
    pub(crate) fn win(&self) {
        let leads_until = Some(now() + Duration::from_secs(3_600));
        self.0.send_replace(State { leads_until, holder: String::new() });
    }

    pub(crate) fn lose(&self) {
        self.0.send_replace(State::default());
    }
}

impl Leadership {
    /// Takes part in the election for a lease.
    ///
    /// # Errors
    /// When the settings cannot work.
    pub fn start(
        api: Arc<dyn Perform>,
        settings: LeaderSettings,
        metrics: Metrics,
    ) -> Result<Self, SettingsError> {
        settings.check()?;
        metrics.set_leading(&settings.name, false);
        Leadership::begin(api, settings, Some(metrics))
    }

    /// Takes part in the election for a lease whose holder is no leader, but only whoever has its name: who wins is
    /// neither logged nor counted.
    ///
    /// # Errors
    /// When the settings cannot work.
    pub(crate) fn unannounced(
        api: Arc<dyn Perform>,
        settings: LeaderSettings,
    ) -> Result<Self, SettingsError> {
        Leadership::begin(api, settings, None)
    }

    fn begin(
        api: Arc<dyn Perform>,
        settings: LeaderSettings,
        metrics: Option<Metrics>,
    ) -> Result<Self, SettingsError> {
        settings.check()?;
        let (sender, state) = watch::channel(State::default());
        let (ending, ended) = watch::channel(false);
        let candidate = Candidate { api, settings, metrics, state: sender };
        let task = tokio::spawn(candidate.run(ended));
        Ok(Leadership { state, ending, task })
    }

    /// For what must act only as the leader.
    pub fn leading(&self) -> Leading {
        Leading(self.state.clone())
    }

    /// Stops, and releases the lease so that another process need not wait for its end.
    ///
    /// What acts as the leader must have ended before this is called.
    pub async fn shutdown(self) {
        self.ending.send_replace(true);
        let _ = self.task.await;
    }
}

struct Candidate {
    api: Arc<dyn Perform>,
    settings: LeaderSettings,
    /// Where it is counted, and logged as well, who leads.
    metrics: Option<Metrics>,
    state: watch::Sender<State>,
}

impl Candidate {
    async fn run(self, mut ending: watch::Receiver<bool>) {
        let mut election = Election::new(&self.settings.identity, self.settings.timing);
        let ends = async move { drop(ending.wait_for(|ending| *ending).await) };
        tokio::select! {
            () = ends => {}
            () = self.take_part(&mut election) => {}
        }
        self.give_back(&mut election).await;
    }

    async fn take_part(&self, election: &mut Election) {
        let mut waits = 0;
        loop {
            match election.next(now()) {
                Next::Send(request) => {
                    let response = self.perform(&request, self.request_timeout(election)).await;
                    election.responded(response, now());
                }
                Next::WaitUntil(until) => {
                    waits += 1;
                    let pause = until.saturating_duration_since(now());
                    let leads = election.leads(now());
                    // Those who wait for the lease come at different times; who renews it is punctual.
                    let spread = hashed_fraction((&self.settings.identity, waits)) / 5.0;
                    let pause = if leads { pause } else { pause.mul_f64(1.0 + spread) };
                    tokio::time::sleep(pause).await;
                }
            }
            self.publish(election);
        }
    }

    /// How long to wait for a response: a leader has to know before its time is over.
    fn request_timeout(&self, election: &Election) -> Duration {
        let left = election.leads_until().map(|until| until.saturating_duration_since(now()));
        left.filter(|left| !left.is_zero()).unwrap_or(self.settings.timing.renew_deadline)
    }

    async fn perform(&self, request: &LeaseRequest, request_timeout: Duration) -> LeaseResponse {
        let sent = lease::to_api(&self.settings, request, clock::now());
        let Ok(received) = timeout(request_timeout, self.api.perform(&sent)).await else {
            tracing::warn!(lease = self.settings.name, "lease request timed out");
            return LeaseResponse::Unknown;
        };
        let response = lease::from_api(request, &received);
        if let (LeaseResponse::Unknown, Some(failure)) = (&response, received.failure()) {
            let error = &failure.message;
            tracing::warn!(lease = self.settings.name, %error, "lease cannot be read or written");
        }
        response
    }

    /// Publishes the state of the election if it has changed.
    fn publish(&self, election: &Election) {
        let leads = election.leads(now());
        let state = State {
            leads_until: election.leads_until().filter(|_| leads),
            holder: election.holder().unwrap_or_default().to_owned(),
        };
        let led = self.state.borrow().leads_until.is_some();
        if let Some(metrics) = self.metrics.as_ref().filter(|_| led != leads) {
            let (lease, identity) = (&self.settings.name, &self.settings.identity);
            let message = if leads { "became leader" } else { "stopped leading" };
            tracing::info!(lease, identity, holder = state.holder, "{message}");
            metrics.set_leading(lease, leads);
        }
        self.state.send_if_modified(|known| {
            let changed = *known != state;
            *known = state;
            changed
        });
    }

    /// Releases the lease, if this process holds it. A request that was pending at the end may have changed it, so it is
    /// read once more.
    async fn give_back(&self, election: &mut Election) {
        election.resign();
        self.publish(election);
        let request_timeout = self.settings.timing.retry_period;
        let LeaseResponse::Lease(lease) = self.perform(&LeaseRequest::Read, request_timeout).await else {
            return;
        };
        if lease.holder != self.settings.identity {
            return;
        }
        let request = lease::release(&self.settings, &lease, clock::now());
        let released = timeout(request_timeout, self.api.perform(&request)).await;
        if !released.is_ok_and(|response| response.failure().is_none()) {
            let lease = &self.settings.name;
            tracing::warn!(lease, "lease was not released: another process leads when it is over");
        }
    }
}

/// The monotonic time.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
