//! Every interleaving of candidates, the API, lost and late messages, crashes and the clock.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use windlass_check::engine::{self, Property};

use crate::operations::leader::election::{Election, LeaseRequest, LeaseResponse, Next};
use crate::operations::leader::lease::Lease;
use crate::operations::leader::settings::Timing;
use crate::protocol_model::{Protocol, ProtocolModel, explore};

const TICK: Duration = Duration::from_secs(1);
const TIMING: Timing = Timing {
    lease_duration: Duration::from_secs(3),
    renew_deadline: Duration::from_secs(2),
    retry_period: Duration::from_secs(1),
};

/// Some candidates for one lease.
#[derive(Clone)]
struct Candidates {
    count: usize,
    /// How often each kind of fault may happen.
    faults: Faults,
    timing: Timing,
    /// The time that is always now: states do not depend on when they are reached.
    now: Instant,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Faults {
    /// Time passes although a candidate has something to do.
    stalls: u8,
    /// A candidate stops waiting for a response.
    timeouts: u8,
    /// A candidate restarts without its memory.
    crashes: u8,
}

#[derive(Clone, Debug)]
struct State {
    lease: Option<Lease>,
    candidates: Vec<Candidate>,
    faults: Faults,
}

#[derive(Clone, Debug)]
struct Candidate {
    election: Election,
    message: Option<Message>,
    /// A request that the candidate no longer waits for, and that may still arrive.
    late: Option<(String, LeaseRequest)>,
    starts: u8,
}

#[derive(Clone, Debug)]
enum Message {
    Request(LeaseRequest),
    Reply(LeaseResponse),
}

#[derive(Clone, Copy, Debug)]
enum Action {
    Send(usize),
    Arrive(usize),
    Reply(usize),
    ArriveLate(usize),
    Tick,
    Stall,
    Timeout(usize),
    Crash(usize),
}

fn identity(index: usize, starts: u8) -> String {
    format!("candidate-{index}-{starts}")
}

impl Candidates {
    fn new(count: usize, faults: Faults) -> Self {
        Candidates { count, faults, timing: TIMING, now: Instant::now() + TICK * 1_000 }
    }

    fn start(&self, index: usize, starts: u8) -> Candidate {
        let election = Election::new(&identity(index, starts), self.timing);
        Candidate { election, message: None, late: None, starts }
    }

    /// Whether a candidate would do something before time passes.
    fn is_busy(&self, state: &State) -> bool {
        state.candidates.iter().any(|candidate| {
            let mut election = candidate.election.clone();
            candidate.message.is_some() || matches!(election.next(self.now), Next::Send(_))
        })
    }

    /// How many may act as the leader.
    fn leaders(&self, state: &State) -> usize {
        state.candidates.iter().filter(|candidate| candidate.election.leads(self.now)).count()
    }

    fn send(&self, candidate: &mut Candidate) {
        if let Next::Send(request) = candidate.election.next(self.now) {
            candidate.message = Some(Message::Request(request));
        }
    }

    /// A tick later, seen from then: everything is a tick longer ago.
    fn pass_time(&self, state: &mut State) {
        state.candidates.iter_mut().for_each(|candidate| candidate.election.shift(TICK));
    }
}

/// What the API does with a request of a candidate.
fn perform(
    lease: &mut Option<Lease>,
    identity: &str,
    request: &LeaseRequest,
    timing: Timing,
) -> LeaseResponse {
    let current = lease.as_ref().map(|lease| lease.version.parse::<u32>().expect("a number"));
    match (request, &lease) {
        (LeaseRequest::Read, Some(lease)) => return LeaseResponse::Lease(lease.clone()),
        (LeaseRequest::Read | LeaseRequest::Hold(_), None) => return LeaseResponse::Missing,
        (LeaseRequest::Create, Some(_)) => return LeaseResponse::Refused,
        (LeaseRequest::Hold(seen), Some(lease)) if seen.version != lease.version => {
            return LeaseResponse::Refused;
        }
        (LeaseRequest::Create | LeaseRequest::Hold(_), _) => {}
    }
    let version = (current.unwrap_or_default() + 1).to_string();
    let (holder, duration) = (identity.to_owned(), timing.lease_duration);
    let written = Lease { holder, duration, version, object: Arc::new(Value::Null) };
    *lease = Some(written.clone());
    LeaseResponse::Lease(written)
}

impl Protocol for Candidates {
    type State = State;
    type Action = Action;

    fn initial(&self) -> State {
        let candidates = (0..self.count).map(|index| self.start(index, 0)).collect();
        State { lease: None, candidates, faults: self.faults.clone() }
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (index, candidate) in state.candidates.iter().enumerate() {
            match &candidate.message {
                None if matches!(candidate.election.clone().next(self.now), Next::Send(_)) => {
                    actions.push(Action::Send(index));
                }
                None => {}
                Some(Message::Request(_)) => actions.push(Action::Arrive(index)),
                Some(Message::Reply(_)) => actions.push(Action::Reply(index)),
            }
            if candidate.late.is_some() {
                actions.push(Action::ArriveLate(index));
            }
            if candidate.message.is_some() && state.faults.timeouts > 0 {
                actions.push(Action::Timeout(index));
            }
            if state.faults.crashes > 0 {
                actions.push(Action::Crash(index));
            }
        }
        if !self.is_busy(state) {
            actions.push(Action::Tick);
        } else if state.faults.stalls > 0 {
            actions.push(Action::Stall);
        }
    }

