//! A process that is killed while it writes: what it acknowledged is there, and the history has no gap.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::*;

const CHILD: &str = "WINDLASS_STORE_TEST_FOLDER";
const THIS_TEST: &str = "store::tests::killed::nothing_that_was_acknowledged_is_lost";
const WRITERS: usize = 8;
const KILLS: usize = 12;

fn options(folder: &Path) -> StoreOptions {
    let history = HistoryLimits { changes: 300, ..HistoryLimits::default() };
    StoreOptions { folder: Some(folder.to_owned()), history, ..StoreOptions::default() }
}

#[test]
fn nothing_that_was_acknowledged_is_lost() {
    match std::env::var_os(CHILD) {
        // This test again, as the process that is killed.
        Some(folder) => write_until_killed(Path::new(&folder)),
        None => kill_again_and_again(),
    }
}

fn kill_again_and_again() {
    let folder = TemporaryFolder::new();
    let mut random = Random(u64::from(std::process::id()));
    let mut seen = 0;
    for _ in 0..KILLS {
        let acknowledged = killed_after(folder.path(), 1 + random.below(150));
        seen = check(folder.path(), &acknowledged, seen);
    }
}

/// Runs a child until it has acknowledged this many writes, and kills it. Returns the last counter and its version by
/// writer.
fn killed_after(folder: &Path, writes: u64) -> BTreeMap<usize, (u64, u64)> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", THIS_TEST, "--nocapture"])
        .env(CHILD, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut acknowledged = BTreeMap::new();
    let mut count = 0;
    for line in lines {
        let line = line.unwrap();
        let Some(numbers) = line.strip_prefix("acknowledged ").and_then(|rest| rest.strip_suffix('.')) else {
            continue;
        };
        let numbers: Vec<u64> = numbers.split(' ').map(|number| number.parse().unwrap()).collect();
        acknowledged.insert(usize::try_from(numbers[0]).unwrap(), (numbers[1], numbers[2]));
        count += 1;
        if count == writes {
            // What it acknowledges until it is dead is read, too.
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(count >= writes, "the child ended by itself after {count} writes");
    acknowledged
}

/// Checks what a killed process has left. Returns the newest version.
fn check(folder: &Path, acknowledged: &BTreeMap<usize, (u64, u64)>, seen: u64) -> u64 {
    let storage = Storage::open(&options(folder)).unwrap();
    let snapshot = storage.snapshot();
    for (writer, (counter, version)) in acknowledged {
        let object = snapshot.raw(&key(&format!("w{writer}"))).expect("it was acknowledged");
        let found: u64 = text(&object.parse()).parse().unwrap();
        assert!(found == *counter || found == counter + 1, "writer {writer}: {found} instead of {counter}");
        assert!(object.version() >= *version && snapshot.version() >= *version);
    }
    // A watch resumes from where it was before the kill, unless that is too long ago.
    let compacted = storage.statistics().history.compacted;
    let mut version = seen.max(compacted);
    let mut feed = storage.feed_of_all(version).unwrap();
    loop {
        let records = feed.ready().unwrap();
        if records.is_empty() {
            break;
        }
        for record in records {
            version += 1;
            assert_eq!(record.version, version, "the history has a gap");
        }
    }
    assert_eq!(version, snapshot.version());
    version
}

fn write_until_killed(folder: &Path) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let storage = Storage::open(&options(folder)).unwrap();
        if storage.snapshot().version() == 0 {
            add_namespace(&storage, "default").await;
        }
        let writers = (0..WRITERS).map(|writer| tokio::spawn(count_up(storage.clone(), writer)));
        for writer in writers.collect::<Vec<_>>() {
            writer.await.unwrap();
        }
    });
}

async fn count_up(storage: Storage, writer: usize) {
    let name = format!("w{writer}");
    loop {
        let existing = storage.snapshot().raw(&key(&name));
        let counter = existing.as_ref().map_or(0, |object| text(&object.parse()).parse::<u64>().unwrap() + 1);
        let data = counter.to_string();
        let write = if existing.is_some() { update(&name, &data) } else { create(&name, &data) };
        let effect = storage.write(evaluate(write)).await.unwrap().effect;
        // The final period distinguishes a whole line from one that was cut off.
        println!("acknowledged {writer} {counter} {}.", effect.changes[0].version);
    }
}
