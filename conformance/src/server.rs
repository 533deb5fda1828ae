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
        let kubeconfig = folder.path().join("kubeconfig");
        let mut command = Command::new(windlass);
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--write-kubeconfig"])
            .arg(&kubeconfig)
            .args(arguments);
        let log = folder.path().join("windlass.log");
        let mut program = Program::start("windlass serve", &mut command, log, Stdio::piped())?;
        let stdout = program.take_stdout().context("standard output is not read")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).context("cannot read from windlass serve")?;
        if !line.starts_with("ready ") {
            bail!("windlass serve does not get ready: {line}{}", program.last_words());
        }
        let access = Access::from_kubeconfig(&kubeconfig)?;
        Ok(Server { access, program, folder })
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
