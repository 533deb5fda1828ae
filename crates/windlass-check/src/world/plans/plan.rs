//! A plan: the steps that are possible in a situation, each in 16 bytes.

use std::sync::Arc;

use super::situation::SituationId;
use crate::action::{Action, KINDS};
use crate::host::network::NetworkOp;
use crate::ids::{ClusterId, EnvironmentId, NetworkId, ViolationId};
use crate::index::ProcessIndex;
use crate::intern::{Id, Interner};
use crate::world::ops::HostOp;
use crate::world::transitions::PackedCondition;

/// What a process can do in a situation; each step leads to another situation of the process.
pub(crate) type ProcessPlan = Arc<[Planned<SituationId>]>;
/// What the environment can do (clients, the network, the cluster's own controllers); each step leads to another network.
pub(crate) type EnvironmentPlan = Arc<[Planned<NetworkId>]>;

/// One step of a plan. There are many, so each is small: its action is left out, since the actions of a plan can be
/// listed again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planned<Next> {
    pub(crate) condition: PackedCondition,
    /// What it leads to: the situation of the process, or the network in a plan of the environment.
    pub(crate) next: Next,
    /// What remains to be done to all else.
    pub(crate) open: Open,
    pub(crate) traits: Traits,
}

// Millions of them are kept.
const _: () = assert!(size_of::<Planned<SituationId>>() == 16);

impl<Next> Planned<Next> {
    pub(crate) fn kind(&self) -> usize {
        (self.traits.0 & 0x7f) as usize
    }

    pub(crate) fn is_fault(&self) -> bool {
        self.traits.0 & 0x80 != 0
    }

    /// The number of its violation.
    pub(crate) fn violation(&self) -> Option<ViolationId> {
        (self.traits.0 >> 8).checked_sub(1).map(ViolationId::from_word)
    }
}

/// The kind of an action, whether it is a fault, and the number of its violation, plus one, in one word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traits(u32);

impl Traits {
    pub(crate) fn of(action: Action, violation: Option<ViolationId>) -> Self {
        const { assert!(KINDS.len() <= 0x80, "kinds fit into seven bits") };
        let violation = violation.map_or(0, |violation| violation.word() + 1);
        assert!(violation < 1 << 24, "fewer than 2^24 distinct violations are found");
        Traits(action.kind() as u32 | u32::from(action.fault().is_some()) << 7 | violation << 8)
    }
}

/// Operations on parts that a plan leaves open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Operations {
    pub(crate) network: Vec<NetworkOp>,
    /// The cluster and the environment, if they change for other processes too.
    pub(crate) surroundings: Option<(ClusterId, EnvironmentId)>,
    pub(crate) hosts: Vec<(ProcessIndex, HostOp)>,
}

/// The number of operations that a plan leaves open, with one bit that says whether there are any on the network, and
/// one for those on processes: most steps leave nothing open, which is then known without a look at them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Open(u32);

impl Open {
    /// No operations.
    pub(crate) const NOTHING: Open = Open(0);

    pub(crate) fn of(operations: Operations, known: &mut Interner<Operations>) -> Self {
        let flags = u32::from(!operations.network.is_empty())
            | u32::from(!operations.hosts.is_empty() || operations.surroundings.is_some()) << 1;
        let number = known.id(operations).word();
        assert!(number < 1 << 30, "fewer than 2^30 distinct operations fit in memory");
        Open(number << 2 | flags)
    }

    pub(crate) fn concerns_network(self) -> bool {
        self.0 & 1 != 0
    }

    pub(crate) fn concerns_processes(self) -> bool {
        self.0 & 2 != 0
    }

    pub(crate) fn operations(self) -> Id<Operations> {
        Id::from_word(self.0 >> 2)
    }
}
