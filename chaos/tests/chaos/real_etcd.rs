//! A short run with a real etcd as the registry.

use chaos::plan::{Plan, RegistryKind};
use chaos::run::run;

use crate::{machine, plan, programs, show};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_have_one_writer_each_and_none_is_lost() -> anyhow::Result<()> {
    let _machine = machine().await;
    let plan = Plan { registry: RegistryKind::Etcd, ..plan(23) };
    let report = run(&plan, &programs(), &show).await?;
    println!("{report}");
    assert!(report.is_good(), "rules were violated, see above");
    assert!(report.findings.moved_slots > 0, "no slot changed hands: the faults had no effect");
    assert!(!report.findings.failovers.is_empty(), "no object of a failed instance was written by others");
    Ok(())
}
