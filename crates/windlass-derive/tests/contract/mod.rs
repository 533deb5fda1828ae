// What the generated code relies on in the crate `windlass`. The tests of the derive include these
// few lines instead, since `windlass` itself depends on the derive.

/// The steps of a reconcile.
pub trait States: Sized + Send + 'static {
    /// All states, as declared.
    const GRAPH: &'static [StateInfo];
    /// Where a reconcile starts.
    fn initial() -> Self;
    /// The index of this state in the graph.
    fn index(&self) -> usize;
}

/// One state.
#[derive(Debug, PartialEq)]
pub struct StateInfo {
    /// The variant.
    pub name: &'static str,
    /// Its condition.
    pub condition: Option<ConditionInfo>,
    /// What may follow.
    pub next: &'static [usize],
    /// Whether a reconcile starts here.
    pub initial: bool,
}

/// The condition of a state.
#[derive(Debug, PartialEq)]
pub struct ConditionInfo {
    /// Its type.
    pub kind: &'static str,
    /// Its message when the state is done.
    pub when_true: &'static str,
    /// Its message when it is not.
    pub when_false: &'static str,
}
