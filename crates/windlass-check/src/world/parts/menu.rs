//! What can happen at a controller, worked out once per state of the controller.

use windlass::{Ask, Shortcut};

use super::Parts;
use crate::action::SlotIndex;
use crate::host::controller::Slot;
use crate::ids::{AskId, BacklogId, HostId, JobId, MessageId};
use crate::index::{API_SERVER, KindIndex, PeerIndex, ProcessIndex};

/// What a controller's state offers.
#[derive(Debug)]
pub(crate) struct Menu {
    /// Jobs that the watch can notify of.
    pub(crate) fresh: Vec<JobId>,
    /// Jobs whose notification it can repeat.
    pub(crate) again: Vec<JobId>,
    /// Jobs whose timers can go off.
    pub(crate) timers: Vec<JobId>,
    /// Whether a reconcile can start.
    pub(crate) can_start: bool,
    /// The asks that wait for an answer.
    pub(crate) slots: Vec<MenuSlot>,
    /// What its watches have not delivered, as the number of a backlog.
    pub(crate) unseen: BacklogId,
    /// The kinds that its watches can deliver a change of.
    pub(crate) behind: Vec<KindIndex>,
}

/// An ask that waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MenuSlot {
    pub(crate) active: u8,
    pub(crate) slot: u8,
    pub(crate) message: MessageId,
    pub(crate) ask: AskId,
    pub(crate) peer: PeerIndex,
    pub(crate) delivered: bool,
    /// How many answers are on their way back.
    pub(crate) replies: u8,
    /// Whether it can change anything.
    pub(crate) effect: bool,
    pub(crate) shortcut: Shortcut,
    /// Whether a random value is to be drawn, which takes no message.
    pub(crate) draws: bool,
}

impl Menu {
    /// The ask of a slot, if it waits for an answer.
    pub(crate) fn slot(&self, index: SlotIndex) -> Option<&MenuSlot> {
        self.slots.iter().find(|waiting| (waiting.active, waiting.slot) == (index.active, index.slot))
    }
}

/// What hot paths must know of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessageFacts {
    pub(crate) sender: ProcessIndex,
    pub(crate) ask: AskId,
    pub(crate) peer: PeerIndex,
    /// Whether it is known which object it is meant for, while the request itself does not insist on it.
    pub(crate) decided: bool,
}

impl Parts {
    /// What a worker wants to know of a controller's state.
    pub(crate) fn menu(&self, host: HostId) -> Menu {
        let host = self.hosts.get(host);
        let mut slots = Vec::new();
        for (active, reconcile) in host.active.iter().enumerate() {
            for (number, slot) in reconcile.slots.iter().enumerate().filter(|(_, slot)| slot.answer.is_none())
            {
                slots.push(self.menu_slot(active as u8, number as u8, slot));
            }
        }
        // While a change is still to be delivered, repeating an old notification first and delivering the new one
        // later is the same as the other way round.
        let again = host.observed.iter().filter(|job| !host.queue.contains(job) && !host.fresh.contains(job));
        Menu {
            fresh: host.fresh.clone(),
            again: if self.setup.faults.duplicates { again.copied().collect() } else { Vec::new() },
            timers: host.timers.clone(),
            can_start: host.first_to_start(self.setup.workers).is_some(),
            slots,
            unseen: host.unseen,
            behind: self.views.backlogs.get(host.unseen).kinds().collect(),
        }
    }

    fn menu_slot(&self, active: u8, number: u8, slot: &Slot) -> MenuSlot {
        let facts = self.message_facts(slot.message);
        let ask = self.asks.get(facts.ask);
        let shortcut = match &**ask {
            Ask::Api { shortcut, .. } => *shortcut,
            _ => Shortcut::None,
        };
        MenuSlot {
            active,
            slot: number,
            message: slot.message,
            ask: facts.ask,
            peer: facts.peer,
            delivered: slot.delivered,
            replies: slot.replies.len() as u8,
            effect: ask.has_effect() && !self.setup.is_read(ask),
            shortcut,
            draws: matches!(&**ask, Ask::Random { .. }),
        }
    }

    pub(crate) fn message_facts(&self, message: MessageId) -> MessageFacts {
        let message = self.messages.get(message);
        let peer = match &**self.asks.get(message.ask) {
            Ask::Call { service, .. } => {
                let known = self.setup.service_states.keys().position(|name| name == service);
                PeerIndex::new(1 + known.unwrap_or(self.setup.service_states.len()))
            }
            _ => API_SERVER,
        };
        MessageFacts { sender: message.sender, ask: message.ask, peer, decided: message.decided_on.is_some() }
    }
}
