//! A short run with the API server as the registry.

use chaos::run::run;

use crate::{machine, plan, programs, show};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_have_one_writer_each_and_none_is_lost() -> anyhow::Result<()> {
    let _machine = machine().await;
    let report = run(&plan(4), &programs(), &show).await?;
    println!("{report}");
    assert!(report.is_good(), "rules were violated, see above");
    assert!(report.findings.moved_slots > 0, "no slot changed hands: the faults had no effect");
    assert!(!report.findings.failovers.is_empty(), "no object of a failed instance was written by others");
    assert!(report.findings.ring_writes > 0, "the ring was not seen");
    Ok(())
}
