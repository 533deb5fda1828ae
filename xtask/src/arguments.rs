//! The command line: every task with its arguments, its help and an example.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// The chores of this repository.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
#[command(after_help = "Examples:
  cargo xtask ci && cargo xtask test     what .ci/run does
  cargo xtask fuzz --help                what a task takes, with an example")]
pub(crate) struct Arguments {
    /// What to do; without it, the help is shown.
    #[command(subcommand)]
    pub(crate) task: Option<Task>,
}

/// One task with its arguments.
#[derive(Debug, PartialEq, Subcommand)]
pub(crate) enum Task {
    /// Run all checks but the tests: fmt, clippy, layering, doc, links, words, mutants, examples
    #[command(after_help = "Example: cargo xtask ci")]
    Ci,
    /// Check that the pure crates stay pure and operators stay at the edge
    #[command(after_help = "Example: cargo xtask layering")]
    Layering,
    /// Check that the links in all documents lead to files and headings
    #[command(after_help = "Example: cargo xtask links")]
    Links,
    /// Check that no retired word is used in code or documents
    #[command(after_help = "Example: cargo xtask words")]
    Words,
    /// Run all tests, doc tests and conformance scripts included
    #[command(after_help = "Example: cargo xtask test --pure")]
    Test {
        /// Only the tests of the pure crates
        #[arg(long)]
        pure: bool,
    },
    /// Generate the built-in types from swagger.json in a Kubernetes source tree
    #[command(after_help = "Example: cargo xtask types kubernetes/api/openapi-spec/swagger.json")]
    Types {
        /// The OpenAPI v2 file
        swagger: PathBuf,
    },
    /// Fuzz one target, or each in turn
    #[command(after_help = "Examples:
  cargo xtask fuzz --seconds 600 model_request
  cargo xtask fuzz model_request fuzz/artifacts/model_request/crash-0123")]
    Fuzz(FuzzPlan),
    /// Run the property tests on new cases, drawn by a seed that is printed
    #[command(after_help = "All other runs draw the same 300 cases.\n
Example: cargo xtask properties --cases 100000 windlass-model unchanged")]
    Properties(PropertiesPlan),
    /// Check random worlds with all reductions, with none and naively: the verdicts must agree
    #[command(after_help = "Example: cargo xtask differential --worlds 100 --seed 7")]
    Differential {
        /// How many worlds to check
        #[arg(long, value_name = "N", default_value_t = 10_000)]
        worlds: u64,
        /// The seed of the first world
        #[arg(long, value_name = "S", default_value_t = 1)]
        seed: u64,
    },
    /// Break the checker in each way of crates/windlass-check/mutants, and demand that a test fails
    #[command(after_help = "Example: cargo xtask mutants lag-unbounded restart-newest-view")]
    Mutants {
        /// The only mutants to try [default: all]
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
    /// Play random runs of the checker against real processes: they must end where the checker says
    #[command(after_help = "Example: cargo xtask agreement --world deleted_by_name:broken --runs 1")]
    Agreement(AgreementPlan),
    /// Run real instances of a sharded controller under faults, and audit the history: one writer each, nothing lost
    #[command(after_help = "Servers and registries share the minutes.\n
Examples:
  cargo xtask chaos --minutes 20
  cargo xtask chaos --minutes 2 --server embedded --registry api --seed 7")]
    Chaos(ChaosPlan),
    /// Measure against others; takes minutes unless --quick
    #[command(after_help = "Options of each comparison:
  check    [--quick] [--runs N] [--threads N] [--only MODEL] [--json]
  server   [--seconds N] [--clients N] [--watchers N] [--objects N] [--quick] [--json]
  runtime  [--parents N] [--clients N] [--rounds N] [--only CONTESTANT] [--only-converge] [--quick] [--json]
  klight   [--networks N] [--pods N] [--quick] [--json]
  mizar    [--endpoints N] [--networks N] [--bouncers N] [--droplets N] [--quick] [--json]
  shard    [--only PART] [--instances N] [--parents N] [--rounds N] [--repetitions N] [--quick] [--json]
           PART: balance, memory, throughput, failover\n
Examples:
  cargo xtask bench check --quick --json
  cargo xtask bench shard --only failover --repetitions 10")]
    Bench(BenchPlan),
    /// Build kube-apiserver, etcd and kubectl unless they are there, and print where they are
    #[command(after_help = "Example: cargo xtask envtest")]
    Envtest,
    /// Install the Python clients that tests use unless they are there, and print where they are
    #[command(after_help = "Example: cargo xtask python")]
    Python,
    /// Perform the request scripts against model, server and Kubernetes, and say where they differ
    #[command(after_help = "Examples:
  cargo xtask conformance --only apply/ --against model,kubernetes
  cargo xtask conformance --record --only apply/")]
    Conformance(ConformancePlan),
}

/// What to fuzz, and for how long.
#[derive(Args, Debug, PartialEq)]
pub(crate) struct FuzzPlan {
    /// How long each target runs
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub(crate) seconds: u64,
    /// The only target: a file of fuzz/targets without its extension [default: all]
    pub(crate) target: Option<String>,
    /// Run this one input and stop
    #[arg(value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,
}

/// Which property tests to run, and on what.
#[derive(Args, Debug, PartialEq)]
pub(crate) struct PropertiesPlan {
    /// The number of cases of each test, or what stands for it in tests whose cases are quicker or slower
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) cases: u32,
    /// Draw the cases of the run that printed this seed [default: a new one]
    #[arg(long, value_name = "S")]
    pub(crate) seed: Option<u64>,
    /// The only package [default: all that have property tests]
    pub(crate) package: Option<String>,
    /// A part of the names of the tests
    pub(crate) name: Option<String>,
}

