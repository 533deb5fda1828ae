//! A directory of a million objects: its memory, and how long a membership change takes.

use std::sync::Arc;
use std::time::Duration;

use windlass_shard::{
    Delta, Directory, Epoch, Incarnation, InstanceId, Observed, Ring, Slot, SlotCount, SlotRange, Status, Uid,
};

const OBJECTS: u64 = 1_000_000;

/// A million objects with one shared key, since keys do not count.
fn directory() -> Directory<Arc<str>> {
    let mut directory = Directory::new(SlotCount::DEFAULT);
    let key: Arc<str> = "default/web".into();
    for number in 0..OBJECTS {
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let text = format!("{:08x}-{:04x}-4000-8000-{number:012x}", mixed >> 32, (mixed >> 16) & 0xffff);
        let (uid, slot) = (Uid::new(&text), Slot::of(&text, SlotCount::DEFAULT));
        directory.preprocess(
            &Observed { uid, slot, key: key.clone(), created: number, status: Status::Open },
            None,
        );
    }
    directory
}

fn id(number: usize) -> InstanceId {
    InstanceId::new(&format!("instance-{number}"))
}

#[expect(clippy::disallowed_methods, reason = "it measures how long something takes")]
fn fastest(mut measured: impl FnMut()) -> Duration {
    let once = |_| {
        let start = std::time::Instant::now();
        measured();
        start.elapsed()
    };
    (0..10).map(once).min().unwrap_or_default()
}

#[test]
fn million_objects_take_little_memory_and_change_owners_at_once() {
    let directory = directory();
    let bytes = directory.bytes() as f64 / OBJECTS as f64;
    println!("{bytes:.1} bytes for each object");
    assert_eq!(directory.len() as u64, OBJECTS);
    assert!(bytes <= 64.0, "{bytes}");

    let found = Ring::found(&id(0), Incarnation(1), SlotCount::DEFAULT, Epoch(1), true);
    let before =
        (1..100).fold(found, |ring, number| ring.join(&id(number), Incarnation(1))).rebalance(&[], None);
    let drained: Vec<Slot> = SlotCount::DEFAULT.slots().collect();
    let before = before.hand_over(&drained);
    let mut moved = 0;
    let elapsed = fastest(|| {
        let after = before.rebalance(&[id(42)], None);
        let delta = Delta::between(Some(&before), &after, &id(7));
        let count = |range: &SlotRange| directory.objects(*range).count();
        moved = delta.gained.iter().map(count).sum::<usize>() + directory.owned_by(&after, &id(7));
    });
    println!("a membership change takes {elapsed:?} and concerns {moved} objects");
    assert!(elapsed <= Duration::from_millis(5), "{elapsed:?}");
    assert!(moved > 9_000);
}
