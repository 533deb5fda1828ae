//! A state of the world.

use crate::ids::{ClusterId, EnvironmentId, HostId, NetworkId};
use crate::index::ProcessIndex;

/// The most controller processes that a world can have.
pub(crate) const MAX_PROCESSES: usize = 21;

/// A state of the world, by the numbers of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) cluster: ClusterId,
    pub(crate) network: NetworkId,
    pub(crate) environment: EnvironmentId,
    /// By process. Those beyond the last process are all the same, so that they make no difference.
    pub(crate) hosts: [HostId; MAX_PROCESSES],
}

/// What properties can see of a state: cluster and environment.
pub(crate) type Visible = (ClusterId, EnvironmentId);

impl State {
    /// What a process knows.
    #[inline]
    pub(crate) fn host(&self, process: ProcessIndex) -> HostId {
        self.hosts[process.index()]
    }

    /// What properties can see of it.
    pub(crate) fn visible(&self) -> Visible {
        (self.cluster, self.environment)
    }
}
