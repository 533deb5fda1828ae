//! What the checker finds in the zoo comes true: the traces of broken controllers are played against real processes.

use agreement::{World, zoo_worlds};
use anyhow::{Context, Result};
use windlass_check::Event;
use windlass_zoo::Twin;

use crate::play::reaches;
use crate::trial::is_playable;

/// The specimens whose traces are played by default: those of a crash, of a late write, and of an unlucky order.
const FEW: [&str; 4] = [
    "second_child_in_the_first_ones_branch",
    "deleted_by_name",
    "late_write_without_a_version",
    "whole_object_written_back",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counterexamples_of_the_zoo_come_true() -> Result<()> {
    let plays_all = std::env::var_os("WINDLASS_AGREEMENT").is_some();
    let (mut came_true, mut missed) = (Vec::new(), Vec::new());
    for world in zoo_worlds() {
        let World::Zoo(name, Twin::Broken) = world else { continue };
        if !plays_all && !FEW.contains(&name) {
            continue;
        }
        let check = world.check();
        let stage = check.stage();
        let report = check.only_first_violation().run();
        let violation = report.violation.as_ref().context(name)?;
        // What never comes true has no trace.
        let Some(trace) = violation.trace() else { continue };
        let Some(schedule) = world.check().schedule_of(trace).filter(|_| is_playable(&stage)) else {
            continue;
        };
        if schedule.events.iter().any(|event| matches!(event, Event::Other(_))) {
            continue;
        }
        let divergences = reaches(&world, &stage, &schedule).await.context(name)?;
        match divergences {
            None => came_true.push(name),
            Some(divergences) => missed.push((name, divergences)),
        }
    }
    println!("came true: {came_true:#?}\nnot: {missed:#?}");
    for name in FEW {
        assert!(came_true.contains(&name), "the trace of {name} does not come true: {missed:?}");
    }
    Ok(())
}
