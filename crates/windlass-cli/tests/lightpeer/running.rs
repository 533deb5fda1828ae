//! Peers as processes of their own, as a user starts them.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A running `windlass lightpeer`, killed when it is dropped.
pub(crate) struct Running {
    child: Child,
    address: String,
    events: Lines<BufReader<ChildStdout>>,
}

impl Running {
    /// Starts one on a free port, with further arguments.
    pub(crate) fn start(arguments: &[&str]) -> Running {
        let mut child = windlass(&["--listen", "127.0.0.1:0", "--peers-check", "100ms", "--output", "json"])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let mut events = BufReader::new(child.stdout.take().expect("its output is piped")).lines();
        let ready = next(&mut events).expect("a first line");
        assert_eq!(ready["event"], "ready");
        let address = ready["address"].as_str().expect("an address").to_owned();
        Running { child, address, events }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The next event that it prints; `None` when it has ended.
    pub(crate) fn event(&mut self) -> Option<Value> {
        next(&mut self.events)
    }

    /// Waits for an event of this name.
    pub(crate) fn wait_for(&mut self, name: &str) -> Value {
        loop {
            let event = self.event().unwrap_or_else(|| panic!("it ended before {name}"));
            if event["event"] == name {
                return event;
            }
        }
    }

    /// Kills it without warning.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    /// Asks it to end with SIGTERM.
    pub(crate) fn terminate(&mut self) -> ExitStatus {
        let pid = self.child.id().to_string();
        Command::new("kill").args(["-TERM", &pid]).status().expect("kill runs");
        self.child.wait().expect("it ends")
    }

    pub(crate) fn query(&self) -> Vec<String> {
        let output = ask(&["query", &self.address]);
        assert!(output.status.success(), "{}", complaint(&output));
        String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect()
    }

    /// Adds a block; whether it was acknowledged.
    pub(crate) fn persist(&self, payload: &str) -> bool {
        ask(&["persist", &self.address, payload]).status.success()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Three members of one network, each of which knows the two others.
pub(crate) fn network() -> [Running; 3] {
    let first = Running::start(&[]);
    let contact = first.address().to_owned();
    let [second, third] = [(); 2].map(|()| Running::start(&["--join", &contact]));
    let mut all = [first, second, third];
    for (peer, joins) in all.iter_mut().zip([0, 1, 1]) {
        let (mut learned, mut joined) = (0, 0);
        while learned < 2 || joined < joins {
            let event = peer.event().expect("it runs");
            learned += usize::from(event["event"] == "member-learned");
            joined += usize::from(event["event"] == "joined");
        }
    }
    all
}

/// Runs a command of a client.
pub(crate) fn ask(arguments: &[&str]) -> Output {
    windlass(arguments).stdin(Stdio::null()).output().expect("the program runs")
}

pub(crate) fn complaint(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(crate) fn windlass(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.arg("lightpeer").args(arguments);
    command
}

/// Waits for something that will be so; the limit is for what is broken.
pub(crate) fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn next(events: &mut Lines<impl BufRead>) -> Option<Value> {
    let line = events.next()?.expect("its output can be read");
    Some(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}")))
}
