//! A server: what it remembers, and what it does with a message.

use crate::message::{Accepted, Ballot, Envelope, Message};
use crate::{MAJORITY, SERVERS};

/// What a server remembers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Server {
    id: u8,
    /// The latest ballot that it takes part in.
    ballot: Ballot,
    /// The client whose value it proposes.
    proposal: Option<u8>,
    /// What the others have promised for its ballot, with what they had accepted.
    promises: [Option<Promise>; SERVERS],
    /// Who has accepted its proposal.
    acceptors: [bool; SERVERS],
    accepted: Option<Accepted>,
    decided: bool,
}

/// A promise: what its giver had accepted before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Promise(Option<Accepted>);

impl Server {
    /// A server that has heard nothing yet.
    pub fn new(id: u8) -> Self {
        Server {
            id,
            ballot: Ballot::default(),
            proposal: None,
            promises: [None; SERVERS],
            acceptors: [false; SERVERS],
            accepted: None,
            decided: false,
        }
    }

    /// What a message makes of it, and what it sends; `None` if it ignores the message.
    pub fn receive(&self, from: u8, message: Message) -> Option<(Server, Vec<Envelope>)> {
        let mut next = self.clone();
        let sent = if self.decided { self.answer(from, message)? } else { next.take_part(from, message)? };
        Some((next, sent))
    }

    /// Once the value is decided, this server only answers reads. Before, it does not know whether the others have decided
    /// already, and does not answer.
    fn answer(&self, from: u8, message: Message) -> Option<Vec<Envelope>> {
        match (message, self.accepted) {
            (Message::Get, Some(accepted)) => Some(vec![self.to(from, Message::GetOk(accepted.client))]),
            _ => None,
        }
    }

    fn take_part(&mut self, from: u8, message: Message) -> Option<Vec<Envelope>> {
        match message {
            Message::Put if self.proposal.is_none() => Some(self.start_ballot(from)),
            Message::Prepare(ballot) if self.ballot < ballot => {
                self.ballot = ballot;
                Some(vec![self.to(from, Message::Promise(ballot, self.accepted))])
            }
            Message::Promise(ballot, accepted) if self.ballot == ballot => {
                Some(self.count_promise(from, accepted))
            }
            Message::Accept(accepted) if self.ballot <= accepted.ballot => {
                self.ballot = accepted.ballot;
                self.accepted = Some(accepted);
                Some(vec![self.to(from, Message::Acknowledge(accepted.ballot))])
            }
            Message::Acknowledge(ballot) if self.ballot == ballot => Some(self.count_acceptor(from)),
            Message::Decided(accepted) => {
                self.ballot = accepted.ballot;
                self.accepted = Some(accepted);
                self.decided = true;
                Some(Vec::new())
            }
            _ => None,
        }
    }

    fn start_ballot(&mut self, client: u8) -> Vec<Envelope> {
        self.proposal = Some(client);
        self.ballot = Ballot { round: self.ballot.round + 1, leader: self.id };
        self.promises = [None; SERVERS];
        self.acceptors = [false; SERVERS];
        // What it would say to itself takes no message.
        self.promises[usize::from(self.id)] = Some(Promise(self.accepted));
        self.to_others(Message::Prepare(self.ballot))
    }

    fn count_promise(&mut self, from: u8, accepted: Option<Accepted>) -> Vec<Envelope> {
        self.promises[usize::from(from)] = Some(Promise(accepted));
        let given = self.promises.iter().flatten();
        if given.clone().count() != MAJORITY {
            return Vec::new();
        }
        // If an earlier ballot has decided, then one of any majority knows: the latest is the one to go on with.
        let latest = given.filter_map(|promise| promise.0).max();
        let Some(client) = latest.map(|accepted| accepted.client).or(self.proposal) else {
            return Vec::new();
        };
        let accepted = Accepted { ballot: self.ballot, client };
        self.proposal = Some(client);
        self.accepted = Some(accepted);
        self.acceptors[usize::from(self.id)] = true;
        self.to_others(Message::Accept(accepted))
    }

    fn count_acceptor(&mut self, from: u8) -> Vec<Envelope> {
        self.acceptors[usize::from(from)] = true;
        let count = self.acceptors.iter().filter(|accepted| **accepted).count();
        let Some(client) = self.proposal.filter(|_| count == MAJORITY) else { return Vec::new() };
        self.decided = true;
        let mut sent = self.to_others(Message::Decided(Accepted { ballot: self.ballot, client }));
        sent.push(self.to(client, Message::PutOk));
        sent
    }

    fn to(&self, to: u8, message: Message) -> Envelope {
        Envelope { from: self.id, to, message }
    }

    fn to_others(&self, message: Message) -> Vec<Envelope> {
        let others = (0..SERVERS as u8).filter(|other| *other != self.id);
        others.map(|other| self.to(other, message)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: u8 = 3;
    const OTHER_CLIENT: u8 = 4;

    fn received(server: &Server, from: u8, message: Message) -> (Server, Vec<Envelope>) {
        server.receive(from, message).expect("the server cares")
    }

    #[test]
    fn a_majority_of_promises_is_enough_to_propose() {
        let (leader, sent) = received(&Server::new(0), CLIENT, Message::Put);
        let ballot = Ballot { round: 1, leader: 0 };
        assert_eq!(sent.iter().map(|sent| sent.to).collect::<Vec<_>>(), [1, 2]);
        let (leader, sent) = received(&leader, 1, Message::Promise(ballot, None));
        assert_eq!(sent[0].message, Message::Accept(Accepted { ballot, client: CLIENT }));
        let (leader, sent) = received(&leader, 2, Message::Promise(ballot, None));
        assert_eq!(sent, []);
        let (_, sent) = received(&leader, 2, Message::Acknowledge(ballot));
        assert_eq!(sent.last().map(|sent| (sent.to, sent.message)), Some((CLIENT, Message::PutOk)));
    }

    #[test]
    fn what_was_accepted_before_goes_first() {
        let (leader, _) = received(&Server::new(2), CLIENT, Message::Put);
        let ballot = Ballot { round: 1, leader: 2 };
        let before = Accepted { ballot: Ballot { round: 1, leader: 0 }, client: OTHER_CLIENT };
        let (_, sent) = received(&leader, 0, Message::Promise(ballot, Some(before)));
        assert_eq!(sent[0].message, Message::Accept(Accepted { ballot, client: OTHER_CLIENT }));
    }

    #[test]
    fn an_earlier_ballot_is_ignored() {
        let later = Ballot { round: 1, leader: 2 };
        let (server, _) = received(&Server::new(0), 2, Message::Prepare(later));
        let earlier = Ballot { round: 1, leader: 1 };
        assert_eq!(server.receive(1, Message::Prepare(earlier)), None);
        assert_eq!(server.receive(1, Message::Accept(Accepted { ballot: earlier, client: CLIENT })), None);
        assert_eq!(server.receive(CLIENT, Message::Get), None);
    }
}
