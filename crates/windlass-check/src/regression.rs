//! What a check found as a document, and whether an earlier document is still reproduced.

use windlass_model::{Cluster, Key, Store};

use crate::check::Check;
use crate::engine::Simulation;
use crate::replay::{Replayed, replay};
use crate::report::Report;
use crate::show;
use crate::trace::{BrokenRule, Counterexample, InitialObject, Trace};
use crate::violation::Violation;

impl Check {
    /// How the check failed, under a name to find it again; nothing if the report has no violation.
    pub fn counterexample(&self, name: &str, report: &Report) -> Option<Counterexample> {
        Some(self.document(name, report.violation.as_ref()?))
    }

    /// How random runs failed, under a name to find it again; nothing if they found nothing.
    pub fn simulated_counterexample(&self, name: &str, simulation: &Simulation) -> Option<Counterexample> {
        let (_, violation) = simulation.violation.as_ref()?;
        Some(self.document(name, violation))
    }

    fn document(&self, name: &str, violation: &Violation) -> Counterexample {
        let trace = violation.trace().cloned().unwrap_or_default();
        let repeats = violation.repeats().cloned().unwrap_or_default();
        let first = self.first_objects(&trace, &repeats);
        Counterexample::new(name, &self.bounds(), broken_rule(violation))
            .starting_with(first)
            .with_services(self.service_states().clone())
            .along(trace, repeats)
    }

    /// Walks a counterexample of this check, from now or from an earlier version, through the check's world.
    /// It takes no longer than its steps: nothing is explored.
    pub fn replay(&self, counterexample: &Counterexample) -> Replayed {
        self.with_sound_reductions(|subject| replay(subject, counterexample))
    }

    /// The objects that are there from the start, without those of every cluster that play no part.
    fn first_objects(&self, trace: &Trace, repeats: &Trace) -> Vec<InitialObject> {
        let subject = self.subject();
        let parts = subject.world.parts();
        let steps = || trace.steps.iter().chain(&repeats.steps);
        let changes = |name: &str| steps().flat_map(|step| &step.changes).any(|change| change.object == name);
        let is_parent = |key: &Key| {
            let mut parents =
                parts.setup.processes.iter().map(|process| &process.declaration().parent().resource);
            parents.any(|resource| (&*resource.group, &*resource.plural) == (&*key.group, &*key.plural))
        };
        let empty = Cluster::new();
        let objects = parts.setup.cluster.store().all();
        objects
            // Definitions of kinds are long, and nothing in a check changes them.
            .filter(|(key, _)| &*key.plural != "customresourcedefinitions")
            .map(|(key, value)| (show::object_name(&key), key, value))
            .filter(|(name, key, _)| empty.store().get(key).is_none() || is_parent(key) || changes(name))
            .map(|(object, _, value)| InitialObject { object, value: (*value).clone() })
            .collect()
    }
}

fn broken_rule(violation: &Violation) -> BrokenRule {
    match violation {
        Violation::Always { property, .. } => BrokenRule::always(property),
        Violation::Eventually { property, .. } => BrokenRule::eventually(property),
        Violation::Never { property } => BrokenRule::never(property),
        Violation::Step { message, .. } => BrokenRule::step(message),
        Violation::AtRest { message, .. } => BrokenRule::end(message),
        Violation::Code { bug, .. } => BrokenRule::step(&bug.to_string()),
    }
}
