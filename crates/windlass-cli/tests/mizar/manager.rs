//! `windlass run mizar` as a process of its own.

use std::process::{Child, Command, Stdio};

use crate::cluster::Cluster;

/// The operators. Killed when it is dropped.
pub(crate) struct Manager {
    child: Child,
}

impl Manager {
    /// Starts them, with short intervals.
    pub(crate) fn start(cluster: &Cluster) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        command.args(["run", "mizar"]);
        command.env("KUBECONFIG", &cluster.kubeconfig).stdin(Stdio::null());
        command.env("WINDLASS_MIZAR_CHECK_INTERVAL", "0.2").env("WINDLASS_MIZAR_LOST_AFTER", "1");
        command.env("WINDLASS_MIZAR_RETRY_INTERVAL", "0.1");
        Manager { child: command.spawn().expect("the program starts") }
    }

    /// Kills them without warning, and starts them again.
    pub(crate) fn kill_and_restart(&mut self, cluster: &Cluster) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        *self = Manager::start(cluster);
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
