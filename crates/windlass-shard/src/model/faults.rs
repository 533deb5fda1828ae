//! How often each kind of fault may strike in a world.

/// How often each kind of fault may strike, 15 times at the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// A process is paused while time passes, and goes on later.
    pub pauses: u8,
    /// A process crashes, and is started again under the same name.
    pub crashes: u8,
    /// A process crashes for good.
    pub deaths: u8,
    /// A process stops waiting for an answer; its request arrives later.
    pub timeouts: u8,
    /// A request is performed, but its answer is lost.
    pub lost_replies: u8,
    /// Time passes although requests are on their way.
    pub stalls: u8,
    /// A process is asked to leave; afterwards it is started again.
    pub leaves: u8,
}

/// A kind of fault, and where its budget is in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Pause,
    Crash,
    Death,
    Timeout,
    LostReply,
    Stall,
    Leave,
}

impl Faults {
    pub(super) fn to_word(self) -> u32 {
        let Faults { pauses, crashes, deaths, timeouts, lost_replies, stalls, leaves } = self;
        let budgets = [pauses, crashes, deaths, timeouts, lost_replies, stalls, leaves];
        budgets.iter().rev().fold(0, |word, budget| word << 4 | u32::from((*budget).min(15)))
    }
}

/// Whether a fault of a kind can still strike.
pub(super) fn is_left(word: u32, kind: Kind) -> bool {
    word >> (4 * kind as u32) & 15 > 0
}

/// One fewer of a kind.
pub(super) fn spend(word: u32, kind: Kind) -> u32 {
    word - (1 << (4 * kind as u32))
}

/// Whether one word has at least as many of each kind as another.
pub(super) fn includes(more: u32, less: u32) -> bool {
    (0..8).all(|kind| (more >> (4 * kind)) & 15 >= (less >> (4 * kind)) & 15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_counted_by_kind() {
        let word = Faults { pauses: 1, stalls: 2, ..Faults::default() }.to_word();
        assert!(is_left(word, Kind::Pause) && is_left(word, Kind::Stall) && !is_left(word, Kind::Crash));
        let less = spend(word, Kind::Pause);
        assert!(!is_left(less, Kind::Pause) && is_left(less, Kind::Stall));
        assert!(includes(word, less) && !includes(less, word));
    }
}
