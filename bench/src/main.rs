//! Measures the checker against stateright. `cargo xtask bench check` builds and runs it.

mod arguments;
mod bars;
mod comparison;
mod measure;
mod ours;
mod show;
mod subject;
mod theirs;

use std::process::ExitCode;

use anyhow::Result;

use arguments::Plan;
use comparison::{Comparison, Row};
use measure::Measurement;
use subject::{ENGINES, Subject};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments::parse(&arguments).and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("check: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(plan: Option<Plan>) -> Result<()> {
    let Some(plan) = plan else {
        print!("{}", arguments::HELP);
        return Ok(());
    };
    if let Some((subject, engine)) = plan.child {
        let measurement = measure::explore(subject, engine, plan.bounds(), plan.threads)?;
        println!("{}", serde_json::to_string(&measurement)?);
        return Ok(());
    }
    let comparisons = compare(&plan)?;
    let verdicts = bars::evaluate(&comparisons);
    if plan.json {
        println!("{:#}", show::json(&plan, &comparisons, &verdicts));
    } else {
        print!("{}", show::table(&plan, &comparisons, &verdicts));
    }
    comparisons.iter().try_for_each(Comparison::agree)
}

/// Measures everything, the engines in turns: what else the machine does meanwhile hits them alike.
fn compare(plan: &Plan) -> Result<Vec<Comparison>> {
    plan.subjects.iter().map(|subject| compare_one(plan, *subject)).collect()
}

fn compare_one(plan: &Plan, subject: Subject) -> Result<Comparison> {
    let mut measured: [Vec<Measurement>; ENGINES.len()] = Default::default();
    for run in 1..=plan.runs {
        for (engine, measured) in ENGINES.into_iter().zip(&mut measured) {
            eprintln!("{}, run {run} of {}: {}", subject.name(), plan.runs, engine.name());
            measured.push(measure::explore_apart(plan, subject, engine)?);
        }
    }
    let rows = ENGINES.into_iter().zip(&measured).map(|(engine, runs)| Row::of_runs(engine, runs));
    Ok(Comparison { subject, rows: rows.collect::<Result<_>>()? })
}
