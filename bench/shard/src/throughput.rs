//! How many parents are reconciled in a second, and what the instances read of their children.

use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::Sizes;
use crate::cluster::{Cluster, rate_between};
use crate::controllers::{Contestant, Work};
use crate::fleet::{Fleet, Members};
use crate::proxy::Proxy;
use crate::result::{Bar, Results, Row, median};

/// As many workers as `run` has by default, with nothing to wait for: the processor decides.
const BUSY: Work = Work { workers: 32, wait_ms: 0 };
/// Parents of each instance that show whether it serves all its slots.
const WARM_UP: u64 = 50;
/// When no more bytes come for so long, all have come.
const QUIET: Duration = Duration::from_millis(500);

/// When no watch is opened for so long, none was waiting to be.
const WATCHES_STAY: Duration = Duration::from_secs(6);

/// Children, by the bytes of their values. Sharding adds a label and an annotation to each, which weigh most in the smallest.
const CHILDREN: [(usize, &str); 2] = [(0, "smallest child"), (4_000, "child with 4 kB")];

/// One instance, sharded and not, in turns.
pub(crate) fn overhead(sizes: &Sizes, results: &mut Results) -> Result<()> {
    CHILDREN
        .into_iter()
        .try_for_each(|(value_bytes, child)| overhead_with(sizes, results, value_bytes, child))
}

fn overhead_with(sizes: &Sizes, results: &mut Results, value_bytes: usize, child: &str) -> Result<()> {
    let (mut rates, mut ratios) = (Vec::new(), Vec::new());
    for round in 0..sizes.rounds {
        let mut pair = [Contestant::Unsharded, Contestant::Sharded];
        // Neither of the two is always the first.
        pair.rotate_left(round % 2);
        let mut by_sharded = [0.0; 2];
        for contestant in pair {
            let rate = rate_alone(sizes, contestant, value_bytes)?;
            eprintln!("  {}: {rate:.0} reconciles/s, {child}", contestant.name());
            by_sharded[usize::from(contestant == Contestant::Sharded)] = rate;
        }
        rates.push(by_sharded[1]);
        ratios.push(by_sharded[1] / by_sharded[0]);
    }
    let what = format!("one instance, {child}, nothing to wait for, reconciles/s");
    results.row(Row::new(&what, 0, median(&rates)));
    results.row(Row::new("  sharded / unsharded", 3, median(&ratios)).bar(Bar::AtLeast(0.97)));
    Ok(())
}

/// The rate of an instance between the first and the last tenth of parents that were all made while it was stopped: no
/// client takes time from it.
fn rate_alone(sizes: &Sizes<'_>, contestant: Contestant, value_bytes: usize) -> Result<f64> {
    let cluster = Cluster::start(sizes.windlass)?;
    let members = Members { contestant, work: BUSY, go: None, kubeconfig: None };
    let mut fleet = Fleet::start(&cluster, members, 1)?;
    cluster.create('w', WARM_UP, "0")?;
    fleet.settle("1")?;
    let mut children = cluster.children()?;
    fleet.signal("STOP")?;
    let value = padded("first", value_bytes);
    cluster.create('p', sizes.busy_parents, &value)?;
    fleet.signal("CONT")?;
    let tenth = sizes.busy_parents as usize / 10;
    let seen = fleet.explained(children.wait(9 * tenth, &value, |name| name.starts_with('p')))?;
    let (from, until) = (seen.get(tenth), seen.last());
    let (from, until) = from.zip(until).context("there must be at least ten parents")?;
    Ok(rate_between(&seen, *from, *until))
}

/// One instance, two, and all, of each contestant, when each reconcile waits for something outside.
pub(crate) fn together(sizes: &Sizes, results: &mut Results) -> Result<()> {
    let contestants = sizes.peers(&[Contestant::Sharded, Contestant::Modulo, Contestant::ControllerRuntime]);
    let mut counts = vec![1, 2, sizes.instances];
    counts.dedup();
    // For each contestant and each number of instances, one rate of each round.
    let mut rates = vec![vec![Vec::new(); counts.len()]; contestants.len()];
    for _ in 0..sizes.rounds {
        for (contestant, rates) in contestants.iter().zip(&mut rates) {
            for (count, rates) in counts.iter().zip(rates) {
                let rate = rate_of_backlog(sizes, *contestant, *count)?;
                eprintln!("  {}, {count} instances: {rate:.0} reconciles/s", contestant.name());
                rates.push(rate);
            }
        }
    }
    let row = |what: &str, digits, figure: &dyn Fn(&[Vec<f64>]) -> f64| {
        let mut figures = contestants.iter().zip(&rates).map(|(who, rates)| (*who, figure(rates)));
        let ours = figures.next().map_or(f64::NAN, |(_, ours)| ours);
        figures.fold(Row::new(what, digits, ours), |row, (who, theirs)| row.peer(who, theirs))
    };
    let wait_ms = sizes.waiting.wait_ms;
    for (place, count) in counts.iter().enumerate() {
        let what = format!("{count} instances, {wait_ms} ms outside, reconciles/s");
        results.row(row(&what, 0, &|rates| median(&rates[place])));
        if *count > 1 {
            let gain = row("  how many times one instance", 2, &|rates| {
                let gains = rates[place].iter().zip(&rates[0]).map(|(several, one)| several / one);
                median(&gains.collect::<Vec<_>>())
            });
            // What the bar asks of five instances, of as many as there are.
            results.row(gain.bar(Bar::AtLeast(0.9 * *count as f64)));
        }
    }
    Ok(())
}

