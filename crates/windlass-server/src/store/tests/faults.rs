//! A disk that fails: what was acknowledged is kept, what was refused is not seen, and reads go on.

use std::collections::BTreeMap;
use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use windlass_model::Change;

use super::simulated_disk::{Faults, SimulatedDisk};
use super::*;
use crate::store::Record;
use crate::store::disk::Disk;
use crate::store::state::State;

/// What each object is known to be: by acknowledged writes, and perhaps by one that failed.
#[derive(Default)]
struct Expected {
    acknowledged: BTreeMap<String, String>,
    failed: Vec<(String, String)>,
}

impl Expected {
    /// Writes a few objects, some of them twice.
    async fn write(&mut self, storage: &Storage, round: usize) {
        for number in 0..12 {
            let name = format!("n{}", number % 8);
            let data = format!("{round}-{number}-{}", "x".repeat(200 * (number % 3)));
            let known = storage.snapshot().raw(&key(&name)).is_some();
            let write = if known { update(&name, &data) } else { create(&name, &data) };
            match request(storage, write).await {
                Ok(response) => {
                    assert!(response.failure().is_none(), "{response:?}");
                    self.acknowledged.insert(name, data);
                }
                Err(_) => self.failed.push((name, data)),
            }
        }
    }

    /// Every object is as it was last acknowledged.
    fn check(&self, snapshot: &Snapshot) {
        assert_eq!(data_of(snapshot), self.acknowledged);
    }

    /// Every object is as it was last acknowledged, or as a write would have made it that failed.
    fn check_after_end(&self, snapshot: &Snapshot) {
        for (name, data) in &self.acknowledged {
            assert!(data_of(snapshot).contains_key(name), "{name} is lost: {data}");
        }
        for (name, data) in data_of(snapshot) {
            let failed = self.failed.contains(&(name.clone(), data.clone()));
            assert!(failed || self.acknowledged.get(&name) == Some(&data), "{name} is {data}");
        }
    }
}

fn data_of(snapshot: &Snapshot) -> BTreeMap<String, String> {
    let objects = snapshot.scan_raw("", "configmaps", None, None);
    objects.map(|(key, object)| (key.name.to_string(), text(&object.parse()).to_owned())).collect()
}

/// A short history is folded all the time; a long one is not folded in these tests.
const SHORT: usize = 5;
const LONG: usize = 1000;

async fn prepared(changes: usize) -> (SimulatedDisk, Storage) {
    let disk = SimulatedDisk::new();
    let limits = HistoryLimits { changes, ..HistoryLimits::default() };
    let storage = disk.open_with(limits).unwrap();
    add_namespace(&storage, "default").await;
    (disk, storage)
}

/// How many operations of the disk the script of these tests takes.
async fn operations_of_script(changes: usize) -> u64 {
    let (disk, storage) = prepared(changes).await;
    disk.inject(Faults::default());
    Expected::default().write(&storage, 0).await;
    disk.operations()
}

#[tokio::test]
async fn one_failure_at_any_moment_fails_one_write_and_no_other() {
    let mut moments: Vec<(usize, u64)> = Vec::new();
    for (changes, step) in [(SHORT, 1), (LONG, 3)] {
        let numbers = (0..operations_of_script(changes).await).step_by(step);
        moments.extend(numbers.map(|number| (changes, number)));
    }
    for (changes, number) in moments {
        let (disk, storage) = prepared(changes).await;
        disk.inject(Faults { fail_at: vec![number], ..Faults::default() });
        let mut expected = Expected::default();
        expected.write(&storage, 0).await;
        expected.check(&storage.snapshot());
        assert_eq!(expected.failed.len(), 1, "operation {number}");
        assert_eq!(storage.statistics().failed_commits, 1);
        expected.write(&storage, 1).await;
        assert_eq!(expected.failed.len(), 1);
        // What was acknowledged after a sync had failed is on the disk, too.
        expected.check_after_end(&disk.after_power_failure(|| false).open().unwrap().snapshot());
        let last = storage.snapshot();
        drop(storage);
        let storage = disk.open().unwrap();
        expected.check(&storage.snapshot());
        assert_eq!(storage.snapshot().version(), last.version());
        assert_eq!(contents(&storage.snapshot()), contents(&last));
    }
}

#[tokio::test]
async fn a_second_failure_on_the_way_back_does_no_more_harm() {
    let operations = operations_of_script(SHORT).await;
    let mut random = Random(3);
    for first in (0..operations).step_by(3) {
        let second = first + 1 + random.below(20);
        let (disk, storage) = prepared(SHORT).await;
        disk.inject(Faults { fail_at: vec![first, second], ..Faults::default() });
        let mut expected = Expected::default();
        expected.write(&storage, 0).await;
        assert!(!expected.failed.is_empty(), "{first} {second}");
        // After a second failure the disk is tried again only after a pause.
        while request(&storage, create("last", "")).await.is_err() {}
        expected.acknowledged.insert("last".to_owned(), String::new());
        expected.check(&storage.snapshot());
        expected.check_after_end(&disk.after_power_failure(|| false).open().unwrap().snapshot());
        drop(storage);
        expected.check(&disk.open().unwrap().snapshot());
    }
}

