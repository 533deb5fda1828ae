//! `check` of a protocol: its worlds, one by one.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use windlass_check::engine::Options;

use super::finding::Finding;
use super::{CheckArguments, MAX_STATES, by_name, options, progress, simulate};
use crate::app_check::{AppCheck, CheckSubject};
use crate::protocol::ProtocolWorld;

fn worlds(known: &AppCheck) -> &[ProtocolWorld] {
    match &known.subject {
        CheckSubject::Protocol(worlds) => worlds,
        CheckSubject::Controllers(_) => &[],
    }
}

/// The names of the worlds of a protocol; none for controllers.
pub(super) fn names(known: &AppCheck) -> Vec<&'static str> {
    worlds(known).iter().map(|world| world.name).collect()
}

/// Whether there is such a check, or such a world of a protocol: `sharding/2x2-crash`.
pub(super) fn is_known(checks: &[AppCheck], name: &str) -> bool {
    match name.split_once('/') {
        None => by_name(checks, name).is_some(),
        Some((protocol, world)) => {
            by_name(checks, protocol).is_some_and(|known| names(known).contains(&world))
        }
    }
}

/// Prints the worlds of a protocol, one in a line.
pub(super) fn list(out: &mut impl Write, known: &AppCheck, indent: usize) -> io::Result<()> {
    for world in worlds(known) {
        let note = if world.is_large { " (takes minutes: only with --large, or by its name)" } else { "" };
        writeln!(out, "{:indent$}  - {}/{}: {}{note}", "", known.name, world.name, world.about)?;
    }
    Ok(())
}

/// The worlds that are asked for: those that are named, or all that do not take long.
pub(super) fn chosen<'a>(
    protocol: &str,
    worlds: &'a [ProtocolWorld],
    arguments: &CheckArguments,
) -> Vec<&'a ProtocolWorld> {
    let named = |world: &&ProtocolWorld| {
        arguments.names.iter().any(|name| name.split_once('/') == Some((protocol, world.name)))
    };
    let whole = arguments.names.is_empty() || arguments.names.iter().any(|name| name == protocol);
    let all = worlds.iter().filter(|world| whole && (arguments.large || !world.is_large) || named(world));
    all.collect()
}

/// Explores one world, or simulates runs in it.
pub(super) fn check_one(
    world: &ProtocolWorld,
    arguments: &CheckArguments,
    stop: &Arc<AtomicBool>,
) -> Finding {
    if stop.load(Ordering::Relaxed) {
        return Finding::not_started(world.name, world.about.clone());
    }
    if let Some(seconds) = arguments.simulate {
        let simulation = simulate::run(&*world.simulate, seconds, arguments.seed, stop);
        return Finding::of_simulated_protocol(world.name, &world.about, &simulation);
    }
    let most_expected = MAX_STATES.max(world.states.map_or(0, |states| states * 2));
    let options = Options {
        max_states: arguments.max_states.unwrap_or(most_expected),
        symmetry: !arguments.no_symmetry,
        partial_order: !arguments.no_partial_order,
        subsumption: !arguments.no_subsumption,
        ..options(world.name, arguments, stop)
    };
    let exploration = (world.explore)(&options);
    progress::clear();
    let finding = Finding::of_protocol(world.name, &world.about, &exploration);
    let is_reduced = options.symmetry && options.partial_order && options.subsumption;
    match world.states.filter(|_| is_reduced && exploration.holds()) {
        Some(states) if states != exploration.states => finding.with_other_states(states),
        _ => finding,
    }
}
