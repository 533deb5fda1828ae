//! Single-decree Paxos for stateright: actors, its register clients and its linearizability tester.

use std::borrow::Cow;

use stateright::Expectation;
use stateright::actor::register::{RegisterActor, RegisterMsg};
use stateright::actor::{Actor, ActorModel, Id, Network, Out, majority, model_peers};
use stateright::semantics::LinearizabilityTester;
use stateright::semantics::register::Register;
use stateright::util::{HashableHashMap, HashableHashSet};

/// How many servers agree on a value.
const SERVERS: usize = 3;

type Ballot = (u32, Id);
/// The client's request, the client, and the value.
type Proposal = (u64, Id, char);
type Accepted = Option<(Ballot, Proposal)>;

/// What servers say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Internal {
    Prepare(Ballot),
    Promise(Ballot, Accepted),
    Accept(Ballot, Proposal),
    Accepted(Ballot),
    Decided(Ballot, Proposal),
}

type Message = RegisterMsg<u64, char, Internal>;

/// What a server remembers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Server {
    ballot: Ballot,
    proposal: Option<Proposal>,
    promises: HashableHashMap<Id, Accepted>,
    acceptors: HashableHashSet<Id>,
    accepted: Accepted,
    decided: bool,
}

/// A server that knows its peers.
#[derive(Clone, Debug)]
pub(crate) struct PaxosActor {
    peers: Vec<Id>,
}

impl Actor for PaxosActor {
    type Msg = Message;
    type State = Server;
    type Timer = ();
    type Random = ();
    type Storage = ();

    fn on_start(&self, _: Id, _: &Option<()>, _: &mut Out<Self>) -> Server {
        Server {
            ballot: (0, Id::from(0)),
            proposal: None,
            promises: HashableHashMap::default(),
            acceptors: HashableHashSet::default(),
            accepted: None,
            decided: false,
        }
    }

    fn on_msg(&self, id: Id, server: &mut Cow<'_, Server>, from: Id, message: Message, out: &mut Out<Self>) {
        if server.decided {
            if let (RegisterMsg::Get(request), Some((_, (_, _, value)))) = (message, server.accepted) {
                out.send(from, RegisterMsg::GetOk(request, value));
            }
            return;
        }
        match message {
            RegisterMsg::Put(request, value) if server.proposal.is_none() => {
                let server = server.to_mut();
                server.proposal = Some((request, from, value));
                server.ballot = (server.ballot.0 + 1, id);
                // It promises itself at once.
                server.promises = [(id, server.accepted)].into_iter().collect();
                server.acceptors = HashableHashSet::default();
                out.broadcast(&self.peers, &RegisterMsg::Internal(Internal::Prepare(server.ballot)));
            }
            RegisterMsg::Internal(message) => self.on_internal(id, server, from, message, out),
            _ => {}
        }
    }
}

impl PaxosActor {
    fn on_internal(
        &self,
        id: Id,
        server: &mut Cow<'_, Server>,
        from: Id,
        message: Internal,
        out: &mut Out<Self>,
    ) {
        match message {
            Internal::Prepare(ballot) if server.ballot < ballot => {
                server.to_mut().ballot = ballot;
                out.send(from, RegisterMsg::Internal(Internal::Promise(ballot, server.accepted)));
            }
            Internal::Promise(ballot, accepted) if server.ballot == ballot => {
                let server = server.to_mut();
                server.promises.insert(from, accepted);
                if server.promises.len() != majority(SERVERS) {
                    return;
                }
                let latest = server.promises.values().max().copied().flatten();
                let Some(proposal) = latest.map(|(_, proposal)| proposal).or(server.proposal) else { return };
                server.proposal = Some(proposal);
                // It accepts its own proposal at once.
                server.accepted = Some((ballot, proposal));
                server.acceptors.insert(id);
                out.broadcast(&self.peers, &RegisterMsg::Internal(Internal::Accept(ballot, proposal)));
            }
            Internal::Accept(ballot, proposal) if server.ballot <= ballot => {
                let server = server.to_mut();
                server.ballot = ballot;
                server.accepted = Some((ballot, proposal));
                out.send(from, RegisterMsg::Internal(Internal::Accepted(ballot)));
            }
            Internal::Accepted(ballot) if server.ballot == ballot => {
                let server = server.to_mut();
                server.acceptors.insert(from);
                let Some(proposal) = server.proposal else { return };
                if server.acceptors.len() == majority(SERVERS) {
                    server.decided = true;
                    out.broadcast(&self.peers, &RegisterMsg::Internal(Internal::Decided(ballot, proposal)));
                    out.send(proposal.1, RegisterMsg::PutOk(proposal.0));
                }
            }
            Internal::Decided(ballot, proposal) => {
                let server = server.to_mut();
                server.ballot = ballot;
                server.accepted = Some((ballot, proposal));
                server.decided = true;
            }
            _ => {}
        }
    }
}

/// Three servers and some clients, each of which puts a value and then gets one.
pub(crate) fn paxos(
    clients: usize,
) -> ActorModel<RegisterActor<PaxosActor>, (), LinearizabilityTester<Id, Register<char>>> {
    let servers = (0..SERVERS).map(|index| PaxosActor { peers: model_peers(index, SERVERS) });
    let clients = (0..clients).map(|_| RegisterActor::Client { put_count: 1, server_count: SERVERS });
    ActorModel::new((), LinearizabilityTester::new(Register(char::default())))
        .actors(servers.map(RegisterActor::Server))
        .actors(clients)
        .init_network(Network::new_unordered_nonduplicating([]))
        .property(Expectation::Always, "linearizable", |_, state| {
            state.history.serialized_history().is_some()
        })
        .property(Expectation::Sometimes, "value chosen", |_, state| {
            let mut sent = state.network.iter_deliverable();
            sent.any(
                |envelope| matches!(envelope.msg, RegisterMsg::GetOk(_, value) if *value != char::default()),
            )
        })
        .record_msg_in(RegisterMsg::record_returns)
        .record_msg_out(RegisterMsg::record_invocations)
}
