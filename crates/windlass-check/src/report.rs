//! The verdict of a check, with its bounds.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::engine::{Exploration, Options, Simulation, StopReason};
use crate::fault::Faults;
use crate::grouped::grouped;
use crate::oracle::Oracle;
use crate::subject::Subject;
use crate::vacuity;
use crate::violation::Violation;

/// What a check found.
#[derive(Clone, Debug)]
pub struct Report {
    /// The controllers that were checked.
    pub controllers: String,
    /// What was allowed to go wrong.
    pub faults: Faults,
    /// How many objects there were at first or are created by clients.
    pub objects: usize,
    /// The rules that were checked.
    pub rules: Vec<String>,
    /// How often controller code was run.
    pub executions: u64,
    /// How many distinct parts the states are made of.
    pub parts: String,
    /// The violation: of a property of the user's if there is one, else of a built-in rule.
    pub violation: Option<Violation>,
    /// Violations of further rules, each with a trace of its own.
    pub further: Vec<Violation>,
    /// The distinct sets of objects in which fair runs end up, as JSON lines without what only counts writes.
    pub ends: Vec<String>,
    /// Where in a reconcile crashes struck: the state and the request that was under way.
    pub crash_points: BTreeSet<String>,
    /// Faults that were allowed and could never strike: the check shows less than it seems to.
    pub never_struck: Vec<&'static str>,
    /// By kind: the most writes to one object that a controller's caches were behind, if they can be.
    pub oldest_views: BTreeMap<String, usize>,
    /// What else should be known to read the verdict rightly.
    pub notes: Vec<String>,
    /// Scripts of clients that wait for something that may never come: what they do after it is not checked there.
    pub unfinished_scripts: Vec<String>,
    /// How much was explored, and how.
    pub exploration: Exploration,
}

impl Report {
    pub(crate) fn new(
        subject: &Subject,
        objects: usize,
        options: &Options,
        mut exploration: Exploration,
        mut notes: Vec<String>,
    ) -> Self {
        let unfinished_scripts = subject.unfinished_scripts();
        let parts = subject.world.parts();
        let mut names: Vec<&str> = parts.setup.processes.iter().map(windlass::Controller::name).collect();
        names.dedup();
        let violation =
            exploration.violation.take().map(|violation| violation.with_bug(|message| subject.bug(message)));
        let never_struck = parts.setup.faults.never_struck(&exploration.kinds);
        let is_complete = exploration.stop_reason == StopReason::Complete;
        let vacuous = vacuity::never_succeeds(&parts)
            .filter(|_| is_complete && subject.rules().oracles.contains(&Oracle::CanSucceed));
        let simulated = exploration.simulation.as_mut().and_then(|simulation| simulation.violation.clone());
        let simulated = simulated.map(|(_, found)| found.with_bug(|message| subject.bug(message)));
        let violation = violation.or(vacuous.map(|property| Violation::Never { property })).or(simulated);
        if is_complete {
            notes.extend(vacuity::notes(&parts));
        }
        let panicked = |(property, message)| format!("the property {property:?} panicked: {message}");
        notes.extend(subject.panics().into_iter().map(panicked));
        notes.extend(limit_note(&exploration, options));
        notes.extend(exploration.simulation.as_ref().map(simulation_note));
        Report {
            controllers: names.join(", "),
            faults: parts.setup.faults.clone(),
            objects,
            rules: subject.rules().names(),
            executions: parts.steps.executions,
            parts: parts.sizes(),
            violation,
            further: Vec::new(),
            ends: subject.ends(),
            crash_points: parts.crash_points.clone(),
            oldest_views: parts.views.oldest(),
            never_struck: if is_complete { never_struck } else { Vec::new() },
            notes,
            unfinished_scripts,
            exploration,
        }
    }

    /// What the user asked for says more than what is always asked.
    pub(crate) fn put_users_first(&mut self) {
        let mut all: Vec<Violation> =
            self.violation.take().into_iter().chain(self.further.drain(..)).collect();
        all.sort_by_key(|violation| !violation.is_of_the_user());
        let mut all = all.into_iter();
        self.violation = all.next();
        self.further = all.collect();
    }

    /// Whether everything holds, in every state within the bounds.
    pub fn holds(&self) -> bool {
        self.exploration.stop_reason == StopReason::Complete && self.violation.is_none()
    }

    /// Distinct states of the world.
    pub fn states(&self) -> usize {
        self.exploration.states
    }

    /// The bounds in words: `2 objects, <= 2 crashes, any reordering`.
    pub fn bounds(&self) -> String {
        bounds(self.objects, &self.faults)
    }

    /// The verdict in words.
    pub fn verdict(&self) -> &'static str {
        self.exploration.stop_reason.verdict(self.violation.is_some())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: {} for {}: {} states, {} transitions, {:.1} s; controller code ran {} times",
            self.controllers,
            self.verdict(),
            self.bounds(),
            grouped(self.exploration.states as u64),
            grouped(self.exploration.transitions),
            self.exploration.elapsed.as_secs_f64(),
            grouped(self.executions),
        )?;
        for fault in &self.never_struck {
            writeln!(
                f,
                "note: a {fault} was allowed, but never possible: the check shows less than it seems to"
            )?;
        }
        if !self.oldest_views.is_empty() {
            let views = self.oldest_views.iter();
            let views: Vec<String> = views.map(|(kind, writes)| format!("{kind} {writes}")).collect();
            writeln!(f, "oldest views reached, in writes to one object: {}", views.join(", "))?;
        }
        for script in &self.unfinished_scripts {
            writeln!(f, "note: {script}; what it would do after that is not checked")?;
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        match &self.violation {
            None => {}
            Some(violation) => write!(f, "{violation}")?,
        }
        for violation in &self.further {
            write!(f, "\nalso: {violation}")?;
        }
        Ok(())
    }
}

/// Which limit was reached, how far everything was seen, and what to do.
fn limit_note(exploration: &Exploration, options: &Options) -> Option<String> {
    let limit = match exploration.stop_reason {
        StopReason::StateLimit => {
            format!("{} states (Check::max_states, --max-states)", grouped(options.max_states as u64))
        }
        StopReason::MemoryLimit => {
            format!("{} MiB of memory (Options::memory_bytes)", grouped(options.memory_bytes as u64 >> 20))
        }
        StopReason::Complete | StopReason::Violated | StopReason::Stopped => return None,
    };
    let seen = match exploration.fault_layers {
        None | Some(0) => format!("up to {} steps deep", exploration.depth),
        Some(1) => "everything that needs no fault was seen".to_owned(),
        Some(layers) => format!("everything that needs at most {} faults was seen", layers - 1),
    };
    Some(format!(
        "the limit of {limit} was reached; {seen}. Make the world smaller (fewer objects, faults or scripts), raise the \
         limit, or draw more random runs: Check::simulate, Options::then_simulate"
    ))
}

/// What random runs have shown after a limit was reached.
fn simulation_note(simulation: &Simulation) -> String {
    let (runs, seed) = (grouped(simulation.runs), simulation.seed);
    match &simulation.violation {
        Some((seed, _)) => format!("what is violated was found by a random run, that of seed {seed}"),
        None => {
            format!("{runs} random runs after that, from seed {seed} on, found nothing, which proves nothing")
        }
    }
}

/// `2 objects, <= 2 crashes, any reordering`
pub(crate) fn bounds(objects: usize, faults: &Faults) -> String {
    let plural = if objects == 1 { "" } else { "s" };
    format!("{objects} object{plural}, {faults}")
}
