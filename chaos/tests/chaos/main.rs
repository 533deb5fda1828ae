//! Real processes of a sharded controller under faults: short runs of what `cargo xtask chaos` does for longer, and what
//! is done to a fleet on purpose.

mod bad_input;
mod mutant;
mod real_etcd;
mod scaling;
mod short;

use std::path::PathBuf;
use std::time::Duration;

use chaos::plan::{Plan, Programs};
use tokio::sync::{Mutex, MutexGuard};

/// Runs measure how long things take, so one has the machine for itself.
static MACHINE: Mutex<()> = Mutex::const_new(());

async fn machine() -> MutexGuard<'static, ()> {
    MACHINE.lock().await
}

fn programs() -> Programs {
    Programs {
        tasks: PathBuf::from(env!("CARGO_BIN_EXE_chaos-tasks")),
        server: PathBuf::from(env!("CARGO_BIN_EXE_chaos-server")),
        assets: conformance::kubernetes::assets(),
        faketime: None,
    }
}

/// A run that a test has time for. Machines that run tests may be busy, so the bar is higher than that of a long run.
fn plan(seed: u64) -> Plan {
    Plan { duration: Duration::from_secs(40), objects: 300, bar: Duration::from_secs(15), ..Plan::new(seed) }
}

fn show(line: &str) {
    println!("{line}");
}
