//! A trace as a timeline for people at a terminal.

use std::fmt;

use super::{Counterexample, RuleKind, Trace, TraceStep, numbered};

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (trace, _) = numbered(self, &Trace::default());
        timeline(f, &trace.steps, 1, &Columns::of(trace.steps.iter()))
    }
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.numbered();
        let columns = Columns::of(shown.all_steps());
        writeln!(f, "{}: {}", shown.check, shown.violation.message)?;
        writeln!(f, "bounds: {}", shown.bounds)?;
        if !shown.initial.is_empty() {
            let names: Vec<&str> = shown.initial.iter().map(|initial| initial.object.as_str()).collect();
            writeln!(f, "at first: {}", names.join(", "))?;
        }
        timeline(f, &shown.steps, 1, &columns)?;
        if !shown.repeats.is_empty() {
            writeln!(f, "this repeats for ever:")?;
            timeline(f, &shown.repeats, shown.steps.len() + 1, &columns)?;
        } else if matches!(shown.violation.kind, RuleKind::Eventually | RuleKind::End) {
            writeln!(f, "nothing more happens.")?;
        }
        Ok(())
    }
}

/// How wide the columns are.
struct Columns {
    /// `! crash`; nothing in a trace without faults.
    fault: usize,
    actor: usize,
}

impl Columns {
    fn of<'a>(steps: impl Iterator<Item = &'a TraceStep>) -> Self {
        let mut columns = Columns { fault: 0, actor: 0 };
        for step in steps {
            columns.fault = columns.fault.max(mark(step).chars().count());
            columns.actor = columns.actor.max(step.actor.chars().count());
        }
        columns
    }
}

/// `! crash` where a fault strikes.
fn mark(step: &TraceStep) -> String {
    step.fault.as_ref().map_or(String::new(), |fault| format!("! {fault}"))
}

fn timeline(f: &mut fmt::Formatter<'_>, steps: &[TraceStep], first: usize, columns: &Columns) -> fmt::Result {
    let Columns { fault, actor } = *columns;
    // Without any fault, there is no column for them.
    let fault = if fault == 0 { 0 } else { fault + 2 };
    let margin = " ".repeat(6 + fault + actor + 2);
    for (number, step) in (first..).zip(steps) {
        // An answer may have several lines: all of them stay in their column.
        let text = step.text.replace('\n', &format!("\n{margin}"));
        writeln!(f, "{number:>4}  {:fault$}{:actor$}  {text}", mark(step), step.actor)?;
        for summary in step.summaries() {
            writeln!(f, "{margin}  {summary}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::trace::counterexample::tests::{sample, step};
    use crate::trace::{Trace, TraceStep};

    #[test]
    fn a_timeline_says_who_did_what_and_where_the_fault_struck() {
        assert_eq!(
            sample().to_string(),
            "\
pairs: eventually \"a is ready\" does not come true
bounds: 1 object, <= 1 crash
at first: pairs default/a
   1           watch  notifies pairs: default/a changed
   2           pairs  create configmaps default/cm1 -> 201
                        + configmaps default/cm1
   3  ! crash  pairs  CRASHES while it reconciles default/a
this repeats for ever:
   4           pairs  create configmaps default/cm1 -> 409 AlreadyExists
"
        );
    }

    #[test]
    fn an_end_without_a_loop_is_said_to_be_one() {
        let mut document = sample();
        document.repeats.clear();
        assert!(document.to_string().ends_with("reconciles default/a\nnothing more happens.\n"));
    }

    #[test]
    fn without_faults_there_is_no_column_for_them() {
        let steps = vec![step("client", None, "create"), step("db", None, "first line\nsecond line")];
        assert_eq!(
            Trace { steps }.to_string(),
            "   1  client  create\n   2  db      first line\n              second line\n"
        );
    }

    #[test]
    fn letters_outside_ascii_do_not_move_columns() {
        let steps: Vec<TraceStep> = vec![step("größe", None, "a"), step("klein", None, "b")];
        assert_eq!(Trace { steps }.to_string(), "   1  größe  a\n   2  klein  b\n");
    }
}
