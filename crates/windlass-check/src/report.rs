//! The verdict of a check, with its bounds.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use windlass::Bug;

use crate::engine::{self, Ended, Exploration, Options, Simulation};
use crate::fault::Faults;
use crate::oracle::Oracle;
use crate::subject::Subject;
use crate::trace::{Trace, numbered};
use crate::vacuity;

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
    /// What is wrong: a property of the user's if one is violated, else a built-in one.
    pub violation: Option<Violation>,
    /// What else is wrong: each rule that is violated, with a trace of its own.
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

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// A state breaks an `always`.
    Always {
        /// The property.
        property: String,
        /// The shortest way there.
        trace: Trace,
    },
    /// A fair run ends up where an `eventually` does not hold.
    Eventually {
        /// The property.
        property: String,
        /// The shortest way there.
        trace: Trace,
        /// What repeats for ever from there; empty if nothing more happens.
        repeats: Trace,
    },
    /// No state satisfies a `sometimes`: the check may be vacuous.
    Never {
        /// The property.
        property: String,
    },
    /// A step that must never happen: a `never between`, or a write that hits the wrong object.
    Step {
        /// What happened.
        message: String,
        /// The shortest way there.
        trace: Trace,
    },
    /// A fair run ends up where a built-in rule is broken.
    AtRest {
        /// Which rule, and how.
        message: String,
        /// The shortest way there.
        trace: Trace,
        /// What repeats for ever from there; empty if nothing more happens.
        repeats: Trace,
    },
    /// The controller's code is wrong in itself.
    Code {
        /// How.
        bug: Bug,
        /// The shortest way there.
        trace: Trace,
    },
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
        let violation = exploration
            .violation
            .take()
            .map(|violation| Violation::from(violation, |message| subject.bug(message)));
        let never_struck = parts.setup.faults.never_struck(&exploration.kinds);
        let is_complete = exploration.ended == Ended::Complete;
        let vacuous = vacuity::never_succeeds(&parts)
            .filter(|_| is_complete && subject.rules().oracles.contains(&Oracle::CanSucceed));
        let simulated = exploration.simulation.as_mut().and_then(|simulation| simulation.violation.clone());
        let simulated = simulated.map(|(_, wrong)| Violation::from(wrong, |message| subject.bug(message)));
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
        self.exploration.ended == Ended::Complete && self.violation.is_none()
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
        match (&self.violation, self.exploration.ended) {
            (Some(_), _) => "VIOLATED",
            (None, Ended::Complete | Ended::Violated) => "holds",
            (None, Ended::StateLimit) => "NOT DECIDED (the state limit was reached)",
            (None, Ended::MemoryLimit) => "NOT DECIDED (the memory was full)",
            (None, Ended::Stopped) => "NOT DECIDED (it was stopped)",
        }
    }
}

impl Violation {
    /// The engine's words; a mistake in code is recognised by its message.
    fn from(violation: engine::Violation, bugs: impl Fn(&str) -> Option<Bug>) -> Self {
        match violation {
            engine::Violation::Always { property, trace } => Violation::Always { property, trace },
            engine::Violation::Eventually { property, trace, repeats } => {
                Violation::Eventually { property, trace, repeats }
            }
            engine::Violation::Never { property } => Violation::Never { property },
            engine::Violation::End { message, trace, repeats } => {
                Violation::AtRest { message, trace, repeats }
            }
            engine::Violation::Wrong { message, trace } => match bugs(&message) {
                Some(bug) => Violation::Code { bug, trace },
                None => Violation::Step { message, trace },
            },
        }
    }

    /// The rule that is violated, in one line: `always "cm2 implies cm1"`.
    pub fn rule(&self) -> String {
        match self {
            Violation::Always { property, .. } => format!("always {property:?}"),
            Violation::Eventually { property, .. } => format!("eventually {property:?}"),
            Violation::Never { property } => format!("sometimes {property:?}"),
            Violation::Step { message, .. } | Violation::AtRest { message, .. } => {
                message.lines().next().unwrap_or_default().to_owned()
            }
            Violation::Code { bug, .. } => bug.reason().to_owned(),
        }
    }

    /// Whether it is of a rule that the user has written, and not of one that every check has.
    pub(crate) fn is_of_the_user(&self) -> bool {
        match self {
            Violation::Always { .. } | Violation::Eventually { .. } | Violation::Never { .. } => true,
            Violation::Step { message, .. } => !message.starts_with('"'),
            Violation::AtRest { .. } => false,
            Violation::Code { .. } => true,
        }
    }

    /// The way to where it shows; empty for what never comes true.
    pub fn trace(&self) -> Option<&Trace> {
        match self {
            Violation::Always { trace, .. }
            | Violation::Eventually { trace, .. }
            | Violation::Step { trace, .. }
            | Violation::AtRest { trace, .. }
            | Violation::Code { trace, .. } => Some(trace),
            Violation::Never { .. } => None,
        }
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

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::Always { property, trace } => {
                write!(f, "always \"{property}\" does not hold after these steps:\n{trace}")
            }
            Violation::Eventually { property, trace, repeats } => {
                let (trace, repeats) = numbered(trace, repeats);
                write!(f, "eventually \"{property}\" does not come true. After these steps:\n{trace}")?;
                write_loop(f, &repeats)
            }
            Violation::AtRest { message, trace, repeats } => {
                let (trace, repeats) = numbered(trace, repeats);
                // The particulars stand on lines of their own.
                let end = if message.contains('\n') { "\n" } else { ". " };
                write!(f, "{message}{end}After these steps:\n{trace}")?;
                write_loop(f, &repeats)
            }
            Violation::Never { property } => {
                writeln!(
                    f,
                    "sometimes \"{property}\" is true in no state: the check shows less than it seems to"
                )
            }
            Violation::Step { message, trace } => {
                write!(f, "{message}, with the last of these steps:\n{trace}")
            }
            Violation::Code { bug, trace } => write!(f, "{bug}\nafter these steps:\n{trace}"),
        }
    }
}

/// Which limit was reached, how far everything was seen, and what to do.
fn limit_note(exploration: &Exploration, options: &Options) -> Option<String> {
    let limit = match exploration.ended {
        Ended::StateLimit => {
            format!("{} states (Check::max_states, --max-states)", grouped(options.max_states as u64))
        }
        Ended::MemoryLimit => {
            format!("{} MiB of memory (Options::memory_bytes)", grouped(options.memory_bytes as u64 >> 20))
        }
        Ended::Complete | Ended::Violated | Ended::Stopped => return None,
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

fn write_loop(f: &mut fmt::Formatter<'_>, repeats: &Trace) -> fmt::Result {
    if repeats.steps.is_empty() {
        writeln!(f, "nothing more happens.")
    } else {
        write!(f, "this repeats for ever:\n{repeats}")
    }
}

/// `2 objects, <= 2 crashes, any reordering`
pub(crate) fn bounds(objects: usize, faults: &Faults) -> String {
    let plural = if objects == 1 { "" } else { "s" };
    format!("{objects} object{plural}, {faults}")
}

/// `1,204,551`
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn groups_digits() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_204_551, "1,204,551")] {
            assert_eq!(super::grouped(number), text);
        }
    }
}
