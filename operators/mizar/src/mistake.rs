//! Mistakes of the original, for the checks that must find them.

/// What an operator does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// Addresses are given out without a claim, so two endpoints can get the same.
    ClaimsNoAddress,
    /// The address of a deleted endpoint is never free again.
    KeepsAddresses,
    /// The broadcast address is given out, too.
    GivesOutBroadcast,
    /// MAC addresses have the multicast bit.
    MulticastMac,
    /// A VNI is drawn without a claim, so two VPCs can get the same.
    ClaimsNoVni,
    /// Fewer dividers or bouncers than before are ignored.
    IgnoresScaleIn,
    /// A bouncer gets the divider that is new, and forgets the others.
    SendsOnlyTheNewDivider,
    /// Dividers and bouncers stay on a droplet that is lost.
    StaysOnLostDroplets,
    /// A service that has lost all its backends keeps the old ones.
    KeepsLastBackends,
    /// A VPC is Provisioned before its dividers are.
    DoesNotWaitForDividers,
    /// An error of a daemon is permanent.
    GivesUpOnErrors,
    /// A daemon that was restarted is not programmed again.
    IgnoresRestarts,
    /// A daemon that was restarted is programmed as if there were no bouncers: what was listed as such is something else.
    BootstrapsWithoutBouncers,
    /// The first of several users of a droplet that leaves takes its row from all of them.
    DropsSharedSubstrates,
    /// The interface of a deleted endpoint is left on its droplet.
    LeavesInterfaces,
    /// The deletion of a bouncer or a divider fails.
    FailsToDelete,
    /// An endpoint is deleted in the wrong order: its droplet forgets it first.
    ForgetsInAnotherOrder,
    /// A claim is held as long as something has the name of its holder, so one that is created again finds it taken.
    FindsHoldersByName,
    /// The endpoint of a pod is named without the namespace of the pod.
    IndexesPodsByName,
    /// The port of a backend is the first that there is, whatever its name.
    IgnoresPortNames,
    /// The deletion of a network waits for what never leaves.
    NeverDeletesNetworks,
    /// An operator moves an object into a phase that is not its business.
    MovesWhatIsNotItsOwn,
    /// Rows that are absent are not deleted, so a request for one that is on its way brings it back.
    DeletesOnlyWhatIsThere,
    /// Objects are read before rows, so an operator that has seen old ones can write last.
    ReadsObjectsFirst,
}
