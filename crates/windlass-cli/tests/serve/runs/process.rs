//! `windlass run` as a process of its own.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A running `windlass run`, killed when it is dropped.
pub(super) struct Process {
    child: Child,
    log: PathBuf,
    _folder: tempfile::TempDir,
}

impl Process {
    /// Starts controllers on the cluster of a kubeconfig.
    pub(super) fn start(kubeconfig: &Path, arguments: &[&str]) -> Process {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let log = folder.path().join("log");
        let child = Command::new(env!("CARGO_BIN_EXE_windlass"))
            .arg("run")
            .args(arguments)
            .env("KUBECONFIG", kubeconfig)
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log).expect("a log"))
            .spawn()
            .expect("the program starts");
        Process { child, log, _folder: folder }
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Stops it in the middle of whatever it does.
    pub(super) fn pause(&self) {
        self.signal("-STOP");
    }

    /// Lets it go on where it was.
    pub(super) fn go_on(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.id().to_string()]).status();
        assert!(sent.is_ok_and(|sent| sent.success()), "{signal} was not sent");
    }

    pub(super) fn is_running(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|ended| ended.is_none())
    }

    /// What it has logged so far.
    pub(super) fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
