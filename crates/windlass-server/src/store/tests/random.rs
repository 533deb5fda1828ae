//! Random writes, against a plain map, and with the store reopened at any point.

use std::collections::BTreeMap;

use proptest::prelude::*;
use windlass_model::{Store, object};

use super::simulated_disk::SimulatedDisk;
use super::*;
use crate::store::{Compacted, StoredObject};

#[derive(Clone, Debug)]
enum Step {
    /// Creates or replaces an object, owned by others.
    Put(u8, Vec<u8>),
    /// Deletes it; what has a finalizer is only marked.
    Delete(u8),
    /// Adds or removes a finalizer.
    Hold(u8, bool),
    Reopen,
    /// As if it had been killed.
    Kill,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..6u8, prop::collection::vec(0..6u8, 0..3)).prop_map(|(which, owners)| Step::Put(which, owners)),
        3 => (0..6u8).prop_map(Step::Delete),
        3 => (0..6u8, any::<bool>()).prop_map(|(which, held)| Step::Hold(which, held)),
        1 => Just(Step::Reopen),
        1 => Just(Step::Kill),
    ]
}

fn request_of(step: &Step, number: usize, snapshot: &Snapshot) -> Option<Request> {
    let name = |which: u8| format!("n{which}");
    let target =
        |verb: Verb, which: u8| Request::new(verb, config_maps()).in_namespace("default").named(&name(which));
    Some(match step {
        Step::Put(which, owners) => {
            let owner = |owner: &u8| json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": name(*owner), "uid": format!("u{owner}") });
            let owners: Vec<Value> = owners.iter().map(owner).collect();
            let mut body = json!({ "metadata": { "name": name(*which), "ownerReferences": owners }, "data": { "text": number.to_string() } });
            if let Some(live) = snapshot.get(&key(&name(*which))) {
                body["metadata"]["finalizers"] = live["metadata"]["finalizers"].clone();
                target(Verb::Update, *which).with_body(body)
            } else {
                Request::new(Verb::Create, config_maps()).in_namespace("default").with_body(body)
            }
        }
        Step::Delete(which) => target(Verb::Delete, *which),
        Step::Hold(which, held) => {
            let finalizers = if *held { json!(["x.io/y"]) } else { Value::Null };
            let body = json!({ "metadata": { "finalizers": finalizers } });
            target(Verb::Patch(windlass_model::PatchKind::Merge), *which).with_body(body)
        }
        Step::Reopen | Step::Kill => return None,
    })
}

/// The index says what a look at every object would.
fn check_index(snapshot: &Snapshot) {
    let objects: Vec<(Key, std::sync::Arc<Value>)> = snapshot.all().collect();
    for uid in (0..6).map(|number| format!("u{number}")) {
        let refers = |object: &Value| {
            object::owner_references(object).iter().any(|reference| reference["uid"] == *uid)
        };
        let expected: Vec<Key> =
            objects.iter().filter(|(_, object)| refers(object)).map(|(key, _)| key.clone()).collect();
        assert_eq!(snapshot.dependents(&uid), expected);
    }
    let collectable =
        |object: &Value| object::is_deleting(object) || !object::owner_references(object).is_empty();
    let expected = objects.iter().filter(|(_, object)| collectable(object)).map(|(key, _)| key.clone());
    assert_eq!(snapshot.collectable(), expected.collect());
}

/// Each change of the history begins where the one before it ended.
fn check_history(storage: &Storage, states: &BTreeMap<u64, Vec<(Key, String)>>) {
    // The committer answers a write before it trims the history: a reader that loses its position to this starts again.
    while let Err(Compacted { oldest }) = replay_history(storage, states) {
        assert!(oldest <= storage.snapshot().version());
    }
}

/// Applies all changes that are kept to the state before them.
fn replay_history(storage: &Storage, states: &BTreeMap<u64, Vec<(Key, String)>>) -> Result<(), Compacted> {
    let compacted = storage.statistics().history.compacted;
    assert!(storage.feed_of_all(compacted.saturating_sub(1)).is_err() || compacted == 0);
    let mut feed = storage.feed_of_all(compacted)?;
    let mut state: BTreeMap<Key, String> = match states.get(&compacted) {
        Some(state) => state.iter().cloned().collect(),
        None => BTreeMap::new(),
    };
    let text = |object: &StoredObject| String::from_utf8(object.text().to_vec()).unwrap();
    loop {
        let records = feed.ready()?;
        if records.is_empty() {
            break;
        }
        for record in records {
            let before = match &record.after {
                Some(after) => state.insert((*record.key).clone(), text(after)),
                None => state.remove(&*record.key),
            };
            assert_eq!(record.before.as_ref().map(text), before);
        }
    }
    assert_eq!(state.into_iter().collect::<Vec<_>>(), contents(&storage.snapshot()));
    Ok(())
}

async fn run(steps: &[Step]) {
    let disk = SimulatedDisk::new();
    let limits = HistoryLimits { changes: 7, ..HistoryLimits::default() };
    let mut storage = disk.open_with(limits.clone()).unwrap();
    add_namespace(&storage, "default").await;
    let mut states = BTreeMap::new();
    let mut killed = None;
    for (number, step) in steps.iter().enumerate() {
        states.insert(storage.snapshot().version(), contents(&storage.snapshot()));
        let snapshot = storage.snapshot();
        let Some(write) = request_of(step, number, &snapshot) else {
            if matches!(step, Step::Kill) {
                // The old one lives on with the disk of a dead process.
                let copy = killed.as_ref().unwrap_or(&disk).copy();
                drop(storage);
                storage = copy.open_with(limits.clone()).unwrap();
                killed = Some(copy);
            } else {
                drop(storage);
                storage = killed.as_ref().unwrap_or(&disk).open_with(limits.clone()).unwrap();
            }
            assert_eq!(storage.snapshot().version(), snapshot.version());
            assert_eq!(contents(&storage.snapshot()), contents(&snapshot));
            check_history(&storage, &states);
            check_index(&storage.snapshot());
            continue;
        };
        let before = snapshot.version();
        let effect = storage.write(evaluate(write)).await.unwrap().effect;
        let after = storage.snapshot();
        assert_eq!(after.version(), before + effect.changes.len() as u64);
        for change in &effect.changes {
            assert_eq!(after.get(&change.key), change.after, "{step:?}");
        }
        check_index(&after);
        if let Some(older) = storage.at(before) {
            assert_eq!(contents(&older), states[&before]);
            check_index(&older);
        }
    }
    states.insert(storage.snapshot().version(), contents(&storage.snapshot()));
    check_history(&storage, &states);
}

proptest! {
    // Each case opens files again and again.
    #![proptest_config(ProptestConfig::with_cases((ProptestConfig::default().cases / 7).max(1)))]

    #[test]
    fn a_store_is_the_same_whenever_it_is_reopened(steps in prop::collection::vec(step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(run(&steps));
    }
}
