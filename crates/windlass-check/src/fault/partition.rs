//! Partition: a controller and the API server, or a service, cannot reach each other for a while.

use super::Faults;
use crate::action::{Action, SlotIndex};
use crate::host::environment::EnvOp;
use crate::host::network::NetworkOp;
use crate::index::{PeerIndex, ProcessIndex};
use crate::world::{State, Step, Transitions};

impl Faults {
    /// Maximum number of partitions: a controller and one of its peers (the API server, a service) are cut off
    /// from each other until the partition heals. Requests do not arrive, answers and notices do not come back;
    /// the controller sees timeouts. Its caches go on answering with what they had seen until then, and catch up,
    /// change by change, when the partition has healed. A write that was on its way may still arrive after the partition, if
    /// messages can be reordered.
    #[must_use]
    pub fn partitions(mut self, most: u8) -> Self {
        self.most.partitions = most;
        self
    }
}

impl Transitions {
    pub(crate) fn partition_actions(
        &mut self,
        state: &State,
        controller: ProcessIndex,
        actions: &mut Vec<Action>,
    ) {
        let peers = self.facts.peers;
        let env = self.env(state);
        let may_cut = env.left.partitions > 0;
        for peer in PeerIndex::all(peers) {
            if env.cuts.contains(&(controller, peer)) {
                actions.push(Action::Heal { controller, peer });
            } else if may_cut {
                actions.push(Action::Cut { controller, peer });
            }
        }
    }

    pub(crate) fn cut(&mut self, step: &mut Step, controller: ProcessIndex, peer: PeerIndex) {
        self.spend(step, |left| left.partitions -= 1);
        self.env_op(step, EnvOp::Cut { controller, peer });
    }

    pub(crate) fn heal(&mut self, step: &mut Step, controller: ProcessIndex, peer: PeerIndex) {
        self.env_op(step, EnvOp::Heal { controller, peer });
    }

    /// The controller gives up on a request, or on an answer, that is held up by a partition.
    pub(crate) fn time_out_in_partition(&mut self, step: &mut Step, slot: SlotIndex) {
        let waiting = *self.menu_slot(&step.state, slot);
        debug_assert!(self.cache.menu(step.state.host(slot.process())).slots.contains(&waiting));
        if !waiting.delivered && waiting.effect && self.faults().reorders {
            step.state.network = self.network_op(step.state.network, NetworkOp::AddLate(waiting.message));
        }
        self.time_out(step, slot);
    }
}
