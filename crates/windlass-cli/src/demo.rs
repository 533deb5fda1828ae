//! `windlass demo`: a controller, a crash, a repair, and a proof.

use std::time::SystemTime;

use anyhow::{Context, bail, ensure};
use kube::CustomResourceExt;
use two_configmaps::{Pair, SecondFirst, TwoConfigMaps, pair};
use windlass::local::Local;
use windlass::model::{Cluster, Request, Store, Timestamp, Verb};
use windlass::{Ask, Controller, Kind, ObjectRef, Step, Verdict, to_value};

use crate::check::bundled;

/// Runs the whole demonstration; an error means that something did not come out as promised.
pub(crate) fn run() -> anyhow::Result<()> {
    let controller = Controller::new(TwoConfigMaps);
    let mut local = Local::new(cluster_with_pairs()?);
    local.set_now(Timestamp::from_unix_seconds(unix_seconds()));

    println!("1. A cluster in memory, with two objects of kind Pair: a and b.\n");
    println!("2. The controller `{}` reconciles a:", controller.name());
    reconcile(&mut local, &controller, "a")?;

    println!("\n3. It reconciles b, and is killed after the first ConfigMap:");
    let sent = crash_after_first_output(&mut local, &controller, "b")?;
    println!("   (killed after {sent} requests)");
    show_config_maps(&local);

    println!("\n4. It starts again. Nothing was kept but what the API holds:");
    reconcile(&mut local, &controller, "b")?;
    show_config_maps(&local);

    println!("\n5. Was that luck? Every interleaving, with crashes, duplicates and reordering:");
    let report = bundled::pairs(TwoConfigMaps).run();
    print!("   {report}");
    ensure!(report.holds(), "the bundled controller does not hold");

    println!("\n6. The same controller with the two ConfigMaps in the wrong order:");
    let report = bundled::pairs(SecondFirst).run();
    ensure!(!report.holds(), "the mistake was not found");
    print!("{}", indent(&report.to_string()));

    println!("\nDone. Next: read examples/01-two-configmaps, and write a check of your own.");
    Ok(())
}

/// The command line is a shell around pure code: here, and only here, the clock is read.
fn unix_seconds() -> i64 {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_epoch.as_secs()).unwrap_or(i64::MAX)
}

fn cluster_with_pairs() -> anyhow::Result<Cluster> {
    let mut cluster = Cluster::new();
    let definition = serde_json::to_value(Pair::crd())?;
    cluster.install_crd(&definition).map_err(|status| anyhow::anyhow!(status.message))?;
    for name in ["a", "b"] {
        let create = Request::new(Verb::Create, Pair::kind_info().resource).in_namespace("default");
        let response = cluster.request(&create.with_body(to_value(&pair(name))?));
        if let Some(status) = response.failure() {
            bail!("creating the Pair {name}: {}", status.message);
        }
    }
    Ok(cluster)
}

fn reconcile(local: &mut Local, controller: &Controller, name: &str) -> anyhow::Result<()> {
    let ended = local.reconcile(controller, &ObjectRef::new("default", name))?;
    for (ask, answer) in &local.log {
        println!("   {}", windlass_check::exchange(ask, answer));
    }
    println!("   states {}, {:?}", ended.path.join(" -> "), ended.verdict);
    ensure!(matches!(ended.verdict, Verdict::Done { .. }), "{name} did not become ready");
    Ok(())
}

/// Drops the coroutine in the middle, as a killed process would.
fn crash_after_first_output(local: &mut Local, controller: &Controller, name: &str) -> anyhow::Result<usize> {
    let mut coroutine = controller.reconcile(&ObjectRef::new("default", name), false);
    let mut answers = Vec::new();
    for sent in 1.. {
        let Step::Ask(asks) = coroutine.resume(std::mem::take(&mut answers)) else {
            bail!("the reconcile of {name} ended before it could be killed");
        };
        let first_output = asks.iter().any(Ask::has_effect);
        for ask in &asks {
            let answer = local.perform(ask);
            println!("   {}", windlass_check::exchange(ask, &answer));
            answers.push(answer);
        }
        if first_output {
            return Ok(sent);
        }
    }
    Err(anyhow::anyhow!("the reconcile of {name} never wrote anything")).context("windlass demo")
}

fn show_config_maps(local: &Local) {
    let maps = local.cluster.store().scan("", "configmaps", Some("default"), None);
    let names: Vec<String> = maps.map(|(key, _)| key.name.to_string()).collect();
    println!("   ConfigMaps now: {}", names.join(", "));
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("   {line}\n")).collect()
}
