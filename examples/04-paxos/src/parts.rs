//! The parts of a state by their numbers, and what each does with a message, worked out once.

use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use crate::SERVERS;
use crate::clients::Clients;
use crate::message::{Envelope, Message};
use crate::server::Server;

/// Where the clients stand in a state; the servers stand before them.
pub(crate) const CLIENTS: usize = SERVERS;

/// A server or all clients, with the messages on their way there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Part {
    pub(crate) host: Host,
    /// Sorted numbers of envelopes; equal ones stand as often as they were sent.
    pub(crate) messages: Vec<u32>,
}

/// Who gets messages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Host {
    Server(Server),
    Clients(Clients),
}

impl Host {
    fn receive(&self, envelope: Envelope) -> Option<(Host, Vec<Envelope>)> {
        match self {
            Host::Server(server) => {
                let (server, sent) = server.receive(envelope.from, envelope.message)?;
                Some((Host::Server(server), sent))
            }
            Host::Clients(clients) => {
                let (clients, sent) = clients.receive(envelope.to, envelope.message)?;
                Some((Host::Clients(clients), sent))
            }
        }
    }
}

/// The delivery of a message that is not ignored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    /// The number of the message's envelope.
    pub(crate) envelope: u32,
    /// The part afterwards.
    pub(crate) part: u32,
    /// What is sent thereby.
    sent: Span,
}

/// A range in one of the long lists.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    start: u32,
    end: u32,
}

/// A message to a part of the state.
#[derive(Clone, Copy, Debug)]
struct Sent {
    to: usize,
    envelope: u32,
}

/// What is known of a part.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    deliveries: Span,
    linearizable: bool,
    value_chosen: bool,
}

/// The numbers of all parts and envelopes, shared by all workers, and what this one has worked out so far.
#[derive(Clone)]
pub(crate) struct Parts {
    shared: Arc<Mutex<Shared>>,
    known: Vec<Option<Known>>,
    deliveries: Vec<Delivery>,
    sent: Vec<Sent>,
    added: FxHashMap<(u32, u32), u32>,
}

impl Parts {
    pub(crate) fn new() -> Self {
        Parts {
            shared: Arc::default(),
            known: Vec::new(),
            deliveries: Vec::new(),
            sent: Vec::new(),
            added: FxHashMap::default(),
        }
    }

    /// The number of a host to which nothing was sent yet.
    pub(crate) fn add(&mut self, host: Host) -> u32 {
        self.shared().parts.id(Part { host, messages: Vec::new() })
    }

    /// How many messages of a part could be delivered.
    pub(crate) fn count(&mut self, part: u32) -> usize {
        let span = self.known(part).deliveries;
        (span.end - span.start) as usize
    }

    /// One of these deliveries.
    pub(crate) fn delivery(&mut self, part: u32, index: usize) -> Delivery {
        let start = self.known(part).deliveries.start as usize;
        self.deliveries[start + index]
    }

    /// Puts what a delivery sends into the parts of their receivers.
    pub(crate) fn send_all(&mut self, delivery: Delivery, state: &mut [u32]) {
        for index in delivery.sent.start..delivery.sent.end {
            let Sent { to, envelope } = self.sent[index as usize];
            state[to] = self.with(state[to], envelope);
        }
    }

    /// Puts an envelope into the part of its receiver.
    pub(crate) fn send(&mut self, envelope: Envelope, state: &mut [u32]) {
        let number = self.shared().envelopes.id(envelope);
        let to = slot_of(envelope.to);
        state[to] = self.with(state[to], number);
    }

    /// Whether the history of the clients, a part of their own, is linearizable.
    pub(crate) fn is_linearizable(&mut self, clients: u32) -> bool {
        self.known(clients).linearizable
    }

    /// Whether a client is about to get a value.
    pub(crate) fn is_value_chosen(&mut self, clients: u32) -> bool {
        self.known(clients).value_chosen
    }

    pub(crate) fn envelope(&self, number: u32) -> Envelope {
        **self.shared().envelopes.get(number)
    }

