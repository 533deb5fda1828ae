//! What the command line asks for.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

/// The text of `--help`.
pub(crate) const HELP: &str = "\
The chores of this repository.

Usage: cargo xtask TASK

Tasks:
  ci                    all checks but the tests: fmt, clippy, layering, doc, links, words, mutants, examples
  layering              check that the pure crates stay pure and operators stay at the edge
  words                 check that no retired word is used in code or documents
  test [--pure]         all tests, doc tests included; --pure: only those of the pure crates
  types SWAGGER         generate the built-in types from swagger.json in a Kubernetes source tree
  fuzz [--seconds N] [TARGET [FILE]]
                        fuzz one target, or each in turn, for N seconds (default: 60);
                        with FILE, run that one input and stop
  properties [--cases N] [--seed S] [PACKAGE [NAME]]
                        run the property tests on N new cases each (10000 by default), drawn by a seed that is printed;
                        with --seed, draw those of that run again. All other runs draw the same 300 cases
  differential [--worlds N] [--seed S]
                        check N random worlds (10,000 by default), from seed S on, with all reductions, with none and
                        naively: the verdicts must agree
  mutants [NAME...]     break the checker in each way of crates/windlass-check/mutants, or in these, and demand that
                        the test which the mutant names fails
  agreement [--runs N] [--seed S] [--world WORLD]
                        play N random runs of the checker (50 by default), from seed S on, against real processes: they
                        must end where the checker says; WORLD is one of the zoo, such as deleted_by_name:broken, or seed:7
  bench check [--quick] [--runs N] [--threads N] [--only MODEL] [--json]
                        measure the checker against stateright, model by model; takes minutes unless --quick
  bench server [--seconds N] [--clients N] [--watchers N] [--objects N] [--quick] [--json]
                        measure the embedded server against kube-apiserver with etcd; takes minutes unless --quick
  bench runtime [--parents N] [--clients N] [--rounds N] [--only CONTESTANT] [--only-converge] [--quick] [--json]
                        measure the runtime against kube::runtime::Controller on kube-apiserver with etcd; takes minutes
  bench klight [--networks N] [--pods N] [--quick] [--json]
                        measure how klight joins pods into networks, and what a pod costs with few and many
  envtest               build kube-apiserver, etcd and kubectl unless they are there, and print where they are
  python                install the Python clients that tests use unless they are there, and print where they are
  conformance [--only NAME] [--against model,server,kubernetes] [--list] [--record]
                        perform the request scripts against each, and say where they differ from Kubernetes

Examples:
  cargo xtask ci && cargo xtask test     what .ci/run does
  cargo xtask fuzz --seconds 600 model_request
  cargo xtask fuzz model_request fuzz/artifacts/model_request/crash-0123
  cargo xtask mutants lag-unbounded restart-newest-view
  cargo xtask properties --cases 100000 windlass-model unchanged
";

/// One task with its arguments.
#[derive(Debug, PartialEq)]
pub(crate) enum Task {
    /// Show the help.
    Help,
    /// All checks but the tests.
    Ci,
    /// Check what depends on what.
    Layering,
    /// Check the words.
    Words,
    /// Run the tests.
    Test {
        /// Only those of the pure crates.
        pure: bool,
    },
    /// Generate the built-in types.
    Types {
        /// The OpenAPI file.
        swagger: PathBuf,
    },
    /// Run fuzz targets.
    Fuzz(FuzzPlan),
    /// Run property tests on new cases.
    Properties(PropertiesPlan),
    /// Compare the checker with a naive one.
    Differential {
        /// How many worlds.
        worlds: u64,
        /// The seed of the first.
        seed: u64,
    },
    /// Break the checker, and see that a test fails.
    Mutants {
        /// The only mutants; all if there are none.
        names: Vec<String>,
    },
    /// Compare the checker with real processes.
    Agreement(AgreementPlan),
    /// Compare with others.
    Bench(BenchPlan),
    /// Provide a real API server.
    Envtest,
    /// Provide Python clients.
    Python,
    /// Compare with a real API server.
    Conformance {
        /// Arguments of the runner.
        arguments: Vec<String>,
    },
}

/// What to fuzz, and for how long.
#[derive(Debug, PartialEq)]
pub(crate) struct FuzzPlan {
    /// How long each target runs.
    pub(crate) seconds: u64,
    /// The only target; `None` for all.
    pub(crate) target: Option<String>,
    /// The only input to run.
    pub(crate) input: Option<PathBuf>,
}

/// Which property tests to run, and on what.
#[derive(Debug, PartialEq)]
pub(crate) struct PropertiesPlan {
    /// The number of cases of each test, or what stands for it in tests whose cases are quicker or slower.
    pub(crate) cases: u32,
    /// What the cases are drawn by; `None` for a new one.
    pub(crate) seed: Option<u64>,
    /// The only package; `None` for all.
    pub(crate) package: Option<String>,
    /// A part of the names of the tests.
    pub(crate) name: Option<String>,
}

