//! Mistakes in a controller's code that the framework can distinguish from failures of its environment.

/// A mistake in a controller's code. Each message names the controller and the state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Bug {
    /// A state awaited something that only a runtime could finish.
    #[error(
        "controller `{controller}`, state `{state}`: it awaits something other than a method of Cx (a socket, a timer, a channel). \
         A reconcile does no I/O of its own: reach other services with cx.call, and return requeue_after to wait"
    )]
    ForeignAwait {
        /// The controller.
        controller: String,
        /// The state.
        state: String,
    },
    /// The same answers led to another question than before.
    #[error(
        "controller `{controller}`, state `{state}`: it is not deterministic. Given the same answers it first asked\n  {before}\nand then\n  {after}\n\
         Look for a clock, a random number, hash-map iteration or a static variable; take the time from cx.now"
    )]
    NotDeterministic {
        /// The controller.
        controller: String,
        /// The state.
        state: String,
        /// What it asked at first.
        before: String,
        /// What it asked when it was run again.
        after: String,
    },
    /// A state went on to one that its `next(...)` does not name.
    #[error(
        "controller `{controller}`, state `{from}`: it goes on to `{to}`, which it does not declare. Add `{to}` to next(...) of `{from}`"
    )]
    UndeclaredTransition {
        /// The controller.
        controller: String,
        /// The state that ended.
        from: String,
        /// The state that it named.
        to: String,
    },
    /// A state ensured an object of a kind, or in a namespace, that the machine does not declare.
    #[error(
        "controller `{controller}`, state `{state}`: it ensures {output}, which is not declared. {remedy}, so that it is watched, found again and pruned"
    )]
    UndeclaredOutput {
        /// The controller.
        controller: String,
        /// The state.
        state: String,
        /// The object.
        output: String,
        /// What to write in `declare`.
        remedy: String,
    },
    /// One run ensured the same object twice; the second would take the first one's fields away.
    #[error(
        "controller `{controller}`, state `{state}`: it ensures {output} a second time in one run. Build the whole object in one place"
    )]
    OutputTwice {
        /// The controller.
        controller: String,
        /// The state.
        state: String,
        /// The object.
        output: String,
    },
    /// A state ensured outputs and then failed by its own decision: they would never be applied.
    #[error(
        "controller `{controller}`, state `{state}`: it ensures {outputs} and then fails with {reason} ({message}). \
         The outputs of a state that fails are not applied. Decide on the failure before ensure, or ensure them in an \
         earlier state; to wait for them, return requeue_after"
    )]
    OutputNotApplied {
        /// The controller.
        controller: String,
        /// The state.
        state: String,
        /// The objects.
        outputs: String,
        /// The reason of the failure.
        reason: String,
        /// The message of the failure.
        message: String,
    },
    /// A state sent a request that the roles of the controller's manifests do not allow.
    #[error(
        "controller `{controller}`, state `{state}`: it may not {request}. On a cluster its role would not allow that: add `.{remedy}` to declare()"
    )]
    NotPermitted {
        /// The controller.
        controller: String,
        /// The state.
        state: String,
        /// What the request does: `get secrets`.
        request: String,
        /// What to write in `declare`.
        remedy: String,
    },
    /// The code panicked.
    #[error("controller `{controller}`, state `{state}`: it panicked: {message}")]
    Panicked {
        /// The controller.
        controller: String,
        /// The state.
        state: String,
        /// What the panic said.
        message: String,
    },
}

impl Bug {
    /// The reason that conditions show.
    pub fn reason(&self) -> &'static str {
        match self {
            Bug::ForeignAwait { .. } => "ForeignAwait",
            Bug::NotDeterministic { .. } => "NotDeterministic",
            Bug::UndeclaredTransition { .. } => "UndeclaredTransition",
            Bug::UndeclaredOutput { .. } => "UndeclaredOutput",
            Bug::OutputTwice { .. } => "OutputTwice",
            Bug::OutputNotApplied { .. } => "OutputNotApplied",
            Bug::NotPermitted { .. } => "NotPermitted",
            Bug::Panicked { .. } => "Panicked",
        }
    }
}