    /// Bytes, about.
    pub(crate) fn bytes(&self) -> usize {
        let shared = self.shared();
        let message_bytes: usize =
            shared.parts.values.iter().map(|part| part.messages.len() * size_of::<u32>()).sum();
        shared.parts.values.len() * (size_of::<Part>() + 2 * size_of::<usize>())
            + message_bytes
            + self.known.len() * size_of::<Known>()
            + self.deliveries.len() * size_of::<Delivery>()
            + self.sent.len() * size_of::<Sent>()
            + self.added.len() * size_of::<((u32, u32), u32)>()
    }

    /// A part with one more message on its way to it.
    fn with(&mut self, part: u32, envelope: u32) -> u32 {
        if let Some(known) = self.added.get(&(part, envelope)) {
            return *known;
        }
        let mut shared = self.shared();
        let mut longer = (**shared.parts.get(part)).clone();
        let position = longer.messages.partition_point(|known| *known < envelope);
        longer.messages.insert(position, envelope);
        let number = shared.parts.id(longer);
        drop(shared);
        self.added.insert((part, envelope), number);
        number
    }

    fn known(&mut self, part: u32) -> Known {
        match self.known.get(part as usize) {
            Some(Some(known)) => *known,
            _ => self.work_out(part),
        }
    }

    fn work_out(&mut self, number: u32) -> Known {
        let shared = self.shared.clone();
        let mut shared = lock(&shared);
        let part = shared.parts.get(number).clone();
        let mut known = Known { deliveries: span_from(&self.deliveries), ..Known::default() };
        for (index, envelope) in part.messages.iter().enumerate() {
            // Equal messages do the same: the first will do.
            if index == 0 || part.messages[index - 1] != *envelope {
                self.try_delivery(&mut shared, &part, index);
            }
        }
        known.deliveries.end = span_from(&self.deliveries).start;
        if let Host::Clients(clients) = &part.host {
            let is_value = |number: &u32| matches!(shared.envelopes.get(*number).message, Message::GetOk(_));
            known.linearizable = clients.are_linearizable();
            known.value_chosen = part.messages.iter().any(is_value);
        }
        if self.known.len() <= number as usize {
            self.known.resize(number as usize + 1, None);
        }
        self.known[number as usize] = Some(known);
        known
    }

    fn try_delivery(&mut self, shared: &mut Shared, part: &Part, index: usize) {
        let envelope = part.messages[index];
        let Some((host, sent)) = part.host.receive(**shared.envelopes.get(envelope)) else { return };
        let mut messages = part.messages.clone();
        messages.remove(index);
        let mut span = span_from(&self.sent);
        for sent in sent {
            self.sent.push(Sent { to: slot_of(sent.to), envelope: shared.envelopes.id(sent) });
        }
        span.end = span_from(&self.sent).start;
        self.deliveries.push(Delivery {
            envelope,
            part: shared.parts.id(Part { host, messages }),
            sent: span,
        });
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        lock(&self.shared)
    }
}

/// Where an actor stands in a state.
pub(crate) fn slot_of(actor: u8) -> usize {
    usize::from(actor).min(CLIENTS)
}

/// A worker that panicked has changed nothing halfway.
fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The empty span at the end of a list.
fn span_from<T>(list: &[T]) -> Span {
    let end = u32::try_from(list.len()).expect("fewer than 2^32 entries fit in memory");
    Span { start: end, end }
}

/// What all workers number alike.
#[derive(Default)]
struct Shared {
    parts: Interner<Part>,
    envelopes: Interner<Envelope>,
}

/// Numbers for values, given in order of first sight.
struct Interner<T> {
    ids: FxHashMap<Arc<T>, u32>,
    values: Vec<Arc<T>>,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Interner { ids: FxHashMap::default(), values: Vec::new() }
    }
}

impl<T: Eq + Hash> Interner<T> {
    fn id(&mut self, value: T) -> u32 {
        if let Some(id) = self.ids.get(&value) {
            return *id;
        }
        let id = u32::try_from(self.values.len()).expect("fewer than 2^32 values fit in memory");
        let value = Arc::new(value);
        self.values.push(value.clone());
        self.ids.insert(value, id);
        id
    }

    fn get(&self, id: u32) -> &Arc<T> {
        &self.values[id as usize]
    }
}