/// Which runs to play.
#[derive(Debug, PartialEq)]
pub(crate) struct AgreementPlan {
    /// How many.
    pub(crate) runs: u64,
    /// The seed of the first.
    pub(crate) seed: u64,
    /// The only world; `None` for that of each seed.
    pub(crate) world: Option<String>,
}

/// What to compare, and how.
#[derive(Debug, PartialEq)]
pub(crate) struct BenchPlan {
    /// The program in `bench/`.
    pub(crate) name: String,
    /// Arguments of the program.
    pub(crate) arguments: Vec<String>,
}

/// Reads the arguments after `cargo xtask`.
pub(crate) fn parse(arguments: &[String]) -> Result<Task> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if arguments.iter().any(|argument| matches!(*argument, "--help" | "-h")) {
        return Ok(Task::Help);
    }
    match arguments.as_slice() {
        [] | ["help"] => Ok(Task::Help),
        ["ci"] => Ok(Task::Ci),
        ["layering"] => Ok(Task::Layering),
        ["words"] => Ok(Task::Words),
        ["envtest"] => Ok(Task::Envtest),
        ["python"] => Ok(Task::Python),
        ["conformance", rest @ ..] => {
            Ok(Task::Conformance { arguments: rest.iter().map(|argument| (*argument).to_owned()).collect() })
        }
        ["test"] => Ok(Task::Test { pure: false }),
        ["test", "--pure"] => Ok(Task::Test { pure: true }),
        ["types", swagger] if !swagger.starts_with('-') => Ok(Task::Types { swagger: swagger.into() }),
        ["types", ..] => {
            bail!("`types` takes one file: cargo xtask types path/to/api/openapi-spec/swagger.json")
        }
        ["fuzz", rest @ ..] => parse_fuzz(rest),
        ["properties", rest @ ..] => parse_properties(rest),
        ["differential", rest @ ..] => parse_differential(rest),
        ["mutants", names @ ..] => match names.iter().find(|name| name.starts_with('-')) {
            Some(option) => bail!("`mutants` has no option `{option}`; see cargo xtask --help"),
            None => Ok(Task::Mutants { names: names.iter().map(|name| (*name).to_owned()).collect() }),
        },
        ["agreement", rest @ ..] => parse_agreement(rest),
        ["bench", name, rest @ ..] if !name.starts_with('-') => {
            let arguments = rest.iter().map(|argument| (*argument).to_owned()).collect();
            Ok(Task::Bench(BenchPlan { name: (*name).to_owned(), arguments }))
        }
        ["bench", ..] => {
            bail!("`bench` takes what to compare: cargo xtask bench check, server, runtime or klight")
        }
        [task @ ("ci" | "layering" | "words" | "test" | "envtest" | "python"), rest @ ..] => {
            bail!("`{task}` does not take `{}`; see cargo xtask --help", rest.join(" "))
        }
        [task, ..] => bail!("there is no task `{task}`; see cargo xtask --help"),
    }
}

fn parse_differential(mut arguments: &[&str]) -> Result<Task> {
    let (mut worlds, mut seed) = (10_000, 1);
    while let [option, rest @ ..] = arguments {
        let target = match *option {
            "--worlds" => &mut worlds,
            "--seed" => &mut seed,
            other => bail!("`differential` has no option `{other}`; see cargo xtask --help"),
        };
        let (number, rest) = rest.split_first().with_context(|| format!("`{option}` takes a number"))?;
        *target = number.parse().with_context(|| format!("`{number}` is not a number"))?;
        arguments = rest;
    }
    Ok(Task::Differential { worlds, seed })
}

fn parse_agreement(mut arguments: &[&str]) -> Result<Task> {
    let mut plan = AgreementPlan { runs: 50, seed: 1, world: None };
    while let [option, rest @ ..] = arguments {
        if !matches!(*option, "--runs" | "--seed" | "--world") {
            bail!("`agreement` has no option `{option}`; see cargo xtask --help");
        }
        let (value, rest) = rest.split_first().with_context(|| format!("`{option}` takes a value"))?;
        let number = || value.parse().with_context(|| format!("`{value}` is not a number"));
        match *option {
            "--runs" => plan.runs = number()?,
            "--seed" => plan.seed = number()?,
            _ => plan.world = Some((*value).to_owned()),
        }
        arguments = rest;
    }
    Ok(Task::Agreement(plan))
}

fn parse_fuzz(mut arguments: &[&str]) -> Result<Task> {
    let mut plan = FuzzPlan { seconds: 60, target: None, input: None };
    while let [first, rest @ ..] = arguments {
        arguments = rest;
        if *first == "--seconds" {
            let (number, rest) = rest.split_first().context("`--seconds` takes a number")?;
            plan.seconds =
                number.parse().with_context(|| format!("`{number}` is not a number of seconds"))?;
            arguments = rest;
        } else if first.starts_with('-') {
            bail!("`fuzz` has no option `{first}`; see cargo xtask --help");
        } else if plan.target.is_none() {
            plan.target = Some((*first).to_owned());
        } else if plan.input.is_none() {
            plan.input = Some(first.into());
        } else {
            bail!("`fuzz` takes one target and one file; `{first}` is too much");
        }
    }
    Ok(Task::Fuzz(plan))
}

