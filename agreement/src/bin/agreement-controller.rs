//! Runs one controller process of a world until it is killed: `agreement-controller WORLD PROCESS URL`.
//!
//! Its first line on the standard output says where metrics and health are served.

use std::net::SocketAddr;
use std::time::Duration;

use agreement::World;
use anyhow::{Context, Result};
use windlass_runtime::Manager;
use windlass_runtime::queue::{Backoff, QueueSettings};

/// A reconcile that failed is not to be waited for long.
const BACKOFF: Backoff = Backoff { initial: Duration::from_millis(20), max: Duration::from_millis(200) };

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut next = |what: &str| arguments.next().with_context(|| format!("say the {what}"));
    let world: World = next("world")?.parse()?;
    let process: usize = next("number of the process")?.parse()?;
    let url = next("URL of the API server")?.parse()?;
    let stage = world.check().stage();
    let controller = stage.processes.get(process).context("the world has no such process")?.clone();
    let client = kube::Client::try_from(kube::Config::new(url))?;
    let running = Manager::new()
        .client(client)
        .with_controller(controller)
        .workers(stage.workers)
        .queue(QueueSettings { backoff: BACKOFF, ..QueueSettings::default() })
        .endpoints(SocketAddr::from(([127, 0, 0, 1], 0)))
        .events(false)
        .preflight(false)
        .start()
        .await?;
    println!("{}", running.endpoints().context("the endpoints are served")?);
    std::future::pending().await
}
