//! What is measured: which system, in which bounds, on which engine.

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

/// A system that both engines explore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Subject {
    /// The world of the two ConfigMaps.
    Pairs,
    /// Two-phase commit.
    TwoPhaseCommit,
    /// Single-decree Paxos.
    Paxos,
}

/// All systems, in the order in which they are measured.
pub(crate) const SUBJECTS: [Subject; 3] = [Subject::Pairs, Subject::TwoPhaseCommit, Subject::Paxos];

/// Who explores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Engine {
    /// Ours: breadth first, exact states, exact liveness.
    Windlass,
    /// Theirs, breadth first: a fingerprint per state and that of its parent.
    StaterightBfs,
    /// Theirs, depth first: a fingerprint per state, and traces of any length.
    StaterightDfs,
}

/// All engines, in the order in which they take turns.
pub(crate) const ENGINES: [Engine; 3] = [Engine::Windlass, Engine::StaterightBfs, Engine::StaterightDfs];

/// How large the systems are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Crashes in the world of two pairs; duplicates and reordering are always on.
    pub(crate) crashes: u8,
    /// Managers of two-phase commit.
    pub(crate) managers: usize,
    /// Clients of Paxos.
    pub(crate) clients: usize,
}

/// The bounds of the world of the two ConfigMaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PairsBounds {
    /// How many parents there are, at most two.
    pub(crate) pairs: usize,
    pub(crate) crashes: u8,
    pub(crate) duplicates: bool,
    pub(crate) reorders: bool,
}

impl Bounds {
    /// What the bars are about.
    pub(crate) const FULL: Bounds = Bounds { crashes: 4, managers: 9, clients: 3 };
    /// The same in seconds; the rates say little.
    pub(crate) const QUICK: Bounds = Bounds { crashes: 1, managers: 6, clients: 2 };

    /// The world of the two ConfigMaps, with everything on.
    pub(crate) fn pairs(self) -> PairsBounds {
        PairsBounds { pairs: 2, crashes: self.crashes, duplicates: true, reorders: true }
    }

    /// A system within these bounds, in words.
    pub(crate) fn describe(self, subject: Subject) -> String {
        match subject {
            Subject::Pairs => {
                format!("seed 0: 2 pairs, <= {} crashes, duplicates, reordering", self.crashes)
            }
            Subject::TwoPhaseCommit => format!("two-phase commit, {} managers", self.managers),
            Subject::Paxos => format!("paxos, 3 servers, {} clients", self.clients),
        }
    }
}

impl Subject {
    /// The name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Subject::Pairs => "seed-0",
            Subject::TwoPhaseCommit => "2pc",
            Subject::Paxos => "paxos",
        }
    }

    /// The system of a name.
    pub(crate) fn from_name(name: &str) -> Result<Self> {
        match SUBJECTS.into_iter().find(|subject| subject.name() == name) {
            Some(subject) => Ok(subject),
            None => {
                bail!("there is no model `{name}`; there are: {}", SUBJECTS.map(Subject::name).join(", "))
            }
        }
    }
}

impl Engine {
    /// The name on the command line and in the table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Engine::Windlass => "windlass",
            Engine::StaterightBfs => "stateright-bfs",
            Engine::StaterightDfs => "stateright-dfs",
        }
    }

    /// The engine of a name.
    pub(crate) fn from_name(name: &str) -> Result<Self> {
        match ENGINES.into_iter().find(|engine| engine.name() == name) {
            Some(engine) => Ok(engine),
            None => bail!("there is no engine `{name}`; there are: {}", ENGINES.map(Engine::name).join(", ")),
        }
    }
}
