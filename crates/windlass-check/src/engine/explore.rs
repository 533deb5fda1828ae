//! Explores all states of a model.

use std::sync::atomic::Ordering;

use crate::stopwatch::Stopwatch;

use super::exploration::{Ended, Exploration, Violation};
use super::model::{Model, PropertyKind};
use super::options::{Fairness, Options};
use super::retrace;
use super::search::{Order, Search};
use super::simulate::simulate;
use super::weak_fairness::{TooMany, weakly_fair_miss};

/// Explores all states of a model, and judges them.
///
/// What it says of a model depends on the model alone, not on the number of threads; only how much was seen
/// before something wrong was found may vary, and before a limit was reached.
pub fn explore<M: Model>(model: &M, options: &Options) -> Exploration {
    let mut exploration = explore_only(model, options);
    if let Some(simulation) = options.then_simulate.as_ref().filter(|_| exploration.reached_limit()) {
        exploration.simulation = Some(simulate(model, simulation));
    }
    exploration
}

/// Explores, and does not simulate after a limit.
///
/// Everything is visited by the number of steps first: levels are large then, and keep all threads busy. Only if that
/// finds something wrong, or comes to a limit, is it done again by the number of faults, to see what takes the
/// fewest, or with how many of them all is well; and only if there are faults at all.
pub(super) fn explore_only<M: Model>(model: &M, options: &Options) -> Exploration {
    let watch = Stopwatch::start();
    let mut search = Search::new(model.clone(), options, Order::Steps);
    let (mut ended, mut found) = search.run();
    let mut exploration = summary(model, &search, ended);
    let has_faults = search.workers.iter().any(|worker| worker.faults > 0);
    if has_faults && !matches!(ended, Ended::Complete | Ended::Stopped) {
        drop(search);
        search = Search::new(model.unjudged(), options, Order::Faults);
        let second = search.run();
        // A model that does not do the same twice may get away with it the second time; what was wrong stays wrong.
        if found.is_none() || second.1.is_some() {
            (ended, found) = second;
        }
        // If not even all that needs no fault was seen, what the first search saw says more.
        if search.layers_done > 0 || found.is_some() {
            exploration = summary(model, &search, ended);
        }
    }
    // The traces need the memory.
    drop(search);
    exploration.violation = match found {
        Some(found) => {
            let most = retrace::patience(exploration.states);
            Some(retrace::violation(model, &found, most, options))
        }
        None => never(&exploration),
    };
    if options.fairness == Fairness::Weak && exploration.holds() {
        match weakly_fair_miss(&mut model.afresh(), options.max_states) {
            Ok(None) => {}
            Ok(missed) => (exploration.ended, exploration.violation) = (Ended::Violated, missed),
            Err(TooMany) => exploration.ended = Ended::StateLimit,
        }
    }
    exploration.elapsed = watch.elapsed();
    exploration
}

fn summary<M: Model>(model: &M, search: &Search<M>, ended: Ended) -> Exploration {
    let mut counts = vec![0; model.kinds().len()];
    for worker in &search.workers {
        counts.iter_mut().zip(&worker.kinds).for_each(|(count, more)| *count += more);
    }
    let properties = model.properties();
    let seen = properties.iter().zip(&search.shared.seen);
    let sometimes = seen.filter(|(property, _)| property.kind == PropertyKind::Sometimes);
    Exploration {
        ended,
        violation: None,
        states: search.shared.store.len() - search.shared.store.held(),
        transitions: search.shared.transitions.load(Ordering::Relaxed),
        depth: search.depth,
        fault_layers: (ended != Ended::Complete).then_some(search.layers_done),
        elapsed: search.shared.watch.elapsed(),
        memory: search.memory,
        kinds: model.kinds().iter().copied().zip(counts).collect(),
        sometimes: sometimes.map(|(rule, seen)| (rule.name.clone(), seen.load(Ordering::Relaxed))).collect(),
        ends: search.ends,
        simulation: None,
    }
}

/// A `sometimes` that was never seen to hold, if all states were visited.
fn never(exploration: &Exploration) -> Option<Violation> {
    let unseen = exploration.sometimes.iter().find(|(_, seen)| !seen)?;
    (exploration.ended == Ended::Complete).then(|| Violation::Never { property: unseen.0.clone() })
}
