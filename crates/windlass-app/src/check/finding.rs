//! What a check found, for people and for tools.

use std::fmt;

use serde_json::{Value, json};
use windlass_check::engine::{Exploration, Memory, Simulation};
use windlass_check::{Check, Counterexample, Report, Saved, Violation, grouped};

use crate::app::program_name;

use super::numbers::{bytes, per_second};

/// What a check found.
pub(super) struct Finding {
    name: &'static str,
    pub(super) verdict: Verdict,
    /// The verdict, for people.
    said: String,
    bounds: String,
    /// How much was seen, each with a label.
    facts: Vec<(&'static str, String)>,
    /// The same for tools.
    figures: Value,
    pub(super) counterexample: Option<Counterexample>,
    /// The violation of a protocol, with its trace.
    violation: Option<String>,
    /// Where the counterexample went.
    pub(super) saved: Option<Saved>,
}

/// How a check came out, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    Holds,
    Undecided,
    Violated,
}

impl Verdict {
    pub(super) fn exit_code(self) -> u8 {
        match self {
            Verdict::Holds => 0,
            Verdict::Violated => 1,
            Verdict::Undecided => 3,
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Undecided => "undecided",
            Verdict::Violated => "violated",
        }
    }
}

impl Finding {
    /// What exploring everything found.
    pub(super) fn explored(name: &'static str, check: &Check, report: &Report) -> Self {
        let verdict = match &report.violation {
            Some(_) => Verdict::Violated,
            None if report.holds() => Verdict::Holds,
            None => Verdict::Undecided,
        };
        let explored = Finding {
            name,
            verdict,
            said: report.verdict().to_owned(),
            bounds: report.bounds(),
            facts: explored_facts(report),
            figures: explored_figures(report),
            counterexample: check.counterexample(name, report),
            violation: None,
            saved: None,
        };
        match &report.exploration.simulation {
            Some(simulation) => explored.and_then_simulated(Finding::simulated(name, check, simulation)),
            None => explored,
        }
    }

    /// Adds what random runs found after a limit was reached.
    fn and_then_simulated(mut self, simulated: Finding) -> Self {
        self.facts.extend(simulated.facts);
        self.figures["simulation"] = simulated.figures;
        if simulated.verdict == Verdict::Violated {
            self.verdict = simulated.verdict;
            self.said = simulated.said;
            self.counterexample = simulated.counterexample;
            self.violation = simulated.violation;
        } else {
            self.said += "; random runs found nothing";
        }
        self
    }

    /// What random runs found. However many there were, they prove nothing.
    pub(super) fn simulated(name: &'static str, check: &Check, simulation: &Simulation) -> Self {
        Finding {
            counterexample: check.simulated_counterexample(name, simulation),
            ..Finding::of_simulation(name, check.bounds(), simulation)
        }
    }

    fn of_simulation(name: &'static str, bounds: String, simulation: &Simulation) -> Self {
        let runs = grouped(simulation.runs);
        let (verdict, said) = match &simulation.violation {
            Some((seed, _)) => {
                (Verdict::Violated, format!("VIOLATED (again with --simulate 1 --seed {seed})"))
            }
            None => {
                (Verdict::Undecided, "NOT DECIDED (nothing was found, but that proves nothing)".to_owned())
            }
        };
        Finding {
            name,
            verdict,
            said,
            bounds,
            facts: vec![
                ("runs", format!("{runs}, seeds from {}", simulation.seed)),
                ("steps", in_time(simulation.steps, simulation.elapsed)),
            ],
            figures: json!({
                "seed": simulation.seed,
                "runs": simulation.runs,
                "steps": simulation.steps,
                "seconds": simulation.elapsed.as_secs_f64(),
            }),
            counterexample: None,
            violation: None,
            saved: None,
        }
    }

    /// What exploring a world of a protocol found.
    pub(super) fn of_protocol(name: &'static str, about: &str, exploration: &Exploration) -> Self {
        let violation = exploration.violation.as_ref().map(ToString::to_string);
        let verdict = match &violation {
            Some(_) => Verdict::Violated,
            None if exploration.holds() => Verdict::Holds,
            None => Verdict::Undecided,
        };
        let explored = Finding {
            name,
            verdict,
            said: exploration.stop_reason.verdict(violation.is_some()).to_owned(),
            bounds: about.to_owned(),
            facts: size_facts(exploration),
            figures: size_figures(exploration),
            counterexample: None,
            violation,
            saved: None,
        };
        match &exploration.simulation {
            Some(simulation) => {
                explored.and_then_simulated(Finding::of_simulated_protocol(name, about, simulation))
            }
            None => explored,
        }
    }

