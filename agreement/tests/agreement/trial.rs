//! A run of the checker that can be played, and what may become of it.

use agreement::World;
use windlass_check::{Event, FinalState, FinalStates, Schedule, Stage};

use crate::budget::Budget;
use crate::play::Played;

/// How many steps a run has in the checker.
const STEPS: usize = 80;
/// A run without a fault, or without a write, shows little: maximum number of runs that are drawn to find another.
const DRAWS: u64 = 20;
/// Worlds with more states than this are skipped.
const MAX_STATES: usize = 10_000;
/// Caches are behind now and then, even if no fault makes them so: by this many writes, at most.
const NATURAL_LAG: u8 = 2;

/// A run that can be played.
pub(crate) struct Trial {
    pub(crate) world: World,
    pub(crate) seed: u64,
    /// How often each fault may strike.
    pub(crate) budget: Budget,
    pub(crate) stage: Stage,
    pub(crate) schedule: Schedule,
    /// Where runs of this world end, says the checker.
    pub(crate) ends: Vec<FinalState>,
}

/// Whether an end is possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Possible {
    /// It is.
    Yes,
    /// If caches are behind for a while, which the check of the world does not say.
    WithLag,
    /// It is not: the checker and the real thing disagree.
    No,
}

impl Trial {
    /// A random run of a world, with faults that the seed chooses; `None` if the world cannot be played, has no ends that are known, or no run of it with
    /// this seed is worth it.
    pub(crate) fn draw(world: &World, seed: u64) -> Option<Self> {
        let budget = Budget::of(seed / 2);
        let check = world.check().faults(budget.faults());
        let stage = check.stage();
        if world.is_not_for_real_processes() || !is_playable(&stage) {
            return None;
        }
        let FinalStates::All(ends) = check.final_states(MAX_STATES) else { return None };
        let seeds = (0..DRAWS).map(|draw| seed.wrapping_mul(DRAWS).wrapping_add(draw));
        let schedule = seeds.map(|seed| check.random_schedule(seed, STEPS)).find(is_worth_it)?;
        Some(Trial { world: world.clone(), seed, budget, stage, schedule, ends })
    }

    /// Whether the end of a run is one of those that the checker knows.
    pub(crate) fn evaluate(&self, played: &Played) -> Possible {
        if self.ends.contains(&played.end) {
            return Possible::Yes;
        }
        let lagging = self.world.check().faults(self.budget.faults().stale(NATURAL_LAG));
        match lagging.final_states(MAX_STATES) {
            FinalStates::All(ends) if ends.contains(&played.end) => Possible::WithLag,
            _ => Possible::No,
        }
    }

    /// How many faults the run has.
    pub(crate) fn faults(&self) -> usize {
        self.schedule.events.iter().filter(|event| event.is_fault()).count()
    }

    /// The command that plays it again.
    pub(crate) fn again(&self) -> String {
        format!("again: cargo xtask agreement --runs 1 --seed {} --world {}", self.seed, self.world)
    }

    /// A disagreement in words.
    pub(crate) fn disagreement(&self, played: &Played) -> String {
        let events: Vec<String> = played.events.iter().map(|event| format!("  {event}\n")).collect();
        let ends: Vec<String> = self.ends.iter().map(|end| format!("possible:\n{end}\n")).collect();
        format!(
            "{}, seed {}: the real thing ended where the checker says it cannot\n{}faults: {}\nevents:\n{}\
             not as in the schedule: {:#?}\nended in:\n{}\n{}{}",
            self.world,
            self.seed,
            self.world.in_words(),
            self.stage.faults,
            events.concat(),
            played.divergences,
            played.end,
            ends.concat(),
            self.again(),
        )
    }
}

/// Whether a world is made of nothing but processes, an API server and clients that wait for nothing.
pub(crate) fn is_playable(stage: &Stage) -> bool {
    stage.services.is_empty() && stage.scripts.iter().flatten().all(Option::is_some)
}

fn is_worth_it(schedule: &Schedule) -> bool {
    let is_write = |event: &Event| matches!(event, Event::Reply { .. } | Event::Late { .. });
    let events = &schedule.events;
    events.iter().any(Event::is_fault)
        && events.iter().any(is_write)
        && !events.iter().any(|event| matches!(event, Event::Other(_)))
}