/// Which runs to play.
#[derive(Args, Debug, PartialEq)]
pub(crate) struct AgreementPlan {
    /// How many runs to play
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) runs: u64,
    /// The seed of the first run
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// The only world: one of the zoo, such as deleted_by_name:broken, or seed:7 [default: that of each seed]
    #[arg(long)]
    pub(crate) world: Option<String>,
}

/// What to run under faults, and for how long.
#[derive(Args, Debug, PartialEq)]
pub(crate) struct ChaosPlan {
    /// How long faults are made, in all runs together
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) minutes: u64,
    /// Draws the faults and the edits [default: a new one, which is printed]
    #[arg(long, value_name = "S")]
    pub(crate) seed: Option<u64>,
    /// The API server
    #[arg(long, value_enum, default_value_t = ChaosServer::Both)]
    pub(crate) server: ChaosServer,
    /// Where instances find each other
    #[arg(long, value_enum, default_value_t = ChaosRegistry::Both)]
    pub(crate) registry: ChaosRegistry,
    /// Number of instances
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) instances: u16,
    /// Number of objects
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    pub(crate) objects: u32,
    /// Duration of a lease, in seconds; objects of a lost instance must be written after one and a half of it
    #[arg(long, value_name = "SECONDS", default_value_t = 6)]
    pub(crate) lease: u64,
    /// How the report is written
    #[arg(long, value_enum, default_value_t = ChaosOutput::Text)]
    pub(crate) output: ChaosOutput,
}

/// The API server of a chaos run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ChaosServer {
    /// The embedded server
    Embedded,
    /// A real kube-apiserver
    Kubernetes,
    /// A run on each
    Both,
}

/// The registry of a chaos run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ChaosRegistry {
    /// The API server
    Api,
    /// A real etcd
    Etcd,
    /// A run with each
    Both,
}

/// The form of the report of a chaos run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ChaosOutput {
    /// For people
    Text,
    /// With all violations
    Json,
}

/// What to compare, and how.
#[derive(Args, Debug, PartialEq)]
pub(crate) struct BenchPlan {
    /// What to compare
    pub(crate) comparison: Comparison,
    /// Options of the comparison, see below
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
    pub(crate) arguments: Vec<String>,
}

/// A program in `bench/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Comparison {
    /// The checker with stateright, model by model
    Check,
    /// The embedded server with kube-apiserver and etcd
    Server,
    /// The runtime with kube::runtime::Controller, on kube-apiserver and etcd
    Runtime,
    /// How klight joins pods into networks, and what a pod costs with few and many
    Klight,
    /// How long endpoints of virtual networks take, and what one costs with few and many
    Mizar,
    /// How instances share objects, with kube-rs by a fixed modulo and controller-runtime with a leader
    Shard,
}

impl Comparison {
    /// The name of the program.
    pub(crate) fn program(self) -> &'static str {
        match self {
            Comparison::Check => "check",
            Comparison::Server => "server",
            Comparison::Runtime => "runtime",
            Comparison::Klight => "klight",
            Comparison::Mizar => "mizar",
            Comparison::Shard => "shard",
        }
    }
}

/// Which scripts to perform, and against what.
#[derive(Args, Debug, Default, PartialEq)]
pub(crate) struct ConformancePlan {
    /// Only scripts with this in their name
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Option<String>,
    /// Only these targets [default: all, but kubernetes only where `cargo xtask envtest` has built it]
    #[arg(long, value_delimiter = ',', value_name = "TARGETS")]
    pub(crate) against: Vec<Target>,
    /// List the scripts and stop
    #[arg(long)]
    pub(crate) list: bool,
    /// Keep the answers of the real kube-apiserver as those to compare with
    #[arg(long)]
    pub(crate) record: bool,
}

/// What scripts are performed against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Target {
    /// The model of the API
    Model,
    /// The embedded server
    Server,
    /// A real kube-apiserver
    Kubernetes,
}

