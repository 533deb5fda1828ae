//! The real thing agrees with the checker: runs of the checker, of the zoo's worlds and of generated ones, are played
//! against real processes, and where these end is among the ends that the checker says are possible.
//!
//! Each run is played as the checker has drawn it, and then with other choices, drawn from what is possible on the wire.
//! The first shows that what the checker foresees is real, the others that it forgets nothing.
//!
//! The controllers run in processes of their own, on the embedded server, and are really killed; a proxy between the two
//! holds requests back, delivers them late or twice, and loses answers.
//!
//! `WINDLASS_AGREEMENT=50` plays 50 runs instead of 10, `WINDLASS_SEED` is the seed of the first, and
//! `WINDLASS_WORLD` names the only world that is played. `WINDLASS_SHOW_EVENTS` shows what is played,
//! `WINDLASS_SHOW_PROCESSES` what the processes say.

mod budget;
mod cluster;
mod counterexamples;
mod http;
mod play;
mod process;
#[path = "../../../crates/windlass-check/tests/differential/random.rs"]
mod random;
mod trial;
mod wire;

use std::time::Instant;

use agreement::{World, zoo_worlds};
use anyhow::Result;

use play::{Played, play, wander};
use trial::{Possible, Trial};

/// How many runs are played by default: as many as a test run has time for.
const RUNS: u64 = 10;
/// How many other runs are drawn on the wire for each run, on demand; by default one is.
const WANDERS: u64 = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn real_processes_end_where_the_checker_says() -> Result<()> {
    let wanted = number("WINDLASS_AGREEMENT");
    let (runs, wanders) = (wanted.unwrap_or(RUNS), wanted.map_or(1, |_| WANDERS));
    let first = number("WINDLASS_SEED").unwrap_or(1);
    let only: Option<World> = std::env::var("WINDLASS_WORLD").ok().map(|name| name.parse()).transpose()?;
    let mut tally = Tally::default();
    for seed in first.. {
        if tally.played >= runs || tally.skipped > 20 * runs {
            break;
        }
        let world = only.clone().unwrap_or_else(|| world_of(seed));
        let start = Instant::now();
        let Some(trial) = Trial::draw(&world, seed) else {
            tally.skipped += 1;
            continue;
        };
        let explored = start.elapsed();
        let played = play(&trial).await.map_err(|error| error.context(trial.again()))?;
        let mut results = vec![tally.evaluate(&trial, &played)];
        tally.count(&trial, &played);
        for number in 0..wanders {
            let wandered = wander(&trial, number).await.map_err(|error| error.context(trial.again()))?;
            results.push(tally.evaluate(&trial, &wandered));
        }
        println!(
            "seed {seed}, {world}, {}: {results:?}, of {} ends; {} events, {} diverged; explored in {explored:.1?}, \
             played in {:.1?}",
            trial.stage.faults,
            trial.ends.len(),
            played.events.len(),
            played.divergences.len(),
            start.elapsed() - explored,
        );
    }
    println!("{tally:?}");
    assert!(
        tally.disagreeing.is_empty(),
        "the checker and the real thing disagree: {:#?}",
        tally.disagreeing
    );
    assert_eq!(tally.played, runs, "too many worlds cannot be played: {tally:?}");
    Ok(())
}

/// The world of a seed: in turn one of the zoo, and one that is drawn from the seed.
fn world_of(seed: u64) -> World {
    let zoo = zoo_worlds();
    match seed % 2 {
        0 => World::Seed(seed),
        _ => zoo[(seed / 2) as usize % zoo.len()].clone(),
    }
}

/// What was played.
#[derive(Debug, Default)]
struct Tally {
    played: u64,
    skipped: u64,
    /// Runs in which every event happened as in the checker, and all objects were then the same.
    in_step: u64,
    /// Ends that are possible only if caches are behind.
    with_lag: u64,
    /// Faults of the runs that the checker has drawn.
    faults: usize,
    disagreeing: Vec<String>,
}

impl Tally {
    fn count(&mut self, trial: &Trial, played: &Played) {
        self.played += 1;
        self.faults += trial.faults();
        self.in_step += u64::from(played.is_in_step);
    }

    fn evaluate(&mut self, trial: &Trial, run: &Played) -> Possible {
        let possible = trial.evaluate(run);
        self.with_lag += u64::from(possible == Possible::WithLag);
        if possible == Possible::No {
            println!("{}", trial.disagreement(run));
            self.disagreeing.push(trial.again());
        }
        possible
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}
