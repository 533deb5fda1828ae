//! A manager with the example's controller, on a tapped wire.

use std::time::Duration;

use two_configmaps::TwoConfigMaps;
use windlass_runtime::queue::{Backoff, QueueSettings};
use windlass_runtime::{Manager, Running};

use super::{Cluster, Tap, eventually};

/// A running manager and the tap on its wire.
pub(crate) struct Rig {
    pub(crate) running: Running,
    pub(crate) tap: Tap,
}

impl Rig {
    /// Runs the example's controller in a scenario's namespace.
    pub(crate) async fn start(cluster: &Cluster) -> Self {
        Rig::start_on(cluster, Tap::new()).await
    }

    /// The same, on a tap that is there already.
    pub(crate) async fn start_on(cluster: &Cluster, tap: Tap) -> Self {
        let running = manager(cluster, &tap).controller(TwoConfigMaps).start().await.expect("it starts");
        Rig { running, tap }
    }

    /// How many reconciles have ended.
    pub(crate) fn reconciles(&self) -> u64 {
        self.sum_of("controller_runtime_reconcile_total")
    }

    /// Waits until nothing is due and nothing is being reconciled.
    pub(crate) async fn until_idle(&self) {
        let busy = || self.sum_of("workqueue_depth") + self.sum_of("controller_runtime_active_workers");
        eventually("nothing is due", async || busy() == 0).await;
    }

    /// Waits until there has been a reconcile after this number of them, and nothing is due.
    pub(crate) async fn until_reconciled_after(&self, before: u64) {
        eventually("another reconcile", async || self.reconciles() > before).await;
        self.until_idle().await;
    }

    /// How many triggers of a cause were counted.
    pub(crate) fn trigger_count(&self, cause: &str) -> u64 {
        let label = format!("cause=\"{cause}\"");
        self.sum_where("windlass_trigger_total", &label)
    }

    /// The sum over all series of a name.
    pub(crate) fn sum_of(&self, name: &str) -> u64 {
        self.sum_where(name, "")
    }

    /// The sum over all series of a name that have a label.
    fn sum_where(&self, name: &str, label: &str) -> u64 {
        let text = self.running.handle().metrics().text();
        let series = text.lines().filter(|line| line.contains(label)).filter(|line| {
            line.strip_prefix(name).is_some_and(|rest| rest.starts_with('{') || rest.starts_with(' '))
        });
        let values = series.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        values.map(|value| value as u64).sum()
    }
}

/// A manager for a scenario's namespace, on a tap. It does not wait long after failures.
pub(crate) fn manager(cluster: &Cluster, tap: &Tap) -> Manager {
    let backoff = Backoff { initial: Duration::from_millis(20), max: Duration::from_secs(1) };
    Manager::new()
        .client(tap.on(&cluster.client))
        .namespace(&cluster.namespace)
        .preflight(false)
        .queue(QueueSettings { backoff, ..QueueSettings::default() })
}
