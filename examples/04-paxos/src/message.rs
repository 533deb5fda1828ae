//! What servers and clients say to each other.

use std::fmt;

use crate::SERVERS;

/// A ballot. Later ones are greater; no two servers lead the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ballot {
    /// Counts the ballots.
    pub round: u8,
    /// The server that leads it.
    pub leader: u8,
}

/// What a server has accepted, and in which ballot. A proposal is the client whose value it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Accepted {
    /// The ballot.
    pub ballot: Ballot,
    /// The client.
    pub client: u8,
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Message {
    /// A client puts its value.
    Put,
    /// Its value was put.
    PutOk,
    /// A client wants the value.
    Get,
    /// The value is that of this client.
    GetOk(u8),
    /// Take part in no earlier ballot than this.
    Prepare(Ballot),
    /// I will not; and this is what I accepted last.
    Promise(Ballot, Option<Accepted>),
    /// Accept this.
    Accept(Accepted),
    /// I did.
    Acknowledge(Ballot),
    /// A majority did.
    Decided(Accepted),
}

/// A message on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Envelope {
    /// Who sent it.
    pub from: u8,
    /// Who is to get it.
    pub to: u8,
    /// What it says.
    pub message: Message,
}

/// The name of a server or a client.
pub(crate) fn name(actor: u8) -> String {
    let actor = usize::from(actor);
    if actor < SERVERS { format!("server {actor}") } else { format!("client {}", actor - SERVERS) }
}

impl fmt::Display for Ballot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ballot {}.{}", self.round, self.leader)
    }
}

impl fmt::Display for Accepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the value of {} in {}", name(self.client), self.ballot)
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Put => f.write_str("put my value"),
            Message::PutOk => f.write_str("your value was put"),
            Message::Get => f.write_str("what is the value?"),
            Message::GetOk(client) => write!(f, "it is that of {}", name(*client)),
            Message::Prepare(ballot) => write!(f, "prepare {ballot}"),
            Message::Promise(ballot, None) => write!(f, "promised for {ballot}; I have accepted nothing"),
            Message::Promise(ballot, Some(accepted)) => {
                write!(f, "promised for {ballot}; I have accepted {accepted}")
            }
            Message::Accept(accepted) => write!(f, "accept {accepted}"),
            Message::Acknowledge(ballot) => write!(f, "accepted in {ballot}"),
            Message::Decided(accepted) => write!(f, "decided: {accepted}"),
        }
    }
}
