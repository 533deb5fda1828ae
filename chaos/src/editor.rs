//! A user who keeps changing the values of random parents.

use std::time::Duration;

use anyhow::{Result, bail};
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use crate::random::Random;
use crate::setup::{NAMESPACE, task_name};
use crate::task::Task;

/// Whoever waits for longer asks again.
const ANSWERS_WITHIN: Duration = Duration::from_secs(3);
/// A server that is away is back by then, or the run has failed.
const BACK_WITHIN: Duration = Duration::from_secs(180);
const ASK_EVERY: Duration = Duration::from_millis(100);

/// Changes parents at a steady rate. It has the only pen: values only grow.
pub struct Editor {
    tasks: Api<Task>,
    objects: usize,
    random: Random,
    /// The value that comes next.
    next: u64,
}

impl Editor {
    /// An editor of parents that were created with values up to the number of objects.
    pub fn new(client: &kube::Client, objects: usize, seed: u64) -> Self {
        let tasks = Api::namespaced(client.clone(), NAMESPACE);
        Editor { tasks, objects, random: Random::new(!seed), next: objects as u64 + 1 }
    }

    /// Edits until this is dropped.
    ///
    /// # Errors
    /// If the API server does not come back after it was away.
    pub async fn edit(&mut self, per_second: u32) -> Result<()> {
        let mut ticks = interval(Duration::from_secs(1) / per_second.max(1));
        // While a server is away, edits are not made up for.
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let parent = task_name(self.random.below(self.objects as u64) as usize);
            self.set(&parent).await?;
        }
    }

    /// Gives a parent the next value.
    async fn set(&mut self, parent: &str) -> Result<()> {
        let patch = Patch::Merge(json!({ "spec": { "value": self.next } }));
        self.next += 1;
        let parameters = PatchParams::default();
        let edit = self.tasks.patch(parent, &parameters, &patch);
        match timeout(ANSWERS_WITHIN, edit).await {
            Ok(Ok(_)) => Ok(()),
            // Whether it was stored is not known; what is read from now on is later than that.
            _ => self.wait_for_the_server(parent).await,
        }
    }

    async fn wait_for_the_server(&self, parent: &str) -> Result<()> {
        let is_back = async {
            while !matches!(timeout(ANSWERS_WITHIN, self.tasks.get(parent)).await, Ok(Ok(_))) {
                sleep(ASK_EVERY).await;
            }
        };
        match timeout(BACK_WITHIN, is_back).await {
            Ok(()) => Ok(()),
            Err(_) => bail!("the API server does not come back"),
        }
    }
}
