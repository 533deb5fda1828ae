//! What a check found as a document, and whether a document from before still shows something wrong.

use windlass_model::{Cluster, Key, Store};

use crate::check::Check;
use crate::engine::{self, Simulation};
use crate::replay::{Replayed, replay};
use crate::report::{Report, Violation};
use crate::show;
use crate::trace::{Counterexample, InitialObject, Trace, Wrong};

impl Check {
    /// How the check failed, under a name to find it again; nothing if the report has no violation.
    pub fn counterexample(&self, name: &str, report: &Report) -> Option<Counterexample> {
        let violation = report.violation.as_ref()?;
        let (wrong, repeats) = match violation {
            Violation::Always { property, .. } => (Wrong::always(property), None),
            Violation::Eventually { property, repeats, .. } => (Wrong::eventually(property), Some(repeats)),
            Violation::Never { property } => (Wrong::never(property), None),
            Violation::Step { message, .. } => (Wrong::step(message), None),
            Violation::AtRest { message, repeats, .. } => (Wrong::end(message), Some(repeats)),
            Violation::Code { bug, .. } => (Wrong::step(&bug.to_string()), None),
        };
        Some(self.document(name, wrong, violation.trace(), repeats))
    }

    /// How random runs failed, under a name to find it again; nothing if they found nothing.
    pub fn simulated_counterexample(&self, name: &str, simulation: &Simulation) -> Option<Counterexample> {
        let (_, violation) = simulation.violation.as_ref()?;
        let (wrong, trace, repeats) = match violation {
            engine::Violation::Always { property, trace } => (Wrong::always(property), Some(trace), None),
            engine::Violation::Eventually { property, trace, repeats } => {
                (Wrong::eventually(property), Some(trace), Some(repeats))
            }
            engine::Violation::Never { property } => (Wrong::never(property), None, None),
            engine::Violation::End { message, trace, repeats } => {
                (Wrong::end(message), Some(trace), Some(repeats))
            }
            engine::Violation::Wrong { message, trace } => (Wrong::step(message), Some(trace), None),
        };
        Some(self.document(name, wrong, trace, repeats))
    }

    fn document(
        &self,
        name: &str,
        wrong: Wrong,
        trace: Option<&Trace>,
        repeats: Option<&Trace>,
    ) -> Counterexample {
        let (trace, repeats) = (trace.cloned().unwrap_or_default(), repeats.cloned().unwrap_or_default());
        let first = self.first_objects(&trace, &repeats);
        Counterexample::new(name, &self.bounds(), wrong)
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
