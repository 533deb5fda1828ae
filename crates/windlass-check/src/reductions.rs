//! What may be left out of a search because it makes no difference.

/// Ways to visit fewer states. Verdicts are the same with each of them on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reductions {
    /// States that differ only in how resource versions, generations and uids are numbered are one state. Without
    /// it, what is written for ever leads to ever new states. (Not with stale views.)
    ///
    /// Code and properties are run a second time with other numbers; if something else comes out, this reduction is
    /// switched off by itself, and the verdict says so.
    pub versions: bool,
    /// States that differ only in which of several equal objects is which are one state. Given objects that are
    /// equal but for their names can be permuted, if the code turns out to treat their names alike.
    pub symmetry: bool,
    /// States that differ only in which process of a controller is which are one state: see
    /// [`Check::replicas`](crate::Check::replicas).
    pub replicas: bool,
    /// Answers that nothing can interfere with are received at once.
    pub partial_order: bool,
    /// A state in which no more faults can strike than in one that was visited before, and which is like it in all else, is
    /// not visited: what is left of the budgets of faults, and which messages may still come again, decides nothing
    /// but which faults can strike.
    pub subsumption: bool,
}

impl Reductions {
    /// Every state is visited.
    pub fn none() -> Self {
        Reductions {
            versions: false,
            symmetry: false,
            replicas: false,
            partial_order: false,
            subsumption: false,
        }
    }

    /// Those that others have as well.
    #[must_use]
    pub fn and(self, others: Reductions) -> Self {
        Reductions {
            versions: self.versions && others.versions,
            symmetry: self.symmetry && others.symmetry,
            replicas: self.replicas && others.replicas,
            partial_order: self.partial_order && others.partial_order,
            subsumption: self.subsumption && others.subsumption,
        }
    }
}

impl Default for Reductions {
    fn default() -> Self {
        Reductions { versions: true, symmetry: true, replicas: true, partial_order: true, subsumption: true }
    }
}
