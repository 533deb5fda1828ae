//! The graph of a machine's states, as `#[derive(States)]` writes it down.

/// An enum of the steps of a reconcile. Derive it: the derive checks the graph at compile time.
pub trait States: Sized + Send + 'static {
    /// All states, in the order of their declaration.
    const GRAPH: &'static [StateInfo];

    /// The state that every reconcile starts in.
    fn initial() -> Self;

    /// The position of this state in [`States::GRAPH`].
    fn index(&self) -> usize;
}

/// What is known about a state without running it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateInfo {
    /// The name of the enum's variant.
    pub name: &'static str,
    /// The status condition that shows how far the state got.
    pub condition: Option<ConditionInfo>,
    /// The states that may follow, as positions in the graph.
    pub next: &'static [usize],
    /// Whether every reconcile starts here.
    pub initial: bool,
}

/// The status condition of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConditionInfo {
    /// The condition's `type`.
    pub kind: &'static str,
    /// The message while it is True.
    pub when_true: &'static str,
    /// The message while it is False, unless the state gives one.
    pub when_false: &'static str,
}
