//! How long the objects of a killed instance wait until another one reconciles them.

use std::time::Instant;

use anyhow::{Context, Result};
use windlass_shard::{Slot, SlotCount};

use crate::Sizes;
use crate::cluster::Cluster;
use crate::controllers::{Contestant, LEASE_SECONDS, Work};
use crate::fleet::{Fleet, Members};
use crate::result::{Bar, Results, Row};

const WORK: Work = Work { workers: 32, wait_ms: 0 };

/// The most of p50, p99 and the longest, in this order.
const BARS: [Option<Bar>; 3] = [None, None, Some(Bar::AtMost(9.0))];

/// Kills one of several instances, edits its parents, and waits until all children have the new value; several times.
pub(crate) fn measure(sizes: &Sizes, results: &mut Results) -> Result<()> {
    let contestants = sizes.peers(&[Contestant::Sharded, Contestant::ControllerRuntime]);
    let seconds: Vec<Vec<f64>> =
        contestants.iter().map(|contestant| waits(sizes, *contestant)).collect::<Result<_>>()?;
    let names = ["p50", "p99", "longest"];
    for (place, share) in [0.5, 0.99, 1.0].into_iter().enumerate() {
        let what = format!("reconciled again after a kill, lease {LEASE_SECONDS} s, {}, s", names[place]);
        let mut figures = contestants.iter().zip(&seconds).map(|(who, all)| (*who, quantile(all, share)));
        let ours = figures.next().map_or(f64::NAN, |(_, ours)| ours);
        let row = figures.fold(Row::new(&what, 2, ours), |row, (who, theirs)| row.peer(who, theirs));
        // Whoever shards by a fixed modulo has no one who takes over.
        let row = row.peer(Contestant::Modulo, f64::INFINITY);
        results.row(match BARS[place] {
            Some(bar) => row.bar(bar),
            None => row,
        });
    }
    Ok(())
}

/// The seconds from the kill until each of the lost parents was reconciled, over all repetitions, in order.
fn waits(sizes: &Sizes, contestant: Contestant) -> Result<Vec<f64>> {
    let cluster = Cluster::start(sizes.windlass)?;
    let members = Members { contestant, work: WORK, go: sizes.go, kubeconfig: None };
    let mut fleet = Fleet::start(&cluster, members, sizes.instances)?;
    cluster.create('p', sizes.failover_parents, "0")?;
    let mut seconds = Vec::new();
    for repetition in 0..sizes.repetitions {
        fleet.settle(&format!("settled-{repetition}"))?;
        let victim = match contestant {
            Contestant::ControllerRuntime => fleet.leader()?,
            _ => repetition % fleet.len(),
        };
        let lost = parents_of(&cluster, &fleet, contestant, victim)?;
        let waited = kill(&cluster, &mut fleet, victim, &lost, &format!("again-{repetition}"))?;
        let longest = waited.last().copied().unwrap_or_default();
        eprintln!("  {}: {} parents after at most {longest:.2} s", contestant.name(), lost.len());
        seconds.extend(waited);
        fleet.restart(victim)?;
    }
    seconds.sort_by(f64::total_cmp);
    Ok(seconds)
}

/// The parents of an instance; of one that has them all, as many as it would have if it shared them.
fn parents_of(
    cluster: &Cluster,
    fleet: &Fleet<'_>,
    contestant: Contestant,
    victim: usize,
) -> Result<Vec<String>> {
    let all = cluster.parents()?;
    if contestant == Contestant::ControllerRuntime {
        return Ok(all.iter().step_by(fleet.len()).map(|(name, _)| name.clone()).collect());
    }
    let ring = fleet.ring()?.context("there is no ring")?;
    let victim = crate::controllers::instance_name(victim);
    let is_lost = |uid: &str| ring.owner(Slot::of(uid, SlotCount::DEFAULT)).id.as_str() == victim;
    Ok(all.into_iter().filter(|(_, uid)| is_lost(uid)).map(|(name, _)| name).collect())
}

fn kill(
    cluster: &Cluster,
    fleet: &mut Fleet<'_>,
    victim: usize,
    lost: &[String],
    value: &str,
) -> Result<Vec<f64>> {
    let mut children = cluster.children()?;
    fleet.kill(victim)?;
    let killed = Instant::now();
    let seen = std::thread::scope(|scope| {
        let clients = scope.spawn(|| cluster.edit(lost, value));
        let seen = children.wait(lost.len(), value, |_| true);
        clients.join().map_err(|_| anyhow::anyhow!("a client panicked"))??;
        seen
    });
    let seen = fleet.explained(seen)?;
    Ok(seen.iter().map(|moment| moment.duration_since(killed).as_secs_f64()).collect())
}

/// The least figure that such a share of all does not exceed.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(place.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_figures_that_were_seen() {
        let figures: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!([0.5, 0.99, 1.0].map(|share| quantile(&figures, share)), [50.0, 99.0, 100.0]);
        assert!(quantile(&[], 0.5).is_nan());
    }
}
