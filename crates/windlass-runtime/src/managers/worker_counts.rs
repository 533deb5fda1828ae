//! Which controllers a manager runs, and with how many workers: from its type, itself, and its program.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::kinds::ControllerWorkers;

/// What a configuration means for a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerCounts {
    /// The number of workers of each controller that is to run.
    pub by_controller: BTreeMap<String, usize>,
    /// What in the configuration has no effect.
    pub problems: BTreeSet<ConfigProblem>,
}

/// A part of a configuration that has no effect. The rest has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigProblem {
    /// The type names a controller that the program does not have.
    NotInProgram {
        /// The controller.
        controller: String,
        /// Those that it has.
        program: Vec<String>,
    },
    /// The manager has worker counts for a controller that its type does not name.
    NotInType {
        /// The controller.
        controller: String,
    },
    /// The controller was not named when the process started, and so was not started.
    NeedsRestart {
        /// The controller.
        controller: String,
    },
    /// There is no type of this name any more.
    NoSuchType {
        /// The type.
        manager_type: String,
    },
}

impl WorkerCounts {
    /// The type names the controllers. The counts of the manager itself override those of its type.
    pub fn resolve<'a>(
        of_type: &[ControllerWorkers],
        of_manager: &[ControllerWorkers],
        program: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let program: BTreeSet<&str> = program.into_iter().collect();
        let overrides = by_name(of_manager);
        let named = by_name(of_type);
        let mut resolved = WorkerCounts::default();
        for (&controller, &workers) in &named {
            if program.contains(controller) {
                let workers = overrides.get(controller).copied().unwrap_or(workers);
                resolved.by_controller.insert(controller.to_owned(), workers);
            } else {
                let program = program.iter().map(|&known| known.to_owned()).collect();
                let problem = ConfigProblem::NotInProgram { controller: controller.to_owned(), program };
                resolved.problems.insert(problem);
            }
        }
        let strangers = overrides.keys().filter(|&controller| !named.contains_key(controller));
        let not_in_type = |&controller: &&str| ConfigProblem::NotInType { controller: controller.to_owned() };
        resolved.problems.extend(strangers.map(not_in_type));
        resolved
    }
}

fn by_name(controllers: &[ControllerWorkers]) -> BTreeMap<&str, usize> {
    let entry = |entry: &ControllerWorkers| usize::try_from(entry.workers).unwrap_or(usize::MAX);
    controllers.iter().map(|named| (named.controller.as_str(), entry(named))).collect()
}

impl ConfigProblem {
    /// Its name, for Events.
    pub fn reason(&self) -> &'static str {
        match self {
            ConfigProblem::NotInProgram { .. } => "UnknownController",
            ConfigProblem::NotInType { .. } => "NotInType",
            ConfigProblem::NeedsRestart { .. } => "RestartNeeded",
            ConfigProblem::NoSuchType { .. } => "TypeMissing",
        }
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigProblem::NotInProgram { controller, program } => {
                let known = program.join(", ");
                write!(
                    f,
                    "the type names the controller {controller:?}, which this program does not have: "
                )?;
                write!(f, "it has {known}; correct or remove the name")
            }
            ConfigProblem::NotInType { controller } => write!(
                f,
                "this manager has a worker count for {controller:?}, which its type does not name: add it to the \
                 type, or remove the count"
            ),
            ConfigProblem::NeedsRestart { controller } => write!(
                f,
                "the controller {controller:?} was not named when this process started: restart it to run the \
                 controller"
            ),
            ConfigProblem::NoSuchType { manager_type } => write!(
                f,
                "there is no ControllerManagerType {manager_type:?}: the worker counts stay as they are; create it, \
                 or name another one in the ControllerManager"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(counts: &[(&str, u32)]) -> Vec<ControllerWorkers> {
        let one = |&(controller, workers): &(&str, u32)| ControllerWorkers {
            controller: controller.to_owned(),
            workers,
        };
        counts.iter().map(one).collect()
    }

    /// The counts, and the reason and the controller of each problem.
    fn resolved(of_type: &[(&str, u32)], of_manager: &[(&str, u32)]) -> (String, String) {
        let counts = WorkerCounts::resolve(&list(of_type), &list(of_manager), ["job", "pod", "set"]);
        let text = |(controller, workers): (&String, &usize)| format!("{controller}={workers}");
        let problem = |problem: &ConfigProblem| match problem {
            ConfigProblem::NotInProgram { controller, .. } | ConfigProblem::NotInType { controller } => {
                format!("{} {controller}", problem.reason())
            }
            _ => unreachable!("only the two come from resolving"),
        };
        let counted: Vec<String> = counts.by_controller.iter().map(text).collect();
        let problems: Vec<String> = counts.problems.iter().map(problem).collect();
        (counted.join(" "), problems.join(" "))
    }

    #[test]
    fn counts_of_the_manager_override_those_of_its_type() {
        let of_type = [("pod", 5), ("set", 10)];
        for (of_manager, counts, problems) in [
            (&[][..], "pod=5 set=10", ""),
            (&[("pod", 2)], "pod=2 set=10", ""),
            (&[("pod", 2), ("set", 3)], "pod=2 set=3", ""),
            (&[("set", 0)], "pod=5 set=0", ""),
            (&[("job", 4)], "pod=5 set=10", "NotInType job"),
            (&[("job", 4), ("pod", 1)], "pod=1 set=10", "NotInType job"),
        ] {
            assert_eq!(
                resolved(&of_type, of_manager),
                (counts.to_owned(), problems.to_owned()),
                "{of_manager:?}"
            );
        }
    }

    #[test]
    fn type_names_the_controllers() {
        for (of_type, counts, problems) in [
            (&[][..], "", ""),
            (&[("job", 1)], "job=1", ""),
            (&[("job", 0)], "job=0", ""),
            (&[("cron", 5), ("job", 2)], "job=2", "UnknownController cron"),
        ] {
            assert_eq!(resolved(of_type, &[]), (counts.to_owned(), problems.to_owned()), "{of_type:?}");
        }
        assert_eq!(resolved(&[("cron", 5)], &[("cron", 2)]).1, "UnknownController cron");
    }

    #[test]
    fn problems_say_what_to_do() {
        let counts = WorkerCounts::resolve(&list(&[("cron", 5)]), &list(&[("x", 1)]), ["job", "pod"]);
        let texts: Vec<String> = counts.problems.iter().map(ConfigProblem::to_string).collect();
        let unknown = "the type names the controller \"cron\", which this program does not have: it has job, pod; \
                       correct or remove the name";
        let stranger = "this manager has a worker count for \"x\", which its type does not name: add it to the type, \
                        or remove the count";
        assert_eq!(texts, [unknown, stranger]);
    }
}
