//! The result, as a table and as JSON.

use serde_json::{Value, json};
use windlass_check::grouped;

use crate::arguments::Plan;
use crate::bars::Verdict;
use crate::comparison::{Comparison, Row};

/// For people.
pub(crate) fn table(plan: &Plan, comparisons: &[Comparison], verdicts: &[Verdict]) -> String {
    let mut text = format!("{} threads, median of {} runs\n", plan.threads, plan.runs);
    for comparison in comparisons {
        text += &format!("\n{}\n", plan.bounds().describe(comparison.subject));
        text += &format!(
            "  {:14} {:>12} {:>13} {:>8} {:>14} {:>12}  ours / theirs: speed, memory\n",
            "", "states", "transitions", "seconds", "transitions/s", "bytes/state"
        );
        for row in &comparison.rows {
            text += &line(comparison, row);
        }
    }
    text += "\n";
    for verdict in verdicts {
        text += &format!("{verdict}\n");
    }
    text
}

fn line(comparison: &Comparison, row: &Row) -> String {
    let ratios = match (comparison.speed_ratio(row), comparison.memory_ratio(row)) {
        (Some(speed), Some(memory)) => format!("{speed:8.2} {memory:8.2}"),
        _ => String::new(),
    };
    format!(
        "  {:14} {:>12} {:>13} {:>8.2} {:>14} {:>12.1}  {ratios}\n",
        row.engine.name(),
        grouped(row.states),
        grouped(row.transitions),
        row.seconds,
        grouped(row.transitions_per_second as u64),
        row.bytes_per_state,
    )
}

/// For tools.
pub(crate) fn json(plan: &Plan, comparisons: &[Comparison], verdicts: &[Verdict]) -> Value {
    let models: Vec<Value> = comparisons
        .iter()
        .map(|comparison| {
            json!({
                "model": comparison.subject.name(),
                "description": plan.bounds().describe(comparison.subject),
                "engines": comparison.rows.iter().map(|row| engine(comparison, row)).collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({ "threads": plan.threads, "runs": plan.runs, "models": models, "bars": verdicts })
}

fn engine(comparison: &Comparison, row: &Row) -> Value {
    let mut engine = json!(row);
    engine["speedRatio"] = json!(comparison.speed_ratio(row));
    engine["memoryRatio"] = json!(comparison.memory_ratio(row));
    engine
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::tests::made_up;
    use crate::subject::Subject;

    #[test]
    fn ratios_are_ours_by_theirs() {
        let plan = crate::arguments::parse(&[]).unwrap().unwrap();
        let comparison = made_up(Subject::Paxos, [(30.0, 5.0), (10.0, 50.0), (20.0, 20.0)]);
        let shown = json(&plan, std::slice::from_ref(&comparison), &[]);
        assert_eq!(shown["models"][0]["engines"][1]["speedRatio"], 3.0);
        assert_eq!(shown["models"][0]["engines"][1]["memoryRatio"], 0.1);
        let text = table(&plan, &[comparison], &[]);
        assert!(text.contains("stateright-bfs"), "{text}");
        assert!(text.lines().any(|line| line.ends_with("3.00     0.10")), "{text}");
    }
}