    fn next(&self, state: &State, action: &Action) -> engine::Next<State> {
        let mut next = state.clone();
        match *action {
            Action::Send(index) => self.send(&mut next.candidates[index]),
            Action::Arrive(index) => {
                let candidate = &mut next.candidates[index];
                let Some(Message::Request(request)) = &candidate.message else {
                    return engine::Next::Impossible;
                };
                let who = identity(index, candidate.starts);
                candidate.message =
                    Some(Message::Reply(perform(&mut next.lease, &who, request, self.timing)));
            }
            Action::Reply(index) => {
                let candidate = &mut next.candidates[index];
                let Some(Message::Reply(response)) = candidate.message.take() else {
                    return engine::Next::Impossible;
                };
                candidate.election.responded(response, self.now);
            }
            Action::ArriveLate(index) => {
                let Some((who, request)) = next.candidates[index].late.take() else {
                    return engine::Next::Impossible;
                };
                perform(&mut next.lease, &who, &request, self.timing);
            }
            Action::Tick => self.pass_time(&mut next),
            Action::Stall => {
                next.faults.stalls -= 1;
                self.pass_time(&mut next);
            }
            Action::Timeout(index) => {
                next.faults.timeouts -= 1;
                let candidate = &mut next.candidates[index];
                candidate.election.responded(LeaseResponse::Unknown, self.now);
                let who = identity(index, candidate.starts);
                if let Some(Message::Request(request)) = candidate.message.take() {
                    candidate.late = Some((who, request));
                }
            }
            Action::Crash(index) => {
                next.faults.crashes -= 1;
                let before = &next.candidates[index];
                let mut after = self.start(index, before.starts + 1);
                if let Some(Message::Request(request)) = &before.message {
                    after.late = Some((identity(index, before.starts), request.clone()));
                }
                next.candidates[index] = after;
            }
        }
        normalize(&mut next, self.now, self.timing);
        engine::Next::State(next)
    }

    fn is_fault(&self, action: &Action) -> bool {
        matches!(action, Action::Stall | Action::Timeout(_) | Action::Crash(_))
    }

    fn properties(&self) -> Vec<Property<ProtocolModel<Self>>> {
        vec![
            Property::always("at most one leads", |model: &mut ProtocolModel<Self>, state| {
                model.leaders(state) <= 1
            }),
            Property::eventually("one leads", |model: &mut ProtocolModel<Self>, state| {
                model.leaders(state) == 1
            }),
            Property::sometimes("the last of them leads", |model: &mut ProtocolModel<Self>, state| {
                state.candidates.last().is_some_and(|candidate| candidate.election.leads(model.now))
            }),
        ]
    }
}

/// Makes states equal that behave alike: versions count only by which is newer, and what is over is over.
fn normalize(state: &mut State, now: Instant, timing: Timing) {
    let mut leases: Vec<&mut Lease> = state.lease.iter_mut().collect();
    for candidate in &mut state.candidates {
        candidate.election.forget_what_is_over(now, timing);
        leases.extend(candidate.election.leases_mut());
        let message = &mut candidate.message;
        if let Some(
            Message::Request(LeaseRequest::Hold(lease)) | Message::Reply(LeaseResponse::Lease(lease)),
        ) = message
        {
            leases.push(lease);
        }
        if let Some((_, LeaseRequest::Hold(lease))) = &mut candidate.late {
            leases.push(lease);
        }
    }
    let version = |lease: &Lease| lease.version.parse::<u32>().expect("a number");
    let mut versions: Vec<u32> = leases.iter().map(|lease| version(lease)).collect();
    versions.sort_unstable();
    versions.dedup();
    for lease in leases {
        let rank = versions.binary_search(&version(lease)).expect("it is one of them");
        lease.version = (rank + 1).to_string();
    }
}

/// Checks some candidates with some faults: how many states there are, all of them good.
fn check(count: usize, faults: Faults) -> usize {
    let found = explore(&Candidates::new(count, faults));
    assert!(found.holds(), "{:?} {:?}", found.stop_reason, found.violation);
    found.states
}

#[test]
fn two_never_lead_together_however_slow_the_messages() {
    assert_eq!(check(2, Faults { stalls: 4, ..Faults::default() }), 14_478);
}

#[test]
fn two_never_lead_together_with_a_message_that_arrives_late() {
    assert_eq!(check(2, Faults { stalls: 2, timeouts: 1, crashes: 0 }), 38_489);
}

#[test]
fn two_never_lead_together_when_one_forgets_everything() {
    assert_eq!(check(2, Faults { stalls: 1, timeouts: 0, crashes: 1 }), 16_899);
}

#[test]
fn three_never_lead_together() {
    assert_eq!(check(3, Faults { stalls: 1, ..Faults::default() }), 43_357);
}

#[test]
fn a_lease_that_is_shorter_than_a_leader_acts_is_found_out() {
    let mut candidates = Candidates::new(2, Faults { stalls: 4, ..Faults::default() });
    candidates.timing.lease_duration = Duration::from_secs(1);
    let found = explore(&candidates);
    assert!(matches!(found.violation, Some(engine::Violation::Always { .. })), "{:?}", found.violation);
}
