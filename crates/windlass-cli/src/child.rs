//! Programs of this command line as processes of their own: lightpeers and droplets.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::Context;

/// A server in a process of its own, killed when it is dropped.
pub(crate) struct ServerProcess {
    child: Child,
    pub(crate) name: String,
    /// Where it listens.
    pub(crate) address: String,
}

impl ServerProcess {
    /// Starts this program with a subcommand that serves on a free port, and returns when it does.
    pub(crate) fn start(subcommand: &str, name: &str, arguments: &[&str]) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut child = Command::new(program)
            .args([subcommand, "--listen", "127.0.0.1:0", "--name", name])
            .args(arguments)
            // If this process is killed, its end of the pipe is closed.
            .arg("--until-input-ends")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start the {subcommand} {name}"))?;
        let output = child.stdout.take().context("its output is piped")?;
        // From here on it is killed, whatever happens.
        let mut process = ServerProcess { child, name: name.to_owned(), address: String::new() };
        let mut first = String::new();
        BufReader::new(output).read_line(&mut first)?;
        let address = first.trim().strip_prefix("ready ");
        process.address =
            address.with_context(|| format!("the {subcommand} {name} did not become ready"))?.to_owned();
        Ok(process)
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Kills it without warning, as a machine that fails does.
    pub(crate) fn kill(mut self) -> anyhow::Result<()> {
        self.child
            .kill()
            .and_then(|()| self.child.wait())
            .with_context(|| format!("cannot kill {}", self.name))?;
        Ok(())
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
