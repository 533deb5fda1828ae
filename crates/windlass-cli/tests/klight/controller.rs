//! `windlass run klight` as a process of its own.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::namespace::Namespace;

/// The controller of some namespaces. Killed when it is dropped.
pub(crate) struct Controller {
    child: Child,
}

impl Controller {
    /// Starts it for one namespace.
    pub(crate) fn start(namespace: &Namespace) -> Self {
        Controller::start_for(&[namespace])
    }

    /// Starts it for one namespace, whose lightpeers have certificates of this authority, with one of its own.
    pub(crate) fn start_with_certificate(
        namespace: &Namespace,
        authority: &Path,
        certificate: &Path,
        key: &Path,
    ) -> Self {
        let mut command = command(&[namespace]);
        command.arg("--lightpeer-authority").arg(authority);
        command.arg("--lightpeer-certificate").arg(certificate).arg("--lightpeer-key").arg(key);
        Controller { child: command.spawn().expect("the program starts") }
    }

    /// Starts it for several namespaces of a cluster.
    pub(crate) fn start_for(namespaces: &[&Namespace]) -> Self {
        Controller { child: command(namespaces).spawn().expect("the program starts") }
    }
}

fn command(namespaces: &[&Namespace]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args(["run", "klight"]);
    command.args(namespaces.iter().flat_map(|namespace| ["--namespace", &namespace.name]));
    command.env("KUBECONFIG", &namespaces[0].kubeconfig).stdin(Stdio::null());
    command
}

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
