//! Mistakes that controllers like this one have made, put in on purpose: the check must find each of them.

/// A mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// A join that fails pops the contact, even if the pod that was to join is at fault.
    PopsOnAnyFailure,
    /// A contact is an address, whoever has it by now.
    KnowsAddressesOnly,
    /// What a peer calls itself is asked, and not whether the pod still has the address.
    TrustsWhatItSawBefore,
    /// Only the contact at the head is checked.
    LeavesTheDeadBelowTheHead,
    /// A pod that is seen again joins again, through itself if need be.
    JoinsWhoeverIsSeen,
    /// A member that is not at the head joins again.
    JoinsMembersAgain,
    /// The stack is kept in the process.
    RemembersInMemory,
}

impl Mistake {
    /// All of them.
    pub const ALL: [Mistake; 7] = [
        Mistake::PopsOnAnyFailure,
        Mistake::KnowsAddressesOnly,
        Mistake::TrustsWhatItSawBefore,
        Mistake::LeavesTheDeadBelowTheHead,
        Mistake::JoinsWhoeverIsSeen,
        Mistake::JoinsMembersAgain,
        Mistake::RemembersInMemory,
    ];
}
