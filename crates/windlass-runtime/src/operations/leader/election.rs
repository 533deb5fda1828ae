//! Who leads, as a pure protocol: what to request of the API next, and for how long a process may act as the leader.
//!
//! Two processes never lead at once, provided that their clocks run at the same rate: a leader acts until `renew_deadline` after it
//! **sent** the last renewal that succeeded. Another takes the lease only when it has **seen** the same version of it
//! for `lease_duration`, which is longer, and which began after that renewal had arrived. Times that others wrote into
//! the lease are never compared with a clock: only how long ago this process itself saw it change.

use std::time::Instant;

use super::lease::Lease;
use super::settings::Timing;

/// One candidate.
#[derive(Clone, Debug)]
pub(super) struct Election {
    identity: String,
    timing: Timing,
    /// The newest lease that was seen, and when this version of it was seen first.
    seen: Option<(Lease, Instant)>,
    /// Until when this process may act as the leader.
    leads_until: Option<Instant>,
    /// What to request next, and from when on.
    plan: LeaseRequest,
    not_before: Option<Instant>,
    /// What was sent, and when, while there is no response.
    pending: Option<(LeaseRequest, Instant)>,
}

/// A request for the lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LeaseRequest {
    /// Read the lease.
    Read,
    /// Make it, held by this process.
    Create,
    /// Write it, held by this process, if it is still this version.
    Hold(Lease),
}

/// What to do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Send this request, and report the response.
    Send(LeaseRequest),
    /// Nothing before this time.
    WaitUntil(Instant),
}

/// What became of a request for the lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LeaseResponse {
    /// The lease, as it is or as it was written.
    Lease(Lease),
    /// There is no lease.
    Missing,
    /// Another candidate was faster: it was not written.
    Refused,
    /// Nothing is known, not even whether it was written.
    Unknown,
}

impl Election {
    pub(super) fn new(identity: &str, timing: Timing) -> Self {
        Election {
            identity: identity.to_owned(),
            timing,
            seen: None,
            leads_until: None,
            plan: LeaseRequest::Read,
            not_before: None,
            pending: None,
        }
    }

    /// Whether this process may act as the leader.
    pub(super) fn leads(&self, now: Instant) -> bool {
        self.leads_until.is_some_and(|until| now < until)
    }

    /// Until when it leads, if nothing is renewed.
    pub(super) fn leads_until(&self) -> Option<Instant> {
        self.leads_until
    }

    /// The last known holder of the lease; empty if it is free.
    pub(super) fn holder(&self) -> Option<&str> {
        self.seen.as_ref().map(|(lease, _)| lease.holder.as_str())
    }

    /// What to do now. There is at most one request at a time.
    pub(super) fn next(&mut self, now: Instant) -> Next {
        assert!(self.pending.is_none(), "the last request has no response yet");
        if let Some(until) = self.not_before.filter(|until| now < *until) {
            return Next::WaitUntil(until);
        }
        self.pending = Some((self.plan.clone(), now));
        Next::Send(self.plan.clone())
    }

    /// The response to the request that was sent.
    pub(super) fn responded(&mut self, response: LeaseResponse, now: Instant) {
        let Some((request, sent)) = self.pending.take() else { return };
        self.not_before = None;
        match (request, response) {
            (LeaseRequest::Read, LeaseResponse::Lease(lease)) => {
                self.see(lease, now);
                self.decide(true, now);
            }
            (LeaseRequest::Create | LeaseRequest::Hold(_), LeaseResponse::Lease(lease)) => {
                self.see(lease.clone(), now);
                self.leads_until = Some(sent + self.timing.renew_deadline);
                self.plan = LeaseRequest::Hold(lease);
                self.not_before = Some(sent + self.timing.retry_period);
            }
            (LeaseRequest::Read, LeaseResponse::Missing) => {
                self.leads_until = None;
                self.decide(false, now);
            }
            (_, LeaseResponse::Refused | LeaseResponse::Missing) => self.plan = LeaseRequest::Read,
            // A write that did arrive makes the next one be refused, so trying the same again is safe.
            (_, LeaseResponse::Unknown) => self.not_before = Some(now + self.timing.retry_period),
        }
    }

    /// This process does not act as the leader any more, and will not again.
    pub(super) fn resign(&mut self) {
        self.leads_until = None;
    }

    fn see(&mut self, lease: Lease, now: Instant) {
        let is_new = self.seen.as_ref().is_none_or(|(seen, _)| seen.version != lease.version);
        if is_new {
            self.seen = Some((lease, now));
        }
    }

    /// After reading the lease, which may have been deleted: take it, create it, or read it again later.
    fn decide(&mut self, is_there: bool, now: Instant) {
        let may_hold = self.seen.as_ref().is_none_or(|(lease, since)| {
            // The holder of a lease that was deleted may not know it yet, so its time must still pass.
            let is_over = lease.holder.is_empty() || now >= *since + lease.duration;
            lease.holder == self.identity || is_over
        });
        match &self.seen {
            Some((lease, _)) if is_there && may_hold => self.plan = LeaseRequest::Hold(lease.clone()),
            _ if may_hold => self.plan = LeaseRequest::Create,
            _ => {
                self.leads_until = None;
                self.plan = LeaseRequest::Read;
                self.not_before = Some(now + self.timing.retry_period);
            }
        }
    }
}

/// What a model of elections needs to see time as relative, and old things as alike.
#[cfg(test)]
impl Election {
    /// Makes everything that has a time longer ago.
    pub(super) fn shift(&mut self, by: std::time::Duration) {
        let seen = self.seen.iter_mut().map(|(_, since)| since);
        let pending = self.pending.iter_mut().map(|(_, sent)| sent);
        let others = self.leads_until.iter_mut().chain(&mut self.not_before);
        seen.chain(pending).chain(others).for_each(|time| *time -= by);
    }

    /// Makes equal what makes no difference any more.
    pub(super) fn forget_what_is_over(&mut self, now: Instant, timing: Timing) {
        self.leads_until = self.leads_until.filter(|until| *until > now);
        self.not_before = self.not_before.filter(|until| *until > now);
        if let Some((lease, since)) = &mut self.seen {
            *since = (*since).max(now - lease.duration);
        }
        if let Some((_, sent)) = &mut self.pending {
            *sent = (*sent).max(now - timing.renew_deadline);
        }
    }

    /// All leases that it knows of.
    pub(super) fn leases_mut(&mut self) -> Vec<&mut Lease> {
        let seen = self.seen.iter_mut().map(|(lease, _)| lease);
        let plans =
            std::iter::once(&mut self.plan).chain(self.pending.iter_mut().map(|(request, _)| request));
        let planned = plans
            .filter_map(|request| if let LeaseRequest::Hold(lease) = request { Some(lease) } else { None });
        seen.chain(planned).collect()
    }
}