#[tokio::test]
async fn a_failure_while_opening_leaves_the_file_as_good_as_before() {
    let (disk, storage) = prepared(SHORT).await;
    let mut expected = Expected::default();
    expected.write(&storage, 0).await;
    let killed = disk.copy();
    drop(storage);
    for disk in [disk, killed] {
        for number in 0.. {
            let disk = disk.copy();
            disk.inject(Faults { fail_at: vec![number], ..Faults::default() });
            let opened = disk.open();
            if disk.operations() <= number {
                break;
            }
            if let Ok(storage) = opened {
                expected.check(&storage.snapshot());
            }
            for disk in [disk.after_power_failure(|| false), disk] {
                disk.inject(Faults::default());
                expected.check(&disk.open().unwrap().snapshot());
            }
        }
    }
}

#[tokio::test]
async fn a_power_failure_at_any_moment_loses_nothing_that_was_acknowledged() {
    let mut random = Random(1);
    for number in 0..operations_of_script(SHORT).await {
        let (disk, storage) = prepared(SHORT).await;
        disk.inject(Faults { ends_at: Some(number), ..Faults::default() });
        let mut expected = Expected::default();
        expected.write(&storage, 0).await;
        drop(storage);
        for percent in [0, 50, 100] {
            let left = disk.after_power_failure(|| random.below(100) < percent);
            let storage = left.open().unwrap();
            expected.check_after_end(&storage.snapshot());
            // It goes on working.
            let mut further = Expected { acknowledged: data_of(&storage.snapshot()), failed: Vec::new() };
            further.write(&storage, 1).await;
            further.check(&storage.snapshot());
            drop(storage);
            further.check(&left.open().unwrap().snapshot());
        }
    }
}

#[tokio::test]
async fn a_full_disk_refuses_writes_until_there_is_room_and_reads_go_on() {
    let (disk, storage) = prepared(LONG).await;
    disk.inject(Faults { capacity: Some(disk.bytes().len()), ..Faults::default() });
    let mut made = 0;
    let refused = loop {
        match request(&storage, create(&format!("n{made}"), &"x".repeat(10_000))).await {
            Ok(_) => made += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, WriteError::Full(_)), "{refused:?}");
    assert!(made > 10);
    assert_eq!(storage.snapshot().count("", "configmaps"), made);
    let again = request(&storage, create("other", &"x".repeat(10_000))).await;
    assert!(matches!(again, Err(WriteError::Full(_))), "{again:?}");
    let version = storage.snapshot().version();
    disk.inject(Faults::default());
    // After several failures the disk is tried again only after a pause.
    while request(&storage, create("more", "")).await.is_err() {}
    assert!(storage.snapshot().version() > version);
    let last = storage.snapshot();
    drop(storage);
    assert_eq!(contents(&disk.open().unwrap().snapshot()), contents(&last));
}

#[tokio::test]
async fn an_answer_that_depends_on_a_failed_write_fails_with_it() {
    let (disk, storage) = prepared(LONG).await;
    disk.inject(Faults { fail_at: vec![0], ..Faults::default() });
    let mut first = pin!(storage.write(evaluate(create("a", ""))));
    let mut second = pin!(storage.write(evaluate(create("a", ""))));
    // Both are evaluated before the disk answers.
    disk.meanwhile(|| {
        let mut context = Context::from_waker(Waker::noop());
        assert!(first.as_mut().poll(&mut context).is_pending());
        assert!(second.as_mut().poll(&mut context).is_pending());
    });
    let (first, second) = tokio::join!(first, second);
    assert!(first.is_err());
    assert!(second.is_err(), "it got a conflict with an object that does not exist: {second:?}");
    assert_eq!(request(&storage, create("a", "")).await.unwrap().code, 201);
}

/// Creates some objects directly in a state.
fn created(state: &mut State, numbers: Range<u64>) -> Vec<Arc<Record>> {
    let change = |number: u64| {
        let value =
            json!({ "metadata": { "name": format!("n{number}") }, "data": { "text": "x".repeat(300) } });
        Change {
            key: key(&format!("n{number}")),
            before: None,
            after: Some(Arc::new(value)),
            version: number,
        }
    };
    state.apply(&numbers.map(change).collect::<Vec<_>>(), 0)
}

#[test]
fn what_a_failed_sync_has_not_written_is_written_before_anything_rests_on_it() {
    let mut failures = 0;
    for number in 0.. {
        let disk = SimulatedDisk::new();
        let (mut file, loaded) = Disk::open(Box::new(disk.clone())).unwrap();
        let mut state = loaded.state;
        let first = created(&mut state, 1..200);
        file.commit(0, &first, &[]).unwrap();
        disk.inject(Faults { fail_at: vec![number], ..Faults::default() });
        let folded = file.commit(199, &[], &first);
        if folded.is_ok() {
            break;
        }
        failures += 1;
        let second = created(&mut state, 200..201);
        file.commit(199, &second, &[]).unwrap();
        let left = disk.after_power_failure(|| false);
        let (_, loaded) = Disk::open(Box::new(left)).unwrap();
        assert_eq!(loaded.state.resource("", "configmaps").unwrap().objects.len(), 200, "operation {number}");
    }
    assert!(failures > 10);
}
