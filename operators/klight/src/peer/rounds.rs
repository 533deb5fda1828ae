//! Rounds of checks: who is alive, and who has blocks that are missing here.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;

use super::chain::EMPTY;
use super::events::{Event, count};
use super::membership::agree;
use super::node::Node;
use super::roster::Contact;
use super::seat::Seat;
use crate::wire::{Health, Identity, check_network};

/// Checks at the same time.
const AT_ONCE: usize = 32;
/// Whole chains in one round.
const MAX_PULLS: usize = 3;
/// How long a block may be on its way before it counts as missing.
const LONGEST_GRACE: Duration = Duration::from_millis(200);

/// Checks the others until this peer ends.
pub(super) async fn run(seat: Arc<Seat>) {
    let (mut stopping, mut nodes) = (seat.stopping.subscribe(), seat.nodes());
    let mut on_time = true;
    loop {
        let node = nodes.borrow_and_update().clone();
        tokio::select! {
            () = node.round(on_time) => {}
            // What was under way was about the network that this peer has left.
            _ = nodes.changed() => continue,
            _ = stopping.wait_for(|stopping| *stopping) => return,
        }
        tokio::select! {
            () = tokio::time::sleep(node.settings.check_interval) => on_time = true,
            () = node.wake.notified() => on_time = false,
            _ = nodes.changed() => {}
            _ = stopping.wait_for(|stopping| *stopping) => return,
        }
    }
}

/// What a check shows.
enum Checked {
    Alive(Option<Identity>),
    Silent(String),
    /// It is not a member any more.
    Gone(String),
}

impl Node {
    /// Checks all that are due. Failures count only in rounds that are on time: a new member starts an extra round, and
    /// many new members in a row must not drop a peer.
    async fn round(&self, on_time: bool) {
        let due = if on_time { self.state().roster.due() } else { self.counted() };
        let mut checks =
            futures::stream::iter(due).map(|contact| self.check(contact)).buffer_unordered(AT_ONCE);
        let mut answers: Vec<(Contact, Identity)> = Vec::new();
        while let Some((contact, outcome)) = checks.next().await {
            match outcome {
                Checked::Alive(identity) => {
                    self.answered(&contact.address);
                    answers.extend(identity.map(|identity| (contact, identity)));
                }
                Checked::Gone(reason) => self.gone(&contact.address, reason),
                Checked::Silent(reason) if on_time => self.failed(&contact.address, reason),
                Checked::Silent(_) => self.state().roster.suspect(&contact.address),
            }
        }
        drop(checks);
        self.catch_up(answers).await;
    }

    /// Whether another member is there. It is asked now: one that has left a moment ago may still count as live.
    pub(super) async fn has_company(&self) -> bool {
        let mut checks = futures::stream::iter(self.counted())
            .map(|contact| self.check(contact))
            .buffer_unordered(AT_ONCE);
        while let Some((_, outcome)) = checks.next().await {
            if matches!(outcome, Checked::Alive(_)) {
                return true;
            }
        }
        false
    }

    fn counted(&self) -> Vec<Contact> {
        self.state().roster.counted().into_iter().map(|(contact, _)| contact).collect()
    }

    /// Whether a peer serves, and who it is; or why it does not count as alive.
    async fn check(&self, contact: Contact) -> (Contact, Checked) {
        let asked = match self.client(&contact.address, self.settings.call_deadline) {
            Ok(client) => client.identify().await,
            Err(error) => Err(error),
        };
        let outcome = match asked {
            Ok((Health::NotServing, _)) => Checked::Silent("it says that it does not serve".to_owned()),
            Ok((Health::Serving, Some(identity))) => self.recognise(&contact, identity),
            Ok((Health::Serving, None)) => Checked::Alive(None),
            Err(error) => Checked::Silent(error.to_string()),
        };
        (contact, outcome)
    }

    fn recognise(&self, contact: &Contact, identity: Identity) -> Checked {
        let own = self.network();
        match &identity.network {
            _ if !contact.is(&identity.name) => {
                Checked::Gone(format!("another peer, {}, has its address now", identity.name))
            }
            Some(theirs) if !agree(own.as_deref(), Some(theirs)) => {
                Checked::Gone(format!("it is in another network now, {theirs}"))
            }
            _ => Checked::Alive(Some(identity)),
        }
    }

    /// A peer without a network adopts that of the members that it knows.
    fn follow(&self, identity: &Identity) {
        if let Some(network) = identity.network.as_deref().filter(|network| check_network(network).is_ok())
            && let Err(error) = self.take_network(network)
        {
            tracing::debug!("{error}");
        }
    }

    /// Exchanges chains with those that need it.
    async fn catch_up(&self, mut answers: Vec<(Contact, Identity)>) {
        answers.iter().for_each(|(_, identity)| self.follow(identity));
        answers.retain(|(_, identity)| self.needs_exchange(identity));
        if answers.is_empty() {
            return;
        }
        // Most of what is missing is just on its way.
        tokio::time::sleep(LONGEST_GRACE.min(self.settings.check_interval / 4)).await;
        let mut pulls = 0;
        for (contact, identity) in answers {
            if pulls == MAX_PULLS || !self.needs_exchange(&identity) {
                continue;
            }
            pulls += 1;
            count(&self.witness.tally.chains_pulled);
            match self.pull(&contact, identity.network).await {
                Ok(pulled) if pulled.new == 0 => {}
                Ok(pulled) => {
                    self.witness.publish(Event::CaughtUp { from: contact.address, blocks: pulled.new });
                }
                Err(error) => tracing::warn!("cannot compare blocks with {}: {error}", contact.address),
            }
        }
    }

    /// Whether to exchange chains: the other has something else than this peer has now or had a while ago; or it has
    /// nothing at all, and so knows no peer to ask; or this peer is not recorded, as after a start with another address.
    fn needs_exchange(&self, theirs: &Identity) -> bool {
        let has_been = self.state().chain.has_been(&theirs.chain);
        !has_been || theirs.chain == EMPTY || !self.is_recorded()
    }
}
