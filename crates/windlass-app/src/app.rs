//! A program: its controllers, its checks, and the flags that it adds.

use std::marker::PhantomData;
use std::path::Path;
use std::process::ExitCode;

use clap::{Command, CommandFactory, FromArgMatches, Parser};
use windlass::Kind;
use windlass_check::Check;
use windlass_runtime::{Manager, Planner};

use crate::app_check::AppCheck;
use crate::app_controller::AppController;
use crate::arguments::{ManagerArguments, NoArguments};
use crate::command::AppCommand;
use crate::examples::ExampleNames;
use crate::exit::exit_code;

/// Builds a program and runs the command that its arguments name: the whole of a `main`.
pub fn main<A: ManagerArguments>(build: impl FnOnce(App) -> App<A>) -> ExitCode {
    build(App::new(program_name())).main()
}

/// A program with controllers.
pub struct App<A: ManagerArguments = NoArguments> {
    name: String,
    about: Option<&'static str>,
    version: Option<&'static str>,
    controllers: Vec<AppController>,
    checks: Vec<AppCheck>,
    configure: Vec<Configure>,
    redactions: Vec<Redaction>,
    arguments: PhantomData<fn() -> A>,
}

/// Configures the manager that `run` starts.
type Configure = Box<dyn FnOnce(Manager) -> anyhow::Result<Manager>>;

/// Hides a field in recordings and in plans.
struct Redaction {
    manager: Box<dyn Fn(Manager) -> Manager>,
    planner: Box<dyn Fn(Planner) -> Planner>,
}

#[derive(Parser)]
struct CommandLine<A: ManagerArguments> {
    #[command(subcommand)]
    command: AppCommand<A>,
}

impl App {
    /// A program without controllers.
    pub fn new(name: impl Into<String>) -> Self {
        App {
            name: name.into(),
            about: None,
            version: None,
            controllers: Vec::new(),
            checks: Vec::new(),
            configure: Vec::new(),
            redactions: Vec::new(),
            arguments: PhantomData,
        }
    }

    /// Adds flags to `run` and `manifests`.
    #[must_use]
    pub fn arguments<A: ManagerArguments>(self) -> App<A> {
        let App { name, about, version, controllers, checks, configure, redactions, .. } = self;
        App { name, about, version, controllers, checks, configure, redactions, arguments: PhantomData }
    }
}

impl<A: ManagerArguments> App<A> {
    /// Describes the program in one line, for `--help`.
    #[must_use]
    pub fn about(self, about: &'static str) -> Self {
        App { about: Some(about), ..self }
    }

    /// Sets what `--version` prints: `env!("CARGO_PKG_VERSION")`. Without it there is no such flag.
    #[must_use]
    pub fn version(self, version: &'static str) -> Self {
        App { version: Some(version), ..self }
    }

    /// Adds a controller: a machine, or an [`AppController`] with the definition of its kind.
    #[must_use]
    pub fn controller(mut self, controller: impl Into<AppController>) -> Self {
        self.controllers.push(controller.into());
        self
    }

    /// Adds a check that `check NAME` runs, and `replay` knows.
    #[must_use]
    pub fn check(
        self,
        name: &'static str,
        about: &str,
        make: impl Fn() -> Check + Send + Sync + 'static,
    ) -> Self {
        self.checks([AppCheck::new(name, about, make)])
    }

    /// Adds checks.
    #[must_use]
    pub fn checks(mut self, checks: impl IntoIterator<Item = AppCheck>) -> Self {
        self.checks.extend(checks);
        self
    }

    /// Configures the manager that `run` starts: clients of external services, sources, limits. Flags of the command
    /// line come after it, so `--workers` overrides [`Manager::workers`].
    #[must_use]
    pub fn manager(mut self, configure: impl FnOnce(Manager) -> anyhow::Result<Manager> + 'static) -> Self {
        self.configure.push(Box::new(configure));
        self
    }

    /// Redacts the texts that a JSON pointer, such as `/spec/password`, selects in objects of a kind, in recordings and
    /// in plans. The contents of Secrets are always redacted.
    #[must_use]
    pub fn redact<Hidden: Kind>(mut self, pointer: &'static str) -> Self {
        self.redactions.push(Redaction {
            manager: Box::new(move |manager| manager.redact::<Hidden>(pointer)),
            planner: Box::new(move |planner| planner.redact::<Hidden>(pointer)),
        });
        self
    }

    /// The name of the program.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its controllers.
    pub fn controllers(&self) -> &[AppController] {
        &self.controllers
    }

    pub(crate) fn all_checks(&self) -> &[AppCheck] {
        &self.checks
    }

    /// Parses the arguments of the process, and runs the command that they name.
    pub fn main(self) -> ExitCode {
        let mut command = CommandLine::<A>::command().name(self.name.clone()).arg_required_else_help(true);
        if let Some(about) = self.about {
            command = command.about(about);
        }
        if let Some(version) = self.version {
            command = command.version(version);
        }
        let command = self.with_examples(command);
        let matches = command.clone().get_matches();
        match CommandLine::<A>::from_arg_matches(&matches) {
            Ok(line) => exit_code(self.run(line.command, command)),
            Err(error) => error.exit(),
        }
    }

    /// Runs a command. `root` is the command line that it is a part of, for `completions`.
    ///
    /// Not to be called from asynchronous code: `run` and `plan` start a runtime of their own, and `run` sets up logs.
    ///
    /// # Errors
    /// The command failed.
    pub fn run(self, command: AppCommand<A>, root: Command) -> anyhow::Result<ExitCode> {
        command.run(self, root)
    }

    /// Puts the names of the program and of its controllers into the examples of a command line.
    pub fn with_examples(&self, command: Command) -> Command {
        let controller = self.controllers.last();
        let kind = controller.map(|known| known.controller().declaration().parent().kind.to_lowercase());
        let names = ExampleNames {
            program: &self.name,
            controller: controller.map_or("CONTROLLER", AppController::name),
            check: self.checks.first().map_or("NAME", |check| check.name),
            kind: kind.as_deref().unwrap_or("KIND"),
        };
        names.fill(command)
    }

    /// Applies [`App::manager`] and [`App::redact`].
    pub(crate) fn configure(&mut self, manager: Manager) -> anyhow::Result<Manager> {
        let manager = self.redactions.iter().fold(manager, |manager, redact| (redact.manager)(manager));
        self.configure.drain(..).try_fold(manager, |manager, configure| configure(manager))
    }

    /// Applies [`App::redact`].
    pub(crate) fn redacted(&self, planner: Planner) -> Planner {
        self.redactions.iter().fold(planner, |planner, redact| (redact.planner)(planner))
    }
}

/// The name of the file that runs.
pub(crate) fn program_name() -> String {
    let path = std::env::args_os().next();
    let stem = path.as_deref().and_then(|path| Path::new(path).file_stem());
    stem.map_or_else(|| "controller".to_owned(), |stem| stem.to_string_lossy().into_owned())
}