    /// As a failure, since there must be another number of states.
    pub(super) fn with_other_states(self, expected: usize) -> Self {
        let said = format!(
            "HOLDS IN OTHER STATES ({} were expected: something can no longer happen, or something new can; if that is \
             intended, change the number)",
            grouped(expected as u64)
        );
        Finding { verdict: Verdict::Violated, said, ..self }
    }

    /// What random runs of a protocol found.
    pub(super) fn of_simulated_protocol(name: &'static str, about: &str, simulation: &Simulation) -> Self {
        let violation = simulation.violation.as_ref().map(|(_, violation)| violation.to_string());
        Finding { violation, ..Finding::of_simulation(name, about.to_owned(), simulation) }
    }

    /// What was not even started.
    pub(super) fn not_started(name: &'static str, bounds: String) -> Self {
        Finding {
            name,
            verdict: Verdict::Undecided,
            said: "NOT DECIDED (it was not started)".to_owned(),
            bounds,
            facts: Vec::new(),
            figures: json!({}),
            counterexample: None,
            violation: None,
            saved: None,
        }
    }

    /// For tools.
    pub(super) fn to_json(&self) -> Value {
        let mut document = self.figures.clone();
        document["name"] = json!(self.name);
        document["verdict"] = json!(self.verdict.word());
        document["reason"] = json!(self.said);
        document["bounds"] = json!(self.bounds);
        if let Some(counterexample) = &self.counterexample {
            document["counterexample"] = json!(counterexample);
        }
        if let Some(violation) = &self.violation {
            document["violation"] = json!(violation);
        }
        if let Some(saved) = &self.saved {
            document["files"] = json!({ "json": saved.json, "html": saved.html, "mermaid": saved.mermaid });
        }
        document
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.name)?;
        line(f, "bounds", &self.bounds)?;
        for (label, text) in &self.facts {
            line(f, label, text)?;
        }
        line(f, "verdict", &self.said)?;
        if let Some(violation) = &self.violation {
            return write!(f, "\n{violation}");
        }
        let Some(counterexample) = &self.counterexample else { return Ok(()) };
        write!(f, "\n{counterexample}")?;
        match &self.saved {
            Some(saved) => {
                writeln!(f, "\nto step through it, open {}", saved.html.display())?;
                writeln!(f, "to try it again: {} replay {}", program_name(), saved.json.display())
            }
            None => writeln!(f, "\nto keep it and step through it, add --trace-dir DIR"),
        }
    }
}

fn line(f: &mut fmt::Formatter<'_>, label: &str, text: &str) -> fmt::Result {
    writeln!(f, "  {label:11}  {text}")
}

fn size_facts(exploration: &Exploration) -> Vec<(&'static str, String)> {
    let states = grouped(exploration.states as u64);
    vec![
        ("states", format!("{states}, {} steps deep", exploration.depth)),
        ("transitions", in_time(exploration.transitions, exploration.elapsed)),
        ("memory", memory_in_words(&exploration.memory, exploration.states)),
    ]
}

fn size_figures(exploration: &Exploration) -> Value {
    json!({
        "states": exploration.states,
        "transitions": exploration.transitions,
        "depth": exploration.depth,
        "seconds": exploration.elapsed.as_secs_f64(),
        "memoryBytes": exploration.memory.total,
    })
}

fn explored_facts(report: &Report) -> Vec<(&'static str, String)> {
    let mut facts = size_facts(&report.exploration);
    // One below the other, under one label.
    let labels = std::iter::once("rules").chain(std::iter::repeat(""));
    facts.extend(labels.zip(report.rules.iter().cloned()));
    let never = |fault: &&str| ("note", format!("a {fault} was allowed, but never possible"));
    facts.extend(report.never_struck.iter().map(never));
    facts.extend(report.notes.iter().map(|note| ("note", note.clone())));
    let also = |violation: &Violation| ("also", violation.rule());
    facts.extend(report.further.iter().map(also));
    facts
}

fn explored_figures(report: &Report) -> Value {
    let mut figures = size_figures(&report.exploration);
    figures["executions"] = json!(report.executions);
    figures["rules"] = json!(report.rules);
    figures["neverStruck"] = json!(report.never_struck);
    figures["notes"] = json!(report.notes);
    figures["alsoViolated"] = json!(report.further.iter().map(Violation::rule).collect::<Vec<_>>());
    figures
}

fn in_time(count: u64, elapsed: std::time::Duration) -> String {
    format!("{} in {:.1} s, {}", grouped(count), elapsed.as_secs_f64(), per_second(count, elapsed))
}

fn memory_in_words(memory: &Memory, states: usize) -> String {
    // Of a few states, what they are made of takes more than they do.
    if states < 10_000 {
        return bytes(memory.total);
    }
    format!("{}, {:.0} bytes a state", bytes(memory.total), memory.per_state(states))
}
