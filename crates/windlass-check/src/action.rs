//! Everything that can happen next in the world.

/// One thing that happens. Numbers are those of the world's interners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// A client does the next event of a script.
    Client { script: usize },
    /// The watch tells a controller that a parent, or something of it, has changed.
    Notify { controller: usize, job: u32 },
    /// The watch tells it again.
    NotifyAgain { controller: usize, job: u32 },
    /// A timer puts a parent back into the queue.
    Timer { controller: usize, job: u32 },
    /// A controller takes the next parent from its queue and starts a reconcile.
    Start { controller: usize },
    /// An ask reaches the database or a service, and is answered.
    Deliver { controller: usize, slot: usize },
    /// It reaches it again.
    DeliverAgain { controller: usize, slot: usize },
    /// An answer reaches the controller.
    Reply { controller: usize, slot: usize, reply: usize },
    /// A request of a controller that has crashed reaches the database.
    Late { index: usize },
    /// A request that was delivered once reaches the database again.
    Duplicate { index: usize },
    /// The garbage collector or the namespace controller does one thing.
    Collect { index: usize },
    /// A controller crashes and starts again.
    Crash { controller: usize },
}

impl Action {
    /// Whether something goes wrong here. What is left is what must happen sooner or later.
    pub(crate) fn is_fault(self) -> bool {
        matches!(
            self,
            Action::NotifyAgain { .. }
                | Action::DeliverAgain { .. }
                | Action::Duplicate { .. }
                | Action::Crash { .. }
        )
    }
}
