//! The embedded server as a process of its own.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::access::Access;
use crate::process::{Folder, Program};

/// A running `windlass serve`. It ends, and its folder goes, when this is dropped.
#[derive(Debug)]
pub struct Server {
    windlass: PathBuf,
    arguments: Vec<String>,
    access: Access,
    program: Program,
    folder: Folder,
}

impl Server {
    /// Starts a server from the `windlass` program, on a free port and with more arguments if there are any.
    ///
    /// # Errors
    /// If it does not start, or does not say that it is ready.
    pub fn start(windlass: &Path, arguments: &[&str]) -> Result<Self> {
        let folder = Folder::new("server")?;
        Self::start_in(folder, windlass, arguments.iter().map(|argument| (*argument).to_owned()).collect())
    }

    /// Starts a server that keeps what is written in its folder, so that it survives [`Server::kill`], though not a loss of
    /// power.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start_durable(windlass: &Path) -> Result<Self> {
        let folder = Folder::in_memory("server")?;
        let data = folder.path().join("data").display().to_string();
        Self::start_in(folder, windlass, vec!["--data".to_owned(), data])
    }

    fn start_in(folder: Folder, windlass: &Path, arguments: Vec<String>) -> Result<Self> {
        let program = start_program(windlass, &arguments, "127.0.0.1:0", folder.path())?;
        let access = Access::from_kubeconfig(&folder.path().join("kubeconfig"))?;
        Ok(Server { windlass: windlass.to_owned(), arguments, access, program, folder })
    }

    /// Kills it without warning.
    ///
    /// # Errors
    /// If that cannot be done.
    pub fn kill(&mut self) -> Result<()> {
        self.program.kill()
    }

    /// Starts it again at the same address, after it was killed.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start_again(&mut self) -> Result<()> {
        let address = self.access.url.split("//").last().unwrap_or_default();
        self.program = start_program(&self.windlass, &self.arguments, address, self.folder.path())?;
        Ok(())
    }

    /// How to reach it, as an administrator.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// A kubeconfig for an administrator.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// Its process id.
    pub fn process_id(&self) -> u32 {
        self.program.id()
    }
}

/// Starts the program, and waits until it says that it is ready. What it writes is in the folder.
fn start_program(windlass: &Path, arguments: &[String], address: &str, folder: &Path) -> Result<Program> {
    let mut command = Command::new(windlass);
    command.args(["serve", "--listen", address, "--write-kubeconfig"]).arg(folder.join("kubeconfig"));
    command.args(arguments);
    let log = folder.join("windlass.log");
    let mut program = Program::start("windlass serve", &mut command, log, Stdio::piped())?;
    let stdout = program.take_stdout().context("standard output is not read")?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).context("cannot read from windlass serve")?;
    if !line.starts_with("ready ") {
        bail!("windlass serve does not get ready: {line}{}", program.last_words());
    }
    Ok(program)
}
