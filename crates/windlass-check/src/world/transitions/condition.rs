//! What must be so on the network for a planned step to be possible.

use crate::host::network::Network;
use crate::ids::MessageId;

/// What must be so on the network for an action of a controller to be possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Condition {
    /// Nothing.
    Free,
    /// This message may arrive once more.
    Copied(MessageId),
    /// Nothing; and if this message cannot arrive once more, the action is ample.
    AmpleUnlessCopied(MessageId),
}

/// A condition in one word: which it is, below the number of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackedCondition(u32);

impl PackedCondition {
    pub(crate) const FREE: PackedCondition = PackedCondition(0);

    pub(crate) fn unpack(self) -> Condition {
        let message = MessageId::from_word(self.0 >> 2);
        match self.0 & 3 {
            0 => Condition::Free,
            1 => Condition::Copied(message),
            _ => Condition::AmpleUnlessCopied(message),
        }
    }
}

impl Condition {
    pub(crate) fn pack(self) -> PackedCondition {
        let (which, message) = match self {
            Condition::Free => (0, MessageId::FIRST),
            Condition::Copied(message) => (1, message),
            Condition::AmpleUnlessCopied(message) => (2, message),
        };
        assert!(message.word() < 1 << 30, "fewer than 2^30 distinct messages fit in memory");
        PackedCondition(message.word() << 2 | which)
    }

    pub(crate) fn holds(self, network: &Network) -> bool {
        match self {
            Condition::Free | Condition::AmpleUnlessCopied(_) => true,
            Condition::Copied(message) => network.copies.contains(&message),
        }
    }

    /// Whether an action of this condition is an ample set by itself, for partial-order reduction.
    pub(crate) fn is_ample(self, network: &Network) -> bool {
        matches!(self, Condition::AmpleUnlessCopied(message) if !network.copies.contains(&message))
    }
}
