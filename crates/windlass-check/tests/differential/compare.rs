//! One world, explored in three ways: verdicts must agree, and so must all that is reached.

use std::collections::BTreeSet;

use windlass_check::{Check, Reductions, Report};

use crate::checked::{check, is_not_renumbered, violated, with_rules};
use crate::naive::{self, BUG, Explored};
use crate::record::{Recording, SharedObjects, forbids};
use crate::visible::{Only, Reached};
use crate::world::{Rule, World};

/// How a comparison ended.
pub(crate) enum Compared {
    /// All three say the same.
    Agree(Agreement),
    /// The world has too many states for the naive explorer.
    TooLarge,
    /// They do not; in words.
    Disagree(String),
}

/// What all three say of a world.
pub(crate) struct Agreement {
    /// How many rules are violated.
    pub(crate) violated: usize,
    /// Whether code has a bug, so that the checker ends early and verdicts alone are compared.
    pub(crate) has_bug: bool,
    /// States that were visited naively, with no reductions and with all.
    pub(crate) states: [usize; 3],
}

/// How thoroughly worlds are compared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Depth {
    /// Worlds with more states than this are skipped.
    pub(crate) most_states: usize,
    /// Whether all violated rules are compared, and not only that there is one, and that the first is one of them.
    pub(crate) all_rules: bool,
}

/// Explores a world in three ways. In some worlds only the rules that hold are kept: the checker explores all of them then,
/// and need not do so again to record what it reaches.
pub(crate) fn compare(world: &World, depth: Depth) -> Compared {
    let objects = SharedObjects::new();
    let Some(naive) = naive::explore(world, depth.most_states, &objects) else { return Compared::TooLarge };
    let reached = naive.reached().with_visible_steps(&mut objects.lock());
    let mut violated = naive.violated();
    let mut rules = world.rules.clone();
    if world.keeps_only_rules_that_hold {
        rules.retain(|rule| !violated.contains(rule.name()));
        violated.retain(|name| name == BUG);
    }
    let check = check(world, 10 * depth.most_states);
    let mut comparison = Comparison { world, depth, rules, check, naive, violated, reached, objects };
    let mut states = [comparison.naive.states(), 0, 0];
    for (index, reductions) in [(1, Reductions::none()), (2, Reductions::default())] {
        match comparison.with(reductions) {
            Ok(visited) => states[index] = visited,
            Err(words) => return Compared::Disagree(format!("{words}\n{world}")),
        }
    }
    if let Err(words) = comparison.check_symmetry(states[1]) {
        return Compared::Disagree(format!("{words}\n{world}"));
    }
    let (violated, has_bug) = (comparison.violated.len(), comparison.naive.has_bug());
    Compared::Agree(Agreement { violated, has_bug, states })
}

/// A world, and what the naive explorer says of it.
struct Comparison<'a> {
    world: &'a World,
    depth: Depth,
    rules: Vec<Rule>,
    /// The checker's, without rules.
    check: Check,
    naive: Explored<'a>,
    violated: BTreeSet<String>,
    reached: Reached,
    objects: SharedObjects,
}

/// What the checker has reached, and with which reductions.
struct Run {
    reductions: Reductions,
    reached: Reached,
    states: usize,
}

