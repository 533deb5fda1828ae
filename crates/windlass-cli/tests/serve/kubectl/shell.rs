//! A shell in which `kubectl` is the program under test and the server is the one it talks to.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use conformance::kubernetes;

/// Timeout of a command, since a hanging test reports nothing.
const STEP_MAX: Duration = Duration::from_secs(180);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A folder, and the environment that commands run in.
pub(super) struct Shell {
    kubeconfig: PathBuf,
    path: String,
    folder: tempfile::TempDir,
}

impl Shell {
    /// A shell whose `kubectl` uses this kubeconfig.
    pub(super) fn new(kubeconfig: &Path) -> Shell {
        let assets = kubernetes::assets().expect(
            "KUBEBUILDER_ASSETS names no folder with kubectl: `cargo xtask envtest` makes one, \
             and `cargo xtask test` uses it",
        );
        let path = format!("{}:{}", assets.display(), std::env::var("PATH").unwrap_or_default());
        let folder = tempfile::tempdir().expect("a temporary folder");
        Shell { kubeconfig: kubeconfig.to_owned(), path, folder }
    }

    /// Runs a command; returns all that it printed, and with which code it ended.
    pub(super) fn run(&self, command: &str) -> (String, i32) {
        let mut output = tempfile::tempfile().expect("a temporary file");
        let share = |file: &File| Stdio::from(file.try_clone().expect("a second handle"));
        let mut child = Command::new("sh")
            .args(["-c", command])
            .current_dir(self.folder.path())
            .env("PATH", &self.path)
            .env("HOME", self.folder.path())
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBECACHEDIR", self.folder.path().join(".cache"))
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            .stdin(Stdio::null())
            .stdout(share(&output))
            .stderr(share(&output))
            // What it leaves in the background can then be ended with it.
            .process_group(0)
            .spawn()
            .expect("sh starts");
        let started = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().expect("it can be asked") {
                break status;
            }
            if started.elapsed() > STEP_MAX {
                let group = format!("-{}", child.id());
                let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
            }
            std::thread::sleep(LOOK_EVERY);
        };
        let mut bytes = Vec::new();
        output.rewind().expect("a file can be read again");
        output.read_to_end(&mut bytes).expect("it can be read");
        (String::from_utf8_lossy(&bytes).into_owned(), status.code().unwrap_or(-1))
    }
}
