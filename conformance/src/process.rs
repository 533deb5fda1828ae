//! Programs that run beside a test: started, watched and stopped by their handle.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, bail};

/// A program that ends when this is dropped. What it says on standard error goes into a file.
#[derive(Debug)]
pub struct Program {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Program {
    /// Starts a program; its standard output is for the caller if `stdout` is piped.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(name: &str, command: &mut Command, log: PathBuf, stdout: Stdio) -> Result<Self> {
        let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let child = command.stdin(Stdio::null()).stdout(stdout).stderr(file).spawn();
        let child = child.with_context(|| format!("cannot start {name}"))?;
        Ok(Program { name: name.to_owned(), child, log })
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it prints, if that was to be read.
    pub fn take_stdout(&mut self) -> Option<std::process::ChildStdout> {
        self.child.stdout.take()
    }

    /// Fails with the end of what it said if it is no longer running.
    ///
    /// # Errors
    /// See above.
    pub fn check(&mut self) -> Result<()> {
        match self.ended()? {
            None => Ok(()),
            Some(status) => bail!("{} ended with {status}:\n{}", self.name, self.last_words()),
        }
    }

    /// Kills it without warning, and waits until it is gone.
    ///
    /// # Errors
    /// If that cannot be done.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill().with_context(|| format!("cannot kill {}", self.name))?;
        self.child.wait().with_context(|| format!("cannot wait for the end of {}", self.name))?;
        Ok(())
    }

    /// Sends it a signal: `TERM`, `STOP`, `CONT`.
    ///
    /// # Errors
    /// If that cannot be done.
    pub fn signal(&self, signal: &str) -> Result<()> {
        let status = Command::new("kill").args([format!("-{signal}"), self.id().to_string()]).status();
        match status.context("cannot start kill")? {
            status if status.success() => Ok(()),
            status => bail!("kill -{signal} for {} ended with {status}", self.name),
        }
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    /// If that cannot be asked.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        self.child.try_wait().with_context(|| format!("cannot ask for the state of {}", self.name))
    }

    /// The end of what it said on standard error.
    pub fn last_words(&self) -> String {
        let text = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder that is removed when this is dropped.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// A new folder among the temporary ones.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new(purpose: &str) -> Result<Self> {
        Self::new_in(&std::env::temp_dir(), purpose)
    }

    /// A new folder in memory, where the machine has such folders: what is in it survives processes, and is written
    /// without waiting for a disk.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn in_memory(purpose: &str) -> Result<Self> {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() { Self::new_in(memory, purpose) } else { Self::new(purpose) }
    }

    fn new_in(parent: &Path, purpose: &str) -> Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("windlass-{purpose}-{}-{count}", std::process::id()));
        fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Folder(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Leaves it there for somebody to look at, and returns where it is.
    pub fn keep(mut self) -> PathBuf {
        std::mem::take(&mut self.0)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // One that is kept has no path any more. Leftovers in a temporary folder do no harm.
        if !self.0.as_os_str().is_empty() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

/// A free port on the loopback interface.
///
/// # Errors
/// If there is none.
pub fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port on 127.0.0.1")?;
    Ok(listener.local_addr().context("a listener without an address")?.port())
}
