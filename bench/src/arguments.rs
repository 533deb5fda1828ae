//! What the command line asks for.

use anyhow::{Context, Result, bail};

use crate::subject::{Bounds, Engine, SUBJECTS, Subject};

/// The text of `--help`.
pub(crate) const HELP: &str = "\
Measures the checker against stateright: the same models, bounds and number of threads.

Usage: check [OPTIONS]

Options:
  --runs N        measure everything N times, in turns, and take the median (default: 3)
  --threads N     threads of each engine (default: all cores)
  --only MODEL    seed-0, 2pc or paxos; may be given several times
  --quick         smaller bounds, to see that all is in order; the rates say little
  --json          the result as JSON
";

/// A whole comparison.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan {
    pub(crate) runs: usize,
    pub(crate) threads: usize,
    pub(crate) subjects: Vec<Subject>,
    pub(crate) quick: bool,
    pub(crate) json: bool,
    /// Set in a child process: the one exploration that it is there for.
    pub(crate) child: Option<(Subject, Engine)>,
}

impl Plan {
    pub(crate) fn bounds(&self) -> Bounds {
        if self.quick { Bounds::QUICK } else { Bounds::FULL }
    }

    /// The arguments of a child process that measures one exploration.
    pub(crate) fn child_arguments(&self, subject: Subject, engine: Engine) -> Vec<String> {
        let mut arguments: Vec<String> =
            ["--child", subject.name(), engine.name(), "--threads"].map(str::to_owned).to_vec();
        arguments.push(self.threads.to_string());
        if self.quick {
            arguments.push("--quick".to_owned());
        }
        arguments
    }
}

/// Reads the arguments; `None` if help is wanted.
pub(crate) fn parse(arguments: &[String]) -> Result<Option<Plan>> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut plan =
        Plan { runs: 3, threads: cores, subjects: Vec::new(), quick: false, json: false, child: None };
    let mut arguments = arguments.iter().map(String::as_str);
    while let Some(argument) = arguments.next() {
        match argument {
            "--help" | "-h" => return Ok(None),
            "--quick" => plan.quick = true,
            "--json" => plan.json = true,
            "--runs" => plan.runs = number(argument, arguments.next())?,
            "--threads" => plan.threads = number(argument, arguments.next())?,
            "--only" => {
                let name = arguments.next().context("`--only` takes the name of a model")?;
                plan.subjects.push(Subject::from_name(name)?);
            }
            "--child" => {
                let subject = arguments.next().context("`--child` takes a model")?;
                let engine = arguments.next().context("`--child` takes an engine")?;
                plan.child = Some((Subject::from_name(subject)?, Engine::from_name(engine)?));
            }
            other => bail!("`{other}` is not known; see --help"),
        }
    }
    if plan.subjects.is_empty() {
        plan.subjects = SUBJECTS.to_vec();
    }
    Ok(Some(plan))
}

fn number(option: &str, value: Option<&str>) -> Result<usize> {
    match value.map(str::parse) {
        Some(Ok(number)) if number > 0 => Ok(number),
        _ => bail!("`{option}` takes a number above 0"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_line(line: &str) -> Result<Option<Plan>> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_child_gets_the_arguments_of_its_parent() {
        let plan = parse_line("--runs 5 --threads 7 --quick --only paxos").unwrap().unwrap();
        assert_eq!((plan.runs, plan.threads, &*plan.subjects), (5, 7, &[Subject::Paxos][..]));
        let child = parse(&plan.child_arguments(Subject::Pairs, Engine::StaterightDfs)).unwrap().unwrap();
        assert_eq!(child.child, Some((Subject::Pairs, Engine::StaterightDfs)));
        assert_eq!((child.threads, child.bounds()), (7, Bounds::QUICK));
    }

    #[test]
    fn mistakes_are_named() {
        for (line, expected) in [
            ("--runs 0", "`--runs` takes a number above 0"),
            ("--only tla", "there are: seed-0, 2pc, paxos"),
            ("--fast", "`--fast` is not known"),
        ] {
            let message = parse_line(line).unwrap_err().to_string();
            assert!(message.contains(expected), "{line}: {message}");
        }
        assert_eq!(parse_line("--help").unwrap(), None);
    }
}
