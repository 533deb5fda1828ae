//! What needs no cluster: balance and movement, the directory's memory, and what a membership change costs.

use std::time::Instant;

use windlass_shard::measure::{Change, OBJECTS, grow_and_shrink, million_objects, moved_by_rolling_restart};

use crate::result::{Bar, Results, Row};

/// The random uids of a million objects are drawn for each.
const SEEDS: [u64; 3] = [1, 2, 3];
/// How often a membership change is computed; the fastest is what one core can do.
const CHANGES: usize = 20;

/// Balance at 100 instances with a million objects; the worst of some draws.
pub(crate) fn balance(results: &mut Results) {
    for (weighted, name, bar) in [(false, "unweighted", 1.03), (true, "weights by observed cost", 1.02)] {
        let shown = SEEDS.map(|seed| grow_and_shrink(seed, weighted));
        let worst =
            |of: fn(&windlass_shard::measure::Balance) -> f64| shown.iter().map(of).fold(0.0, f64::max);
        let mut row = |what: &str, figure, bar| {
            results.row(Row::new(&format!("{what}, {name}"), 4, figure).bar(Bar::AtMost(bar)));
        };
        row("balance at 100: max/mean", worst(|shown| shown.imbalance), bar);
        row("moved on a join / ideal", worst(|shown| shown.join), 1.02);
        row("moved on a leave / ideal", worst(|shown| shown.leave), 1.02);
    }
    let moved = moved_by_rolling_restart() as f64;
    results.row(Row::new("slots moved by a rolling restart", 0, moved).bar(Bar::AtMost(0.0)));
}

/// The directory with a million objects.
pub(crate) fn memory(results: &mut Results) {
    let directory = million_objects();
    let bytes = directory.bytes() as f64 / OBJECTS as f64;
    results.row(Row::new("bytes per tracked object, on top of its key", 1, bytes).bar(Bar::AtMost(64.0)));
    let change = Change::default();
    let once = |_| {
        let started = Instant::now();
        std::hint::black_box(change.compute(&directory));
        started.elapsed().as_secs_f64() * 1e3
    };
    let fastest = (0..CHANGES).map(once).fold(f64::INFINITY, f64::min);
    results.row(Row::new("ownership of 1 M objects after a change, ms", 2, fastest).bar(Bar::AtMost(5.0)));
}
