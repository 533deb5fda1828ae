//! Single-decree Paxos: three servers agree on one value, although messages overtake each other.
//!
//! A server that is asked to put a value starts a ballot: it asks the others to promise that they take part in no
//! earlier one, proposes what the promises say was accepted last (or else its own value), and has decided when a
//! majority has accepted. Clients put a value each, and then get one. To them, the servers together must look like a
//! single register: every history of puts and gets must be linearizable.
//!
//! [`Paxos`] is a `Model`. Its state is four numbers, each naming a part that was seen before: a [`Server`] with the
//! messages on their way to it, or all [`Clients`] with theirs. What a part does with a message is worked out once.

mod clients;
mod message;
mod model;
mod parts;
mod server;

pub use clients::{Client, Clients};
pub use message::{Accepted, Ballot, Envelope, Message};
pub use model::{Action, Paxos};
pub use server::Server;

/// How many servers there are. They are the actors 0, 1 and 2; the clients follow.
pub const SERVERS: usize = 3;
/// How many clients there can be.
pub const MAX_CLIENTS: usize = 3;
/// How many servers make a decision.
const MAJORITY: usize = SERVERS / 2 + 1;
