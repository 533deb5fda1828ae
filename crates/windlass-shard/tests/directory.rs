//! A directory of a million objects: its memory, and how long a membership change takes.

use std::time::Duration;

use windlass_shard::measure::{Change, OBJECTS, million_objects};

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
    let directory = million_objects();
    let bytes = directory.bytes() as f64 / OBJECTS as f64;
    println!("{bytes:.1} bytes for each object");
    assert_eq!(directory.len() as u64, OBJECTS);
    assert!(bytes <= 64.0, "{bytes}");

    let change = Change::default();
    let mut moved = 0;
    let elapsed = fastest(|| moved = change.compute(&directory));
    println!("a membership change takes {elapsed:?} and concerns {moved} objects");
    assert!(elapsed <= Duration::from_millis(5), "{elapsed:?}");
    assert!(moved > 9_000);
}