impl Comparison<'_> {
    /// Compares with the checker, and says how many states it visited.
    fn with(&mut self, reductions: Reductions) -> Result<usize, String> {
        let recording = Recording::default();
        let check = with_rules(recording.added_to(self.check.clone(), &self.objects), &self.rules);
        let check = if self.depth.all_rules { check } else { check.only_first_violation() };
        let report = check.reductions(reductions).run();
        self.compare_verdicts(reductions, &report)?;
        let states = report.states();
        if self.naive.has_bug() {
            return Ok(states);
        }
        let run = match report.violation.is_none() && !is_not_renumbered(&report) && !self.has_twins() {
            true => Run { reductions, reached: recording.take(), states },
            // The checker has ended early, or has begun again with fewer reductions.
            false => self.explored(reductions),
        };
        self.compare_reached(&run)?;
        Ok(run.states)
    }

    fn compare_verdicts(&self, reductions: Reductions, report: &Report) -> Result<(), String> {
        let found = violated(report);
        let agrees = found.as_ref().is_ok_and(|found| {
            let is_enough = !self.depth.all_rules && !found.is_empty() && found.is_subset(&self.violated);
            *found == self.violated || is_enough
        });
        if agrees {
            return Ok(());
        }
        let found = found.map_or_else(|why| why, |found| format!("{found:?}"));
        let naively = &self.violated;
        Err(format!("violated, naively: {naively:?}\nviolated, with {reductions:?}: {found}\n{report}"))
    }

    /// Explores all of the world with the checker, with those reductions that it keeps to by itself. A reduction that
    /// does not fit is found out on the way, when states were reached that are not there.
    fn explored(&self, reductions: Reductions) -> Run {
        let (run, report) = self.explored_once(reductions);
        if is_not_renumbered(&report) {
            return self.explored(Reductions { versions: false, ..reductions });
        }
        if !reductions.symmetry || !self.has_twins() {
            return run;
        }
        // If it makes no difference how many states there are, it was given up, or nothing was merged.
        let (plain, _) = self.explored_once(Reductions { symmetry: false, ..reductions });
        if plain.states == run.states { plain } else { run }
    }

    fn explored_once(&self, reductions: Reductions) -> (Run, Report) {
        let recording = Recording::default();
        let report = recording.added_to(self.check.clone(), &self.objects).reductions(reductions).run();
        (Run { reductions, reached: recording.take(), states: report.states() }, report)
    }

    /// There is one permutation of two parents, so no more than two states are alike: symmetry must leave at least half
    /// of them. (What it merges beyond that may make no difference to what properties see of these worlds, and would
    /// of others.)
    fn check_symmetry(&self, plain: usize) -> Result<(), String> {
        if !self.has_twins() || self.naive.has_bug() {
            return Ok(());
        }
        let (run, _) = self.explored_once(Reductions { symmetry: true, ..Reductions::none() });
        match 2 * run.states >= plain && run.states <= plain {
            true => Ok(()),
            false => Err(format!("of {plain} states, symmetry leaves {}", run.states)),
        }
    }

    /// Whether there are two parents that may be permuted.
    fn has_twins(&self) -> bool {
        self.world.given.iter().filter(|object| object.is_parent).count() == 2
    }

    /// Unless states are renumbered or merged by symmetry, all must be the same, versions and uids included; otherwise,
    /// what these reductions leave out is left out on both sides. If the world looks the same with its parents permuted, what symmetry left
    /// out is put back; otherwise it must have left out nothing.
    fn compare_reached(&mut self, run: &Run) -> Result<(), String> {
        // Views that are behind hold on to old numbers, so nothing is renumbered then.
        let is_renumbered = run.reductions.versions && self.world.budget.stale == 0;
        let is_reduced = is_renumbered || (run.reductions.symmetry && self.has_twins());
        let mut objects = self.objects.lock();
        let mut naive = self.reached.clone();
        let mut found = run.reached.clone().with_visible_steps(&mut objects);
        if is_reduced {
            (naive, found) = (naive.reduced(&mut objects), found.reduced(&mut objects));
        }
        if run.reductions.symmetry && self.has_twins() && naive.clone().closed(&mut objects) == naive {
            found = found.closed(&mut objects);
        }
        drop(objects);
        match (naive.beyond(&found), found.beyond(&naive)) {
            (None, None) => Ok(()),
            (Some(only), _) => Err(self.only_naive(only, run, is_reduced)),
            (None, Some(only)) => Err(self.only_checker(only, run, is_reduced)),
        }
    }

    fn only_naive(&mut self, only: Only, run: &Run, is_reduced: bool) -> String {
        let way = self.naive.way_to(only, is_reduced).unwrap_or_default();
        let (shown, reductions) = (only.show(&self.objects.lock()), run.reductions);
        format!("with {reductions:?} the checker never reaches {shown}naively:\n  {}", way.join("\n  "))
    }

    fn only_checker(&self, only: Only, run: &Run, is_reduced: bool) -> String {
        let check = forbids(self.check.clone(), only, is_reduced, &self.objects).reductions(run.reductions);
        let report = check.only_first_violation().run();
        let (shown, reductions) = (only.show(&self.objects.lock()), run.reductions);
        format!("only the checker, with {reductions:?}, reaches {shown}{report}")
    }
}
