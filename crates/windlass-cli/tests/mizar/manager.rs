//! `windlass run mizar` as processes of their own.

use std::process::{Child, Command, Stdio};

use crate::cluster::Cluster;

/// The operators: one process, or several that share the objects. Killed when it is dropped.
pub(crate) struct Manager {
    instances: Vec<Child>,
    kills: usize,
}

/// After how long the objects of an instance that was killed are another one's.
const LEASE_SECONDS: &str = "2";

impl Manager {
    /// Starts them, with short intervals.
    pub(crate) fn start(cluster: &Cluster) -> Self {
        let instances = (0..cluster.instances).map(|number| start(cluster, number)).collect();
        Manager { instances, kills: 0 }
    }

    /// Kills them, or the next one of several, without warning, and starts it again.
    pub(crate) fn kill_and_restart(&mut self, cluster: &Cluster) {
        let number = self.kills % self.instances.len();
        self.kills += 1;
        kill(&mut self.instances[number]);
        self.instances[number] = start(cluster, number);
    }

    /// Kills one of several for good.
    pub(crate) fn lose_one(&mut self) {
        if self.instances.len() > 1
            && let Some(mut lost) = self.instances.pop()
        {
            kill(&mut lost);
        }
    }
}

fn start(cluster: &Cluster, number: usize) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args(["run", "mizar"]);
    if cluster.instances > 1 {
        command.args(["--shard", "--instance", &format!("manager-{number}")]);
        command.args(["--shard-namespace", "default", "--shard-lease", LEASE_SECONDS]);
    }
    command.env("KUBECONFIG", &cluster.kubeconfig).stdin(Stdio::null());
    command.env("WINDLASS_MIZAR_CHECK_INTERVAL", "0.2").env("WINDLASS_MIZAR_LOST_AFTER", "1");
    command.env("WINDLASS_MIZAR_RETRY_INTERVAL", "0.1");
    command.spawn().expect("the program starts")
}

fn kill(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

impl Drop for Manager {
    fn drop(&mut self) {
        self.instances.iter_mut().for_each(kill);
    }
}
