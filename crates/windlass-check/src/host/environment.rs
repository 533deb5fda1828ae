//! Everything of the world that is neither an object, nor a message, nor local to a controller.

use crate::fault::Budget;
use crate::ids::{BacklogId, JobId, ServicesId};
use crate::index::{PeerIndex, ProcessIndex, ScriptIndex};

/// What is left of the budgets, how far the scripts have got, services, clocks, partitions and the oldest view.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Environment {
    /// How often each fault may still strike.
    pub(crate) left: Budget,
    /// How far each client script has got.
    pub(crate) scripts: Vec<usize>,
    /// The number of the services' states.
    pub(crate) services: ServicesId,
    /// How many reconciles of each job have come to their end, up to a limit. Sorted by job.
    pub(crate) clocks: Vec<(JobId, u32)>,
    /// Which controllers are cut off from which peers. Sorted.
    pub(crate) cuts: Vec<(ProcessIndex, PeerIndex)>,
    /// The number of the backlog of the oldest view that a watch may begin with.
    pub(crate) oldest: BacklogId,
}

/// A change of the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum EnvOp {
    /// A budget was spent.
    Spend(Budget),
    /// A client script goes on.
    Script(ScriptIndex),
    /// The services are in another state.
    Services(ServicesId),
    /// A reconcile has come to its end.
    Tick { job: JobId, limit: u32 },
    /// A partition begins.
    Cut { controller: ProcessIndex, peer: PeerIndex },
    /// A partition ends.
    Heal { controller: ProcessIndex, peer: PeerIndex },
    /// The oldest view that a watch may begin with is another one.
    Oldest(BacklogId),
}

impl Environment {
    pub(crate) fn after(&self, op: EnvOp) -> Self {
        let mut after = self.clone();
        match op {
            EnvOp::Spend(left) => after.left = left,
            EnvOp::Script(script) => after.scripts[script.index()] += 1,
            EnvOp::Services(services) => after.services = services,
            EnvOp::Tick { job, limit } => after.tick(job, limit),
            EnvOp::Cut { controller, peer } => {
                after.cuts.push((controller, peer));
                after.cuts.sort_unstable();
            }
            EnvOp::Heal { controller, peer } => after.cuts.retain(|cut| *cut != (controller, peer)),
            EnvOp::Oldest(oldest) => after.oldest = oldest,
        }
        after
    }

    fn tick(&mut self, job: JobId, limit: u32) {
        match self.clocks.binary_search_by_key(&job, |(known, _)| *known) {
            Ok(index) => self.clocks[index].1 = (self.clocks[index].1 + 1).min(limit),
            Err(index) => self.clocks.insert(index, (job, 1)),
        }
    }
}
