//! What is acknowledged is there after a kill.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use crate::running::{Running, eventually, network};

/// A delay that differs from run to run; a failure prints it.
fn random_delay() -> Duration {
    let nanos = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").subsec_nanos();
    Duration::from_millis(u64::from(nanos % 400))
}

/// Persists at the first while the last is killed after a random delay, and returns what was acknowledged.
fn persist_while_the_last_is_killed(peers: &mut [Running; 3]) -> Vec<String> {
    let delay = random_delay();
    eprintln!("killed after {delay:?}");
    let [first, _, last] = peers;
    let is_dead = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(delay);
            last.kill();
            is_dead.store(true, Ordering::Relaxed);
        });
        let (mut acknowledged, mut after) = (Vec::new(), 0);
        // Before its death, around it, and some after it.
        for number in 0.. {
            after += usize::from(is_dead.load(Ordering::Relaxed));
            let payload = format!("block {number}");
            if first.persist(&payload) {
                acknowledged.push(payload);
            }
            if after > 5 {
                break;
            }
        }
        acknowledged
    })
}

#[track_caller]
fn check_all_there(acknowledged: &[String], survivors: [&Running; 2]) {
    assert!(!acknowledged.is_empty());
    for survivor in survivors {
        eventually("every acknowledged block is there", || {
            let there = survivor.query();
            acknowledged.iter().all(|block| there.contains(block))
        });
    }
    let same = || survivors[0].query() == survivors[1].query();
    eventually("both have the same order", same);
}

#[test]
fn no_acknowledged_block_is_lost_with_another_peer() {
    let mut peers = network();
    let acknowledged = persist_while_the_last_is_killed(&mut peers);
    let [first, second, _] = &mut peers;
    check_all_there(&acknowledged, [first, second]);
    first.wait_for("peer-dropped");
    second.wait_for("peer-dropped");
}

#[test]
fn no_acknowledged_block_is_lost_with_the_peer_that_took_it() {
    let mut peers = network();
    let stop = AtomicBool::new(false);
    let address = peers[0].address().to_owned();
    let acknowledged = std::thread::scope(|scope| {
        let client = scope.spawn(|| {
            let mut acknowledged = Vec::new();
            for number in 0.. {
                let payload = format!("block {number}");
                if crate::running::ask(&["persist", &address, &payload]).status.success() {
                    acknowledged.push(payload);
                } else if stop.load(Ordering::Relaxed) {
                    return acknowledged;
                }
            }
            acknowledged
        });
        // One is acknowledged for certain, and then it dies under the client's hands.
        eventually("a block is there", || !peers[1].query().is_empty());
        std::thread::sleep(random_delay());
        peers[0].kill();
        stop.store(true, Ordering::Relaxed);
        client.join().expect("the client ends")
    });
    let [_, second, third] = &peers;
    check_all_there(&acknowledged, [second, third]);
}

#[test]
fn a_killed_peer_comes_back_with_its_chain_and_catches_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().to_str().expect("UTF-8");
    let first = Running::start(&[]);
    let mut second = Running::start(&["--data", data, "--join", first.address()]);
    second.wait_for("joined");
    assert!(second.persist("before"));
    second.kill();
    // Not acknowledged as long as the dead one is a member, and then by the first on its own.
    eventually("the first goes on without it", || first.persist("meanwhile"));
    let again = Running::start(&["--data", data]);
    eventually("it has caught up", || {
        let there = again.query();
        there == first.query() && there.contains(&"meanwhile".to_owned())
    });
    assert_eq!(again.query()[0], "before");
}
