//! The models on Windlass, with all reductions off: the same states as the others have.
//!
//! The rules that need no specification stay on in the world of the two ConfigMaps, although nothing of theirs
//! corresponds to them: it is the check as users run it.

use anyhow::{Result, bail};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::CustomResourceExt;
use paxos::Paxos;
use two_configmaps::{Pair, TwoConfigMaps, pair};
use two_phase_commit::TwoPhaseCommit;
use windlass_check::engine::{self, Model, Options};
use windlass_check::{Faults, Reductions, View, check};

use crate::measure::Explored;
use crate::subject::{Bounds, PairsBounds, Subject};

/// Explores all of a model. Fails if a property does not hold.
pub(crate) fn explore(subject: Subject, bounds: Bounds, threads: usize) -> Result<Explored> {
    let options = all_states(threads);
    match subject {
        Subject::Pairs => pairs(bounds.pairs(), options),
        Subject::TwoPhaseCommit => model(&TwoPhaseCommit::new(bounds.managers), &options),
        // It has no `eventually`, here or there.
        Subject::Paxos => model(&Paxos::new(bounds.clients), &Options { liveness: false, ..options }),
    }
}

fn all_states(threads: usize) -> Options {
    Options { threads, symmetry: false, partial_order: false, ..Options::default() }
}

fn model<M: Model>(model: &M, options: &Options) -> Result<Explored> {
    let exploration = engine::explore(model, options);
    if !exploration.holds() {
        bail!("it ended with {:?}: {:?}", exploration.stop_reason, exploration.violation);
    }
    Ok(Explored { states: exploration.states as u64, transitions: exploration.transitions })
}

fn pairs(bounds: PairsBounds, options: Options) -> Result<Explored> {
    let names = &["a", "b"][..bounds.pairs];
    let mut faults = Faults::none().crashes(bounds.crashes);
    if bounds.duplicates {
        faults = faults.duplicates();
    }
    if bounds.reorders {
        faults = faults.reorders();
    }
    let report = check(TwoConfigMaps)
        .crd(&Pair::crd())
        .given(names.iter().map(|name| pair(name)))
        .faults(faults)
        .always("cm2 implies cm1", |world| {
            names.iter().all(|pair| !has(world, pair, 2) || has(world, pair, 1))
        })
        .eventually("both exist", |world| names.iter().all(|pair| has(world, pair, 1) && has(world, pair, 2)))
        .options(options)
        .reductions(Reductions::none())
        .run();
    if !report.holds() {
        bail!("{report}");
    }
    Ok(Explored { states: report.exploration.states as u64, transitions: report.exploration.transitions })
}

fn has(world: &View<'_>, pair: &str, number: u32) -> bool {
    world.has::<ConfigMap>(&format!("{pair}-cm{number}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theirs::{Order, explore_pairs};

    /// The world was written twice, once by hand: it is the same world with any faults.
    #[test]
    fn both_engines_explore_the_same_world() {
        for pairs in [1, 2] {
            for crashes in [0, 1, 2] {
                for (duplicates, reorders) in [(false, false), (false, true), (true, false), (true, true)] {
                    let bounds = PairsBounds { pairs, crashes, duplicates, reorders };
                    let theirs = explore_pairs(bounds, 2, Order::DepthFirst).unwrap();
                    assert_eq!(super::pairs(bounds, all_states(2)).unwrap(), theirs, "{bounds:?}");
                }
            }
        }
    }
}
