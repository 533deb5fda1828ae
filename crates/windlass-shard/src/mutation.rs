//! The rules of the protocol, broken one at a time, so that the model can show that each of them is needed.

/// A rule that is broken on purpose. Only the model and tests can do that: see [`Instance::break_rule`].
///
/// [`Instance::break_rule`]: crate::Instance::break_rule
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    not(any(test, feature = "model")),
    expect(unreachable_pub, dead_code, reason = "only the model breaks rules")
)]
pub enum Mutation {
    /// Rule 1: acts on a slot that is draining.
    ActsWhileDraining,
    /// Rule 1: acts on a slot before its objects are loaded.
    ActsBeforeLoaded,
    /// Rule 1: acts although its last good renewal is too long ago.
    IgnoresDeadline,
    /// Rule 1: checks its permit when it starts something, and not at each send.
    ChecksOnce,
    /// Rule 2: writes its lease without comparing.
    RenewsBlindly,
    /// Rule 2: goes on as the same incarnation after it has lost its lease.
    SurvivesLoss,
    /// Rule 3: moves the slots of an instance that seems to be dead without ending its lease first.
    MovesWithoutKill,
    /// Rule 4: takes slots for its own that the ring has for an earlier incarnation of it.
    IgnoresIncarnation,
    /// Rule 4: marks the slots that it takes over from its earlier incarnation as clean.
    TakesOverClean,
    /// Rule 5: says that a slot is drained while requests for it are in flight.
    HandsOverUndrained,
    /// Rule 6: does not wait after the expiry of another's lease.
    NoWaitAfterExpiry,
    /// Rule 6: does not wait after its own restart.
    NoWaitAfterRestart,
    /// Rule 7: hands a slot over as clean while its own wait for it runs.
    HandsOverDuringWait,
    /// Rule 8: writes the ring without comparing while it holds the lock.
    TrustsLock,
    /// Rule 8: respects a lock for ever, even that of an instance that is gone.
    KeepsStaleLock,
}

/// Which rule is broken, if any. Outside of the model it is of no size, and none is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Broken(#[cfg(any(test, feature = "model"))] pub(crate) Option<Mutation>);

impl Broken {
    /// Whether it is this one.
    #[cfg(any(test, feature = "model"))]
    pub(crate) fn is(self, mutation: Mutation) -> bool {
        self.0 == Some(mutation)
    }

    /// Whether it is this one.
    #[cfg(not(any(test, feature = "model")))]
    pub(crate) fn is(self, _: Mutation) -> bool {
        false
    }
}