impl Target {
    /// Its name in arguments.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Target::Model => "model",
            Target::Server => "server",
            Target::Kubernetes => "kubernetes",
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn parse_line(line: &str) -> Result<Option<Task>, clap::Error> {
        let words = std::iter::once("cargo xtask").chain(line.split_whitespace());
        Arguments::try_parse_from(words).map(|arguments| arguments.task)
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
            Task::Bench(BenchPlan { comparison: Comparison::Check, arguments })
        };
        let agreement = |runs, seed, world: Option<&str>| {
            Task::Agreement(AgreementPlan { runs, seed, world: world.map(str::to_owned) })
        };
        let chaos = |minutes, seed, server, registry| {
            Task::Chaos(ChaosPlan {
                minutes,
                seed,
                server,
                registry,
                instances: 5,
                objects: 2_000,
                lease: 6,
                output: ChaosOutput::Text,
            })
        };
        let conformance = |only: Option<&str>, against: &[Target], list| {
            let (only, against) = (only.map(str::to_owned), against.to_vec());
            Task::Conformance(ConformancePlan { only, against, list, record: false })
        };
        for (line, expected) in [
            ("ci", Task::Ci),
            ("layering", Task::Layering),
            ("links", Task::Links),
            ("words", Task::Words),
            ("envtest", Task::Envtest),
            ("python", Task::Python),
            ("conformance --list", conformance(None, &[], true)),
            (
                "conformance --only a --against=model,server",
                conformance(Some("a"), &[Target::Model, Target::Server], false),
            ),
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
            ("chaos", chaos(20, None, ChaosServer::Both, ChaosRegistry::Both)),
            (
                "chaos --minutes 2 --seed 7 --server embedded --registry api",
                chaos(2, Some(7), ChaosServer::Embedded, ChaosRegistry::Api),
            ),
            ("bench check", bench(&[])),
            ("bench check --runs 5 --json", bench(&["--runs", "5", "--json"])),
        ] {
            assert_eq!(parse_line(line).unwrap(), Some(expected), "{line}");
        }
        assert_eq!(parse_line("").unwrap(), None);
    }

    #[test]
    fn mistakes_are_explained() {
        for (line, expected) in [
            ("build", "unrecognized subcommand 'build'"),
            ("ci --fast", "unexpected argument '--fast'"),
            ("test --pur", "unexpected argument '--pur'"),
            ("envtest now", "unexpected argument 'now'"),
            ("types", "<SWAGGER>"),
            ("types a b", "unexpected argument 'b'"),
            ("fuzz --seconds", "a value is required for '--seconds <N>'"),
            ("fuzz --seconds x", "invalid value 'x' for '--seconds <N>'"),
            ("fuzz --jobs 3", "unexpected argument '--jobs'"),
            ("fuzz a b c", "unexpected argument 'c'"),
            ("properties --cases", "a value is required for '--cases <N>'"),
            ("properties --seed -1", "unexpected argument '-1'"),
            ("properties --seed=-1", "invalid value '-1' for '--seed <S>'"),
            ("properties --size 3", "unexpected argument '--size'"),
            ("properties a b c", "unexpected argument 'c'"),
            ("mutants --all", "unexpected argument '--all'"),
            ("differential --seed", "a value is required for '--seed <S>'"),
            ("differential --worlds x", "invalid value 'x' for '--worlds <N>'"),
            ("differential 5", "unexpected argument '5'"),
            ("agreement --world", "a value is required for '--world <WORLD>'"),
            ("agreement --runs x", "invalid value 'x' for '--runs <N>'"),
            ("chaos --server x", "invalid value 'x' for '--server <SERVER>'"),
            ("chaos 5", "unexpected argument '5'"),
            ("agreement 5", "unexpected argument '5'"),
            ("bench", "<COMPARISON>"),
            ("bench --quick", "unexpected argument '--quick'"),
            ("bench nothing", "possible values: check, server, runtime, klight, mizar, shard"),
            ("conformance --against all", "possible values: model, server, kubernetes"),
        ] {
            let message = parse_line(line).unwrap_err().to_string();
            assert!(message.contains(expected), "{line}: {message}");
        }
    }

    #[test]
    fn every_task_has_a_sentence_and_examples_that_parse() {
        Arguments::command().debug_assert();
        for task in Arguments::command().get_subcommands() {
            let name = task.get_name();
            assert!(task.get_about().is_some(), "{name} has no sentence");
            let after = task.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples: Vec<&str> = after.split("cargo xtask ").skip(1).collect();
            assert!(!examples.is_empty(), "{name} has no example");
            for example in examples {
                let line = example.lines().next().unwrap_or_default();
                assert!(line.starts_with(name), "{name} has the example of another: {line}");
                parse_line(line).unwrap();
            }
        }
    }

    #[test]
    fn help_is_that_of_the_task() {
        let help = parse_line("fuzz --help").unwrap_err();
        assert_eq!(help.kind(), clap::error::ErrorKind::DisplayHelp);
        assert!(help.to_string().contains("Usage: cargo xtask fuzz [OPTIONS] [TARGET] [FILE]"), "{help}");
    }

    #[test]
    fn programs_and_targets_have_the_names_of_their_arguments() {
        for comparison in Comparison::value_variants() {
            let name = comparison.to_possible_value().unwrap().get_name().to_owned();
            assert_eq!(comparison.program(), name);
        }
        for target in Target::value_variants() {
            let name = target.to_possible_value().unwrap().get_name().to_owned();
            assert_eq!(target.name(), name);
        }
    }
}
