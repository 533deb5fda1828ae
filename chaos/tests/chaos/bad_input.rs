//! What somebody may do to a fleet by mistake: a name that is given twice, a ring that is edited by hand.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use chaos::fleet::Fleet;
use chaos::plan::Plan;
use chaos::run::Stage;
use chaos::servers::client;
use chaos::setup::ring_resource;
use chaos::task::CONTROLLER;
use chaos::witness::Witness;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::{machine, plan, programs};

const EDITS: u32 = 40;
/// A message is in the log by then.
const SAID_WITHIN: Duration = Duration::from_secs(60);
const ASK_EVERY: Duration = Duration::from_millis(50);

async fn two_instances() -> Result<Stage> {
    let plan = Plan { instances: 2, objects: 60, ..plan(5) };
    let mut stage = Stage::set(&plan, &programs()).await?;
    stage.fleet.scale(2).await?;
    stage.wait_for_children().await?;
    Ok(stage)
}

/// Waits until an instance has said something.
async fn until_said(fleet: &Fleet, words: &str) -> Result<()> {
    let said = async {
        while !fleet.logs().contains(words) {
            sleep(ASK_EVERY).await;
        }
    };
    timeout(SAID_WITHIN, said).await.with_context(|| format!("no instance has said {words:?}"))
}

/// Waits until every object was edited and written once more.
async fn until_all_written(witness: &mut Witness) {
    let at_ms = witness.auditor().last_write_ms();
    witness.wait_until(|auditor| auditor.oldest_write_ms() > at_ms).await;
}

async fn finish(stage: Stage) -> Result<()> {
    let (report, _fleet) = stage.finish().await;
    println!("{report}");
    ensure!(report.is_good(), "rules were violated, see above");
    Ok(())
}

/// The second process of a name waits, says why, and takes over when the first is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn second_process_of_a_name_waits_until_the_first_is_gone() -> Result<()> {
    let _machine = machine().await;
    let mut stage = two_instances().await?;
    let Stage { fleet, witness, editor, .. } = &mut stage;
    let misnamed = async {
        fleet.add("app-0").await?;
        until_said(fleet, "another process runs as instance app-0").await?;
        until_all_written(witness).await;
        fleet.instance(0)?.kill()?;
        until_all_written(witness).await;
        anyhow::Ok(())
    };
    tokio::select! {
        misnamed = misnamed => misnamed?,
        edited = editor.edit(EDITS) => edited?,
    }
    finish(stage).await
}

/// A status that makes no sense is explained, and objects are reconciled by what was known before. Once the ring is
/// deleted, it is made again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ring_that_was_edited_by_hand_is_explained_and_made_again() -> Result<()> {
    let _machine = machine().await;
    let mut stage = two_instances().await?;
    let client = client(stage.fleet.servers().access()).await?;
    let rings: Api<DynamicObject> = Api::all_with(client, &ring_resource());
    let Stage { fleet, witness, editor, .. } = &mut stage;
    let edited_by_hand = async {
        let run = json!({ "from": 0, "to": 4095, "owner": 9, "epoch": 1, "phase": "Owned", "clean": true });
        let status = Patch::Merge(json!({ "status": { "slots": [run] } }));
        rings.patch_status(CONTROLLER, &PatchParams::default(), &status).await?;
        until_said(fleet, "the owner of the run from slot 0 is instance 9").await?;
        until_all_written(witness).await;
        rings.delete(CONTROLLER, &DeleteParams::default()).await?;
        until_all_written(witness).await;
        anyhow::Ok(())
    };
    tokio::select! {
        edited_by_hand = edited_by_hand => edited_by_hand?,
        edited = editor.edit(EDITS) => edited?,
    }
    finish(stage).await
}