fn parse_properties(mut arguments: &[&str]) -> Result<Task> {
    let mut plan = PropertiesPlan { cases: 10_000, seed: None, package: None, name: None };
    while let [first, rest @ ..] = arguments {
        arguments = rest;
        if matches!(*first, "--cases" | "--seed") {
            let (number, rest) = rest.split_first().with_context(|| format!("`{first}` takes a number"))?;
            let not_a_number = || format!("`{number}` is not a number for `{first}`");
            match *first {
                "--cases" => plan.cases = number.parse().with_context(not_a_number)?,
                _ => plan.seed = Some(number.parse().with_context(not_a_number)?),
            }
            arguments = rest;
        } else if first.starts_with('-') {
            bail!("`properties` has no option `{first}`; see cargo xtask --help");
        } else if plan.package.is_none() {
            plan.package = Some((*first).to_owned());
        } else if plan.name.is_none() {
            plan.name = Some((*first).to_owned());
        } else {
            bail!("`properties` takes one package and one name; `{first}` is too much");
        }
    }
    Ok(Task::Properties(plan))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_line(line: &str) -> Result<Task> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn tasks_are_read() {
        let fuzz = |seconds, target: Option<&str>, input: Option<&str>| {
            Task::Fuzz(FuzzPlan {
                seconds,
                target: target.map(str::to_owned),
                input: input.map(PathBuf::from),
            })
        };
        let properties = |cases, seed, package: Option<&str>, name: Option<&str>| {
            let (package, name) = (package.map(str::to_owned), name.map(str::to_owned));
            Task::Properties(PropertiesPlan { cases, seed, package, name })
        };
        let bench = |arguments: &[&str]| {
            let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
            Task::Bench(BenchPlan { name: "check".to_owned(), arguments })
        };
        let agreement = |runs, seed, world: Option<&str>| {
            Task::Agreement(AgreementPlan { runs, seed, world: world.map(str::to_owned) })
        };
        for (line, expected) in [
            ("", Task::Help),
            ("fuzz --help", Task::Help),
            ("ci", Task::Ci),
            ("layering", Task::Layering),
            ("words", Task::Words),
            ("envtest", Task::Envtest),
            ("conformance --list", Task::Conformance { arguments: vec!["--list".to_owned()] }),
            ("test", Task::Test { pure: false }),
            ("test --pure", Task::Test { pure: true }),
            ("mutants", Task::Mutants { names: Vec::new() }),
            ("mutants a b", Task::Mutants { names: vec!["a".to_owned(), "b".to_owned()] }),
            ("types a/b.json", Task::Types { swagger: "a/b.json".into() }),
            ("fuzz", fuzz(60, None, None)),
            ("fuzz --seconds 5 model", fuzz(5, Some("model"), None)),
            ("fuzz model crash --seconds 5", fuzz(5, Some("model"), Some("crash"))),
            ("properties", properties(10_000, None, None, None)),
            ("properties --seed 7 model --cases 5 a", properties(5, Some(7), Some("model"), Some("a"))),
            ("differential", Task::Differential { worlds: 10_000, seed: 1 }),
            ("differential --seed 7 --worlds 5", Task::Differential { worlds: 5, seed: 7 }),
            ("agreement", agreement(50, 1, None)),
            ("agreement --world seed:7 --runs 1 --seed 9", agreement(1, 9, Some("seed:7"))),
            ("bench check", bench(&[])),
            ("bench check --runs 5 --json", bench(&["--runs", "5", "--json"])),
        ] {
            assert_eq!(parse_line(line).unwrap(), expected, "{line}");
        }
    }

    #[test]
    fn mistakes_are_explained() {
        for (line, expected) in [
            ("build", "no task `build`"),
            ("ci --fast", "`ci` does not take `--fast`"),
            ("test --pur", "`test` does not take `--pur`"),
            ("envtest now", "`envtest` does not take `now`"),
            ("types", "takes one file"),
            ("types a b", "takes one file"),
            ("fuzz --seconds", "takes a number"),
            ("fuzz --seconds x", "not a number"),
            ("fuzz --jobs 3", "no option `--jobs`"),
            ("fuzz a b c", "`c` is too much"),
            ("properties --cases", "`--cases` takes a number"),
            ("properties --seed -1", "`-1` is not a number for `--seed`"),
            ("properties --size 3", "no option `--size`"),
            ("properties a b c", "`c` is too much"),
            ("mutants --all", "no option `--all`"),
            ("differential --seed", "`--seed` takes a number"),
            ("differential --worlds x", "`x` is not a number"),
            ("differential 5", "no option `5`"),
            ("agreement --world", "`--world` takes a value"),
            ("agreement --runs x", "`x` is not a number"),
            ("agreement 5", "no option `5`"),
            ("bench", "takes what to compare"),
            ("bench --quick", "takes what to compare"),
        ] {
            let message = format!("{:#}", parse_line(line).unwrap_err());
            assert!(message.contains(expected), "{line}: {message}");
        }
    }
}
