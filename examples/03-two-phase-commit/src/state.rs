//! The state of a transaction, as bits: four for each manager, and two for the coordinator.

/// How many managers fit beside the coordinator.
pub(crate) const MAX_MANAGERS: usize = 15;

/// The bits of one manager.
const WIDTH: usize = 4;
/// The lowest bit of each manager.
const ONES: u64 = 0x0111_1111_1111_1111;
/// Whether the manager has said that it is prepared. The message stays: it can arrive any number of times.
const SAID: u64 = 0b0100;
/// Whether the coordinator has heard that.
const HEARD: u64 = 0b1000;
/// Where the coordinator's decision stands.
const DECISION: usize = WIDTH * MAX_MANAGERS;

/// What a manager does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It has not made up its mind.
    Working = 0b00,
    /// It will follow the decision.
    Prepared = 0b01,
    /// It has committed.
    Committed = 0b10,
    /// It has aborted.
    Aborted = 0b11,
}

/// What the coordinator has decided, and sent to all managers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing yet.
    Open = 0,
    /// All must commit.
    Commit = 1,
    /// All must abort.
    Abort = 2,
}

/// The state of a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct State(u64);

impl State {
    /// All managers are working, and no message was sent.
    pub fn new() -> Self {
        State(0)
    }

    /// The state as two words.
    pub fn to_words(self) -> [u32; 2] {
        [self.0 as u32, (self.0 >> 32) as u32]
    }

    /// The state of two words.
    pub fn from_words(words: [u32; 2]) -> Self {
        State(u64::from(words[0]) | u64::from(words[1]) << 32)
    }

    /// What the coordinator has decided.
    pub fn decision(self) -> Decision {
        match self.0 >> DECISION {
            0 => Decision::Open,
            1 => Decision::Commit,
            _ => Decision::Abort,
        }
    }

    /// What a manager does.
    pub fn phase(self, manager: usize) -> Phase {
        match self.0 >> (WIDTH * manager) & 0b11 {
            0b00 => Phase::Working,
            0b01 => Phase::Prepared,
            0b10 => Phase::Committed,
            _ => Phase::Aborted,
        }
    }

    /// Whether a manager has said that it is prepared.
    pub fn has_said(self, manager: usize) -> bool {
        self.0 & SAID << (WIDTH * manager) != 0
    }

    /// Whether the coordinator has heard from the first `managers` managers that they are prepared.
    pub fn all_heard(self, managers: usize) -> bool {
        let wanted = HEARD * ones(managers);
        self.0 & wanted == wanted
    }

    /// How many of the first `managers` managers are in a phase.
    pub fn count(self, phase: Phase, managers: usize) -> u32 {
        let ones = ones(managers);
        let different = self.0 ^ (phase as u64 * ones);
        (!(different | different >> 1) & ones).count_ones()
    }

    pub(crate) fn with_decision(self, decision: Decision) -> Self {
        State(self.0 | (decision as u64) << DECISION)
    }

    pub(crate) fn with_phase(self, manager: usize, phase: Phase) -> Self {
        let shift = WIDTH * manager;
        State(self.0 & !(0b11 << shift) | (phase as u64) << shift)
    }

    pub(crate) fn with_said(self, manager: usize) -> Self {
        State(self.0 | SAID << (WIDTH * manager))
    }

    pub(crate) fn with_heard(self, manager: usize) -> Self {
        State(self.0 | HEARD << (WIDTH * manager))
    }

    /// The state in which each manager has the part that another had: `sources` says whose.
    pub(crate) fn permuted(self, sources: &[usize]) -> Self {
        let mut permuted = self.0 >> DECISION << DECISION;
        for (manager, source) in sources.iter().enumerate() {
            permuted |= (self.0 >> (WIDTH * source) & 0b1111) << (WIDTH * manager);
        }
        State(permuted)
    }
}

/// The lowest bit of each of the first `managers` managers.
fn ones(managers: usize) -> u64 {
    ONES & ((1 << (WIDTH * managers)) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_fields_share_a_bit() {
        let state = State::new()
            .with_phase(0, Phase::Aborted)
            .with_said(1)
            .with_phase(1, Phase::Prepared)
            .with_heard(14)
            .with_phase(14, Phase::Committed)
            .with_decision(Decision::Abort);
        assert_eq!(State::from_words(state.to_words()), state);
        assert_eq!(state.decision(), Decision::Abort);
        let phases = [0, 1, 2, 14].map(|manager| state.phase(manager));
        assert_eq!(phases, [Phase::Aborted, Phase::Prepared, Phase::Working, Phase::Committed]);
        assert!(state.has_said(1) && !state.has_said(0) && !state.has_said(14));
        assert_eq!(state.count(Phase::Working, 15), 12);
        assert_eq!(state.count(Phase::Aborted, 15), 1);
        assert_eq!(state.count(Phase::Committed, 14), 0);
    }

    #[test]
    fn all_are_heard_only_with_the_last() {
        let two_of_three = State::new().with_heard(0).with_heard(2);
        assert!(!two_of_three.all_heard(3));
        assert!(two_of_three.with_heard(1).all_heard(3));
    }
}
