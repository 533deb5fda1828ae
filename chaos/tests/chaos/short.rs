//! Two minutes of faults in three runs: each server and each registry, by a fixed seed.

use anyhow::{Result, ensure};
use chaos::plan::Plan;
use chaos::run::run;

use crate::{machine, plan, programs, show};

/// Runs a plan, and demands that nothing is violated and that the faults had an effect.
pub(crate) async fn survives(plan: Plan) -> Result<()> {
    let _machine = machine().await;
    let report = run(&plan, &programs(), &show).await?;
    println!("{report}");
    ensure!(report.is_good(), "rules were violated, see above");
    ensure!(report.findings.moved_slots > 0, "no slot changed hands: the faults had no effect");
    ensure!(!report.findings.failovers.is_empty(), "no object of a failed instance was written by others");
    ensure!(report.findings.ring_writes > 0, "the ring was not seen");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_have_one_writer_each_and_none_is_lost() -> Result<()> {
    survives(plan(4)).await
}
