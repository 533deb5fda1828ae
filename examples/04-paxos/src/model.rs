//! The protocol: which messages can be delivered, and what must hold.

use windlass_check::TraceStep;
use windlass_check::engine::{Model, Next, Property};

use crate::clients::Clients;
use crate::message::name;
use crate::parts::{CLIENTS, Host, Parts};
use crate::server::Server;
use crate::{MAX_CLIENTS, SERVERS};

/// Three servers and some clients.
#[derive(Clone)]
pub struct Paxos {
    clients: usize,
    parts: Parts,
}

/// A message is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    /// The part of the state that receives it.
    slot: u8,
    /// Which of the messages that it would not ignore.
    index: u8,
}

/// The numbers of the three servers, and of all clients, each with the messages on their way there.
type State = [u32; CLIENTS + 1];

impl Paxos {
    /// A model with `clients` clients.
    ///
    /// # Panics
    /// If there are more than three: histories have no room for them.
    pub fn new(clients: usize) -> Self {
        assert!(clients <= MAX_CLIENTS, "there is room for {MAX_CLIENTS} clients, not for {clients}");
        Paxos { clients, parts: Parts::new() }
    }
}

impl Model for Paxos {
    type State = State;
    type Action = Action;

    fn width(&self) -> usize {
        CLIENTS + 1
    }

    fn encode(&mut self, state: &State, words: &mut [u32]) {
        words.copy_from_slice(state);
    }

    fn decode(&mut self, words: &[u32]) -> State {
        let mut state = State::default();
        state.copy_from_slice(words);
        state
    }

    fn initial(&mut self) -> Vec<State> {
        let (clients, puts) = Clients::new(self.clients);
        let mut state = State::default();
        for (id, part) in state[..SERVERS].iter_mut().enumerate() {
            *part = self.parts.add(Host::Server(Server::new(id as u8)));
        }
        state[CLIENTS] = self.parts.add(Host::Clients(clients));
        for put in puts {
            self.parts.send(put, &mut state);
        }
        vec![state]
    }

    fn actions(&mut self, state: &State, actions: &mut Vec<Action>) {
        for (slot, part) in state.iter().enumerate() {
            let count = self.parts.count(*part);
            actions.extend((0..count).map(|index| Action { slot: slot as u8, index: index as u8 }));
        }
    }

    fn next(&mut self, state: &State, action: &Action) -> Next<State> {
        let slot = usize::from(action.slot);
        let delivery = self.parts.delivery(state[slot], usize::from(action.index));
        let mut next = *state;
        next[slot] = delivery.part;
        self.parts.send_all(delivery, &mut next);
        Next::State(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("linearizable", |model: &mut Self, state| {
                model.parts.is_linearizable(state[CLIENTS])
            }),
            Property::sometimes("value chosen", |model: &mut Self, state| {
                model.parts.is_value_chosen(state[CLIENTS])
            }),
        ]
    }

    fn describe(&mut self, state: &State, action: &Action) -> TraceStep {
        let delivery = self.parts.delivery(state[usize::from(action.slot)], usize::from(action.index));
        let envelope = self.parts.envelope(delivery.envelope);
        TraceStep {
            action: format!("{envelope:?}"),
            actor: name(envelope.from),
            receiver: Some(name(envelope.to)),
            text: format!("to {}: {}", name(envelope.to), envelope.message),
            ..TraceStep::default()
        }
    }

    fn fresh_copy(&self) -> Self {
        Paxos::new(self.clients)
    }

    fn bytes(&self) -> usize {
        self.parts.bytes()
    }
}
