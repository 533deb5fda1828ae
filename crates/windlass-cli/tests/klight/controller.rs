//! `windlass run klight` as a process of its own.

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

    /// Starts it for several namespaces of a cluster.
    pub(crate) fn start_for(namespaces: &[&Namespace]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        let namespace = namespaces[0];
        command.args(["run", "klight"]);
        command.args(namespaces.iter().flat_map(|namespace| ["--namespace", &namespace.name]));
        command.env("KUBECONFIG", &namespace.kubeconfig).stdin(Stdio::null());
        Controller { child: command.spawn().expect("the program starts") }
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
