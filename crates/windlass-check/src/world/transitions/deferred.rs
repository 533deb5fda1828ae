//! Operations on parts of a state: done at once, or left open by a plan.
//!
//! A plan depends on nothing but its key. So while a step is planned, what it does to parts that the key does not contain
//! is written down instead of done: to the network and to other processes in the plan of a process, to all processes in
//! that of the environment. Whoever follows the plan does it then, to whatever is there.

use super::{Step, Transitions};
use crate::action::Action;
use crate::fault::Budget;
use crate::host::environment::EnvOp;
use crate::host::network::NetworkOp;
use crate::ids::NetworkId;
use crate::index::ProcessIndex;
use crate::world::ops::HostOp;
use crate::world::state::State;

/// What a step that is being planned leaves open.
#[derive(Default)]
pub(in crate::world) struct Deferred {
    /// The process whose plan it is; `None` if it is the environment's.
    process: Option<ProcessIndex>,
    pub(in crate::world) network_ops: Vec<NetworkOp>,
    pub(in crate::world) host_ops: Vec<(ProcessIndex, HostOp)>,
}

impl Transitions {
    /// Performs an action for the plan of a process, or of the environment if it is of none.
    pub(in crate::world) fn perform_for_plan(
        &mut self,
        state: &State,
        action: Action,
        process: Option<ProcessIndex>,
    ) -> (Step, Deferred) {
        debug_assert!(self.deferred.is_none(), "one step is planned at a time");
        self.deferred = Some(Deferred { process, ..Deferred::default() });
        let step = self.perform(state, action);
        (step, self.deferred.take().unwrap_or_default())
    }

    /// Whether the network of the state is the real one. In the plan of a process it is one of many.
    pub(super) fn knows_network(&self) -> bool {
        self.deferred.as_ref().is_none_or(|deferred| deferred.process.is_none())
    }

    /// Changes a controller's state.
    pub(crate) fn host_op(&mut self, step: &mut Step, controller: ProcessIndex, op: HostOp) {
        if let Some(deferred) = &mut self.deferred
            && deferred.process != Some(controller)
        {
            deferred.host_ops.push((controller, op));
            return;
        }
        let host = &mut step.state.hosts[controller.index()];
        let done = self.cache.parts().host_op(*host, controller, op);
        *host = done.host;
        step.violation = step.violation.or(done.violation);
        if let Some(ending) = done.ending {
            step.ending = Some(ending);
            let limit = self.facts.clock_limit;
            if ending.done && limit > 0 {
                self.env_op(step, EnvOp::Tick { job: ending.job, limit });
            }
        }
    }

    /// A network after a change of it.
    pub(crate) fn network_op(&mut self, network: NetworkId, op: NetworkOp) -> NetworkId {
        if let Some(deferred) = &mut self.deferred
            && deferred.process.is_some()
        {
            deferred.network_ops.push(op);
            return network;
        }
        self.parts().network_op(network, op)
    }

    /// Changes the environment, which is part of every plan's key.
    pub(crate) fn env_op(&mut self, step: &mut Step, op: EnvOp) {
        step.state.environment = self.cache.environment_after(step.state.environment, op);
    }

    /// A fault strikes.
    pub(crate) fn spend(&mut self, step: &mut Step, strike: impl FnOnce(&mut Budget)) {
        let mut left = self.env(&step.state).left;
        strike(&mut left);
        self.env_op(step, EnvOp::Spend(left));
    }
}