/// The rate of instances that all have more parents than they can reconcile.
fn rate_of_backlog(sizes: &Sizes<'_>, contestant: Contestant, count: usize) -> Result<f64> {
    let cluster = Cluster::start(sizes.windlass)?;
    let members = Members { contestant, work: sizes.waiting, go: sizes.go, kubeconfig: None };
    let mut fleet = Fleet::start(&cluster, members, count)?;
    cluster.create('w', WARM_UP * count as u64, "0")?;
    fleet.settle("1")?;
    let mut children = cluster.children()?;
    let parents = sizes.parents * count as u64;
    let created = OnceLock::new();
    let enough = parents as usize * 8 / 10;
    let seen = std::thread::scope(|scope| {
        let clients = scope.spawn(|| -> Result<()> {
            cluster.create('p', parents, "first")?;
            created.get_or_init(Instant::now);
            Ok(())
        });
        let seen = children.wait(enough, "first", |name| name.starts_with('p'));
        clients.join().map_err(|_| anyhow::anyhow!("a client panicked"))??;
        seen
    });
    let seen = fleet.explained(seen)?;
    let (from, until) = created.get().zip(seen.last()).context("no parents")?;
    let late = seen.iter().filter(|moment| *moment >= from).count();
    ensure!(late * 3 >= enough, "the instances were as fast as the clients, so this says nothing about them");
    Ok(rate_between(&seen, *from, *until))
}

/// What all instances together read of their children, while these are made and changed once.
pub(crate) fn watch_bytes(sizes: &Sizes<'_>, results: &mut Results) -> Result<()> {
    for (value_bytes, child) in CHILDREN {
        let ratio = |contestant, alone| -> Result<(f64, f64)> {
            let one = bytes_per_child(sizes, alone, 1, value_bytes)?;
            let several = bytes_per_child(sizes, contestant, sizes.instances, value_bytes)?;
            eprintln!("  {}: {one:.0} and {several:.0} bytes of a {child}", contestant.name());
            Ok((several, several / one))
        };
        let ours = ratio(Contestant::Sharded, Contestant::Unsharded)?;
        let theirs = ratio(Contestant::Modulo, Contestant::Modulo)?;
        let what = format!("bytes read of a {child} by all {}", sizes.instances);
        results.row(Row::new(&what, 0, ours.0).peer(Contestant::Modulo, theirs.0));
        let row = Row::new("  those of one, unsharded, times", 3, ours.1).bar(Bar::AtMost(1.1));
        results.row(row.peer(Contestant::Modulo, theirs.1));
    }
    Ok(())
}

fn bytes_per_child(
    sizes: &Sizes<'_>,
    contestant: Contestant,
    count: usize,
    value_bytes: usize,
) -> Result<f64> {
    let cluster = Cluster::start(sizes.windlass)?;
    let proxy = Proxy::start(cluster.server.access())?;
    let kubeconfig = Some(proxy.kubeconfig());
    let members = Members { contestant, work: BUSY, go: sizes.go, kubeconfig };
    let mut fleet = Fleet::start(&cluster, members, count)?;
    cluster.create('w', WARM_UP * count as u64, "0")?;
    fleet.settle("1")?;
    until_watches_stay(&proxy);
    let before = when_quiet(&proxy);
    let [first, second] = ["first", "second"].map(|value| padded(value, value_bytes));
    cluster.create('p', sizes.parents, &first)?;
    let made = cluster.children()?.wait(sizes.parents as usize, &first, |name| name.starts_with('p'));
    fleet.explained(made)?;
    let names: Vec<String> = (0..sizes.parents).map(|number| format!("p-{number}")).collect();
    cluster.edit(&names, &second)?;
    let changed = cluster.children()?.wait(names.len(), &second, |name| name.starts_with('p'));
    fleet.explained(changed)?;
    Ok((when_quiet(&proxy) - before) as f64 / sizes.parents as f64)
}

fn padded(value: &str, bytes: usize) -> String {
    value.to_owned() + &"x".repeat(bytes)
}

/// Waits until watches have been the same for a while: an instance that has owned more slots than now narrows its watches a few
/// seconds later.
fn until_watches_stay(proxy: &Proxy) {
    let (mut requests, mut since) = (proxy.requests(), Instant::now());
    while since.elapsed() < WATCHES_STAY {
        sleep(QUIET);
        if proxy.requests() != requests {
            (requests, since) = (proxy.requests(), Instant::now());
        }
    }
}

fn when_quiet(proxy: &Proxy) -> u64 {
    let mut bytes = proxy.bytes();
    loop {
        sleep(QUIET);
        let now = proxy.bytes();
        if now == bytes {
            return now;
        }
        bytes = now;
    }
}
