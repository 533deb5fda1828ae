//! The models on stateright, each as one would write it for that.

mod pairs;
mod paxos;
mod two_phase_commit;

use std::fmt::Debug;
use std::hash::Hash;

use anyhow::{Result, bail};
use stateright::{Checker, Expectation, Model};

use crate::measure::Explored;
use crate::subject::{Bounds, PairsBounds, Subject};
use pairs::Pairs;
use two_phase_commit::TwoPhaseCommit;

/// The order in which stateright visits states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    BreadthFirst,
    DepthFirst,
}

/// Explores all of a model. Fails if a property does not hold.
pub(crate) fn explore(subject: Subject, bounds: Bounds, threads: usize, order: Order) -> Result<Explored> {
    match subject {
        Subject::Pairs => explore_pairs(bounds.pairs(), threads, order),
        Subject::TwoPhaseCommit => model(TwoPhaseCommit { managers: bounds.managers }, threads, order),
        Subject::Paxos => model(paxos::paxos(bounds.clients), threads, order),
    }
}

/// Explores the world of the two ConfigMaps.
pub(crate) fn explore_pairs(bounds: PairsBounds, threads: usize, order: Order) -> Result<Explored> {
    model(Pairs(bounds), threads, order)
}

fn model<M>(model: M, threads: usize, order: Order) -> Result<Explored>
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + Debug + PartialEq + Send + Sync + 'static,
{
    let first_states = model.init_states().len();
    let builder = model.checker().threads(threads);
    match order {
        Order::BreadthFirst => explored(&builder.spawn_bfs().join(), first_states),
        Order::DepthFirst => explored(&builder.spawn_dfs().join(), first_states),
    }
}

fn explored<M>(checker: &impl Checker<M>, first_states: usize) -> Result<Explored>
where
    M: Model,
    M::State: Clone + Debug + Hash + PartialEq,
    M::Action: Clone + Debug + PartialEq,
{
    for property in checker.model().properties() {
        // What is discovered is an example of `sometimes`, and a counterexample of the others.
        let holds =
            checker.discovery(property.name).is_some() == (property.expectation == Expectation::Sometimes);
        if !holds {
            bail!("stateright says that {:?} does not hold", property.name);
        }
    }
    // It counts the first states as generated.
    let transitions = checker.state_count() - first_states;
    Ok(Explored { states: checker.unique_state_count() as u64, transitions: transitions as u64 })
}
