//! Explores all states of a model.

use std::sync::atomic::Ordering;

use crate::stopwatch::Stopwatch;
use crate::violation::Violation;

use super::exploration::{Exploration, StopReason};
use super::model::{Model, PropertyKind};
use super::options::{Fairness, Options};
use super::retrace;
use super::search::{Order, Search};
use super::simulate::simulate;
use super::weak_fairness::{TooMany, weakly_fair_miss};

/// Explores all states of a model, and evaluates its properties in them.
///
/// What it says of a model depends only on the model, not on the number of threads; how much was seen before a violation
/// was found, or before a limit was reached, may vary.
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
/// finds a violation, or comes to a limit, is it done again by the number of faults, to see what takes the
/// fewest, or with how many of them all is well; and only if there are faults at all.
pub(super) fn explore_only<M: Model>(model: &M, options: &Options) -> Exploration {
    let watch = Stopwatch::start();
    let mut search = Search::new(model.clone(), options, Order::Steps);
    let (mut stop_reason, mut found) = search.run();
    let mut exploration = summary(model, &search, stop_reason);
    let has_faults = search.workers.iter().any(|worker| worker.faults > 0);
    if has_faults && !matches!(stop_reason, StopReason::Complete | StopReason::Stopped) {
        drop(search);
        search = Search::new(model.without_verdicts(), options, Order::Faults);
        let second = search.run();
        // A model that does not do the same twice may get away with it the second time; a violation stays one.
        if found.is_none() || second.1.is_some() {
            (stop_reason, found) = second;
        }
        // If not even all that needs no fault was seen, what the first search saw says more.
        if search.layers_done > 0 || found.is_some() {
            exploration = summary(model, &search, stop_reason);
        }
    }
    // The traces need the memory.
    drop(search);
    exploration.violation = match found {
        Some(found) => {
            let most = retrace::unreduced_state_limit(exploration.states);
            Some(retrace::violation(model, &found, most, options))
        }
        None => never(&exploration),
    };
    if options.fairness == Fairness::Weak && exploration.holds() {
        match weakly_fair_miss(&mut model.fresh_copy(), options.max_states) {
            Ok(None) => {}
            Ok(missed) => (exploration.stop_reason, exploration.violation) = (StopReason::Violated, missed),
            Err(TooMany) => exploration.stop_reason = StopReason::StateLimit,
        }
    }
    exploration.elapsed = watch.elapsed();
    exploration
}

fn summary<M: Model>(model: &M, search: &Search<M>, stop_reason: StopReason) -> Exploration {
    let mut counts = vec![0; model.kinds().len()];
    for worker in &search.workers {
        counts.iter_mut().zip(&worker.kinds).for_each(|(count, more)| *count += more);
    }
    let properties = model.properties();
    let seen = properties.iter().zip(&search.shared.seen);
    let sometimes = seen.filter(|(property, _)| property.kind == PropertyKind::Sometimes);
    Exploration {
        stop_reason,
        violation: None,
        states: search.shared.store.len() - search.shared.store.held(),
        transitions: search.shared.transitions.load(Ordering::Relaxed),
        depth: search.depth,
        fault_layers: (stop_reason != StopReason::Complete).then_some(search.layers_done),
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
    (exploration.stop_reason == StopReason::Complete).then(|| Violation::Never { property: unseen.0.clone() })
}
