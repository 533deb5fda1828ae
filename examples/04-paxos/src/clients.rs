//! The clients: each puts its value, then gets one. What they saw must be linearizable.

use crate::message::{Envelope, Message};
use crate::{MAX_CLIENTS, SERVERS};

/// How far a client has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Client {
    /// It waits for its put to end.
    Putting,
    /// It waits for its get to end.
    Getting {
        /// How many operations each of the others had ended before the get began.
        after: [u8; MAX_CLIENTS],
    },
    /// Both have ended.
    Done {
        /// How many operations each of the others had ended before the get began.
        after: [u8; MAX_CLIENTS],
        /// The client whose value it got.
        got: u8,
    },
}

impl Client {
    /// How many of its operations have ended.
    fn ended(self) -> u8 {
        match self {
            Client::Putting => 0,
            Client::Getting { .. } => 1,
            Client::Done { .. } => 2,
        }
    }
}

/// All clients, and thereby the history of their operations.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Clients(Vec<Client>);

impl Clients {
    /// `count` clients, each of which has just sent its put; and what they sent.
    pub fn new(count: usize) -> (Self, Vec<Envelope>) {
        let puts = (0..count).map(|index| to_server(index, index, Message::Put));
        (Clients(vec![Client::Putting; count]), puts.collect())
    }

    /// What a message makes of them, and what its receiver sends; `None` if it is ignored.
    pub fn receive(&self, to: u8, message: Message) -> Option<(Clients, Vec<Envelope>)> {
        let index = usize::from(to) - SERVERS;
        let mut next = self.clone();
        let (client, sent) = match (self.0[index], message) {
            (Client::Putting, Message::PutOk) => {
                let get = to_server(index, index + 1, Message::Get);
                (Client::Getting { after: self.ended_by_others(index) }, vec![get])
            }
            (Client::Getting { after }, Message::GetOk(got)) => (Client::Done { after, got }, Vec::new()),
            _ => return None,
        };
        next.0[index] = client;
        Some((next, sent))
    }

    fn ended_by_others(&self, index: usize) -> [u8; MAX_CLIENTS] {
        let mut ended = [0; MAX_CLIENTS];
        for (other, client) in self.0.iter().enumerate().filter(|(other, _)| *other != index) {
            ended[other] = client.ended();
        }
        ended
    }

    /// Whether all that the clients saw could have come from one register, with each operation taking effect at one point
    /// in time between its begin and its end.
    pub fn are_linearizable(&self) -> bool {
        self.can_go_on([0; MAX_CLIENTS], None)
    }

    /// Whether the remaining operations can be ordered. `placed` counts the operations of each client that are ordered
    /// already, and `register` is the client whose value they left in the register.
    fn can_go_on(&self, placed: [u8; MAX_CLIENTS], register: Option<u8>) -> bool {
        let mut clients = self.0.iter().enumerate();
        if clients.all(|(index, client)| placed[index] >= client.ended()) {
            return true;
        }
        (0..self.0.len()).any(|index| {
            let Some(value) = self.effect_of_next(index, placed, register) else { return false };
            let mut longer = placed;
            longer[index] += 1;
            self.can_go_on(longer, Some(value))
        })
    }

    /// What the register holds after a client's next operation; `None` if it cannot be next. A put that has not ended may
    /// have taken effect all the same; a get that has not ended has none.
    fn effect_of_next(&self, index: usize, placed: [u8; MAX_CLIENTS], register: Option<u8>) -> Option<u8> {
        match (placed[index], self.0[index]) {
            (0, _) => Some((SERVERS + index) as u8),
            (1, Client::Done { after, got }) => {
                let in_time = placed.iter().zip(after).all(|(placed, after)| *placed >= after);
                (in_time && register == Some(got)).then_some(got)
            }
            _ => None,
        }
    }
}

fn to_server(client: usize, server: usize, message: Message) -> Envelope {
    Envelope { from: (SERVERS + client) as u8, to: (server % SERVERS) as u8, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: u8 = 3;
    const B: u8 = 4;

    fn done(after: [u8; MAX_CLIENTS], got: u8) -> Client {
        Client::Done { after, got }
    }

    #[test]
    fn a_get_returns_what_was_put_last() {
        for (history, expected) in [
            (vec![done([0, 0, 0], A)], true),
            // B's put was going on all the time.
            (vec![done([0, 0, 0], B), Client::Putting], true),
            (vec![done([0, 0, 0], B)], false),
            // Both gets came after both puts, and disagree.
            (vec![done([0, 1, 0], B), done([1, 0, 0], A)], false),
            (vec![done([0, 1, 0], B), done([2, 0, 0], A)], false),
            // B began to get after A had got, and both got the same.
            (vec![done([0, 0, 0], A), done([2, 0, 0], A)], true),
        ] {
            assert_eq!(Clients(history.clone()).are_linearizable(), expected, "{history:?}");
        }
    }

    #[test]
    fn a_client_puts_and_then_gets() {
        let (clients, sent) = Clients::new(2);
        assert_eq!(sent.iter().map(|sent| (sent.from, sent.to)).collect::<Vec<_>>(), [(A, 0), (B, 1)]);
        let (clients, sent) = clients.receive(B, Message::PutOk).unwrap();
        assert_eq!(sent, [Envelope { from: B, to: 2, message: Message::Get }]);
        assert_eq!(clients.receive(B, Message::PutOk), None);
        assert_eq!(clients.receive(A, Message::GetOk(B)), None);
        let (clients, _) = clients.receive(A, Message::PutOk).unwrap();
        let (clients, _) = clients.receive(B, Message::GetOk(B)).unwrap();
        assert_eq!(clients.0, [Client::Getting { after: [0, 1, 0] }, done([0, 0, 0], B)]);
    }
}
