//! Instances that break a rule of the protocol: the auditor must notice.

use anyhow::{Result, bail};
use chaos::audit::Violation;
use chaos::fault::{Fault, Planned};
use chaos::plan::Plan;
use chaos::run::Stage;
use chaos::strike::strike;

use crate::{machine, plan, programs};

/// How often one instance after the other is paused. Most of the time the first pause suffices.
const PAUSES: usize = 20;
/// Longer than the lease, so that others take over, and long enough for many edits to wait.
const PAUSED_MS: u64 = 8_500;
const EDITS: u32 = 100;

/// Rule 3: end the lease of an instance before its slots are given to others. Without it, an instance that was paused
/// renews its lease when it wakes up, and writes before it has seen the ring.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn moving_slots_without_ending_the_lease_is_noticed() -> Result<()> {
    let _machine = machine().await;
    let found = violations_of("MovesWithoutKill").await?;
    let is_of_epochs = |violation: &&Violation| matches!(violation.rule(), "oldEpoch" | "twoWriters");
    match found.iter().find(is_of_epochs) {
        Some(violation) => println!("noticed: {violation}"),
        None => bail!("two instances wrote the same objects, and the auditor has not noticed"),
    }
    Ok(())
}

/// Pauses one instance after the other until the auditor has found something.
async fn violations_of(rule: &str) -> Result<Vec<Violation>> {
    let plan = Plan { mutant: Some(rule.to_owned()), instances: 3, ..plan(6) };
    let mut stage = Stage::set(&plan, &programs()).await?;
    stage.fleet.scale(plan.instances).await?;
    stage.wait_for_children().await?;
    let pause = |number: usize| {
        let from_ms = number as u64 * (PAUSED_MS + 3_000);
        Planned { from_ms, until_ms: from_ms + PAUSED_MS, fault: Fault::Pause(number % plan.instances) }
    };
    let planned: Vec<Planned> = (0..PAUSES).map(pause).collect();
    let Stage { clock, fleet, witness, editor, .. } = &mut stage;
    tokio::select! {
        struck = strike(&planned, *clock, fleet) => drop(struck?),
        edited = editor.edit(EDITS) => edited?,
        () = witness.wait_until(|auditor| !auditor.so_far().violations.is_empty()) => {}
    }
    let found = stage.witness.auditor().so_far().violations.clone();
    Ok(found)
}
