//! The examples in help texts, with the names of the program and of its controllers.

use clap::Command;

/// What stands in help texts for the name of the program, and of one of its controllers, checks and kinds.
const PROGRAM: &str = "PROGRAM";
const CONTROLLER: &str = "CONTROLLER";
const CHECK: &str = "CHECK-NAME";
const KIND: &str = "KIND-NAME";

/// The names that a program's examples show.
pub(crate) struct ExampleNames<'a> {
    pub(crate) program: &'a str,
    pub(crate) controller: &'a str,
    pub(crate) check: &'a str,
    pub(crate) kind: &'a str,
}

impl ExampleNames<'_> {
    /// Puts the names into the examples of all subcommands, and of theirs.
    pub(crate) fn fill(&self, command: Command) -> Command {
        let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
        names.into_iter().fold(command, |command, name| {
            command.mut_subcommand(name, |sub| {
                let filled = sub.get_after_help().map(|help| self.filled(&help.to_string()));
                self.fill(if let Some(help) = filled { sub.after_help(help) } else { sub })
            })
        })
    }

    fn filled(&self, help: &str) -> String {
        help.replace(PROGRAM, self.program)
            .replace(CONTROLLER, self.controller)
            .replace(CHECK, self.check)
            .replace(KIND, self.kind)
    }
}
