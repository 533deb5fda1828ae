//! The server as a process of its own, as a user starts it.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;

/// A running `windlass serve`, killed when it is dropped.
pub(crate) struct Served {
    child: Child,
    url: String,
    folder: tempfile::TempDir,
    log: Option<JoinHandle<String>>,
}

impl Served {
    /// Starts one in memory on a free port, with further arguments.
    pub(crate) fn start(arguments: &[&str]) -> Served {
        Served::start_in(tempfile::tempdir().expect("a temporary folder"), arguments)
    }

    /// Starts one whose folder holds what an earlier one left there.
    pub(crate) fn start_in(folder: tempfile::TempDir, arguments: &[&str]) -> Served {
        Served::start_at("127.0.0.1:0", folder, arguments)
    }

    /// Kills it without warning, and starts it again at the same address.
    pub(crate) fn restart(self, arguments: &[&str]) -> Served {
        let address = self.url.split("//").last().unwrap_or_default().to_owned();
        Served::start_at(&address, self.kill(), arguments)
    }

    fn start_at(address: &str, folder: tempfile::TempDir, arguments: &[&str]) -> Served {
        let mut child = command_at(address, &folder.path().join("kubeconfig"))
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let log = child.stderr.take().map(collect);
        let mut first = String::new();
        let output = child.stdout.take().expect("its output is piped");
        BufReader::new(output).read_line(&mut first).expect("its output can be read");
        let Some(url) = first.trim().strip_prefix("ready ") else {
            let log = log.map(|log| log.join().unwrap_or_default()).unwrap_or_default();
            panic!("the first line is {first:?}; the log:\n{log}");
        };
        Served { child, url: url.to_owned(), folder, log }
    }

    /// `https://127.0.0.1:PORT`
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Where it writes its kubeconfig.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// Kills it without warning, and returns its folder.
    pub(crate) fn kill(mut self) -> tempfile::TempDir {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
        let nothing = tempfile::tempdir().expect("a temporary folder");
        std::mem::replace(&mut self.folder, nothing)
    }

    /// Asks it to end with SIGTERM; returns how it ended, and its log.
    pub(crate) fn terminate(mut self) -> (ExitStatus, String) {
        let pid = self.child.id().to_string();
        Command::new("kill").args(["-TERM", &pid]).status().expect("kill runs");
        let status = self.child.wait().expect("it ends");
        let log = self.log.take().map(|log| log.join().unwrap_or_default());
        (status, log.unwrap_or_default())
    }

    /// The most memory that it has had so far, where the system says so.
    pub(crate) fn most_memory_mib(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kib: u64 = peak.trim().trim_end_matches(" kB").parse().ok()?;
        Some(kib / 1024)
    }

    /// A client with the rights of the kubeconfig.
    pub(crate) async fn client(&self) -> kube::Client {
        let kubeconfig = kube::config::Kubeconfig::read_from(self.kubeconfig()).expect("a kubeconfig");
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await;
        kube::Client::try_from(config.expect("a usable kubeconfig")).expect("a client")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `windlass serve` on a free port.
pub(crate) fn command(kubeconfig: &Path) -> Command {
    command_at("127.0.0.1:0", kubeconfig)
}

fn command_at(address: &str, kubeconfig: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args(["serve", "--listen", address, "--write-kubeconfig"]).arg(kubeconfig);
    command
}

/// Reads the log as it is written, so that the server never waits for a full pipe.
fn collect(mut log: ChildStderr) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = log.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    })
}
