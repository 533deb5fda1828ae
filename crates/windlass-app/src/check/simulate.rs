//! Random runs for a given time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use windlass_check::engine::{Simulation, SimulationOptions};

use crate::seed::new_seed;

/// How long it takes at most to notice Ctrl-C.
const GLANCE: Duration = Duration::from_millis(50);

/// Simulates random runs until the time is over, a rule is violated, or the user interrupts it.
pub(super) fn run(
    simulate: impl FnOnce(&SimulationOptions) -> Simulation,
    seconds: usize,
    seed: Option<u64>,
    stop: &Arc<AtomicBool>,
) -> Simulation {
    let over = Arc::new(AtomicBool::new(false));
    let (clock, wanted) = (over.clone(), stop.clone());
    let end = Instant::now() + Duration::from_secs(seconds as u64);
    let timer = thread::spawn(move || {
        while Instant::now() < end && !wanted.load(Ordering::Relaxed) && !clock.load(Ordering::Relaxed) {
            thread::park_timeout(GLANCE);
        }
        clock.store(true, Ordering::Relaxed);
    });
    let options = SimulationOptions {
        seed: seed.unwrap_or_else(new_seed),
        runs: None,
        stop: over.clone(),
        ..SimulationOptions::default()
    };
    let simulation = simulate(&options);
    over.store(true, Ordering::Relaxed);
    timer.thread().unpark();
    // It does nothing that could panic, and nothing depends on it any more.
    let _ = timer.join();
    simulation
}

/// How to go on when everything was too much.
pub(super) fn after_a_limit(seed: Option<u64>, stop: &Arc<AtomicBool>) -> SimulationOptions {
    SimulationOptions {
        seed: seed.unwrap_or_else(new_seed),
        stop: stop.clone(),
        ..SimulationOptions::default()
    }
}
