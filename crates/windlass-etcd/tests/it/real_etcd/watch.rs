//! The watch of the ring goes on, whatever happens to etcd.

use futures::StreamExt;
use futures::stream::BoxStream;
use std::sync::Arc;
use windlass_shard::{Epoch, Ring, Version, Versioned};

use crate::support::{etcd, registry, ring, soon, swap_ring, written};

type Rings = BoxStream<'static, Versioned<Arc<Ring>>>;

/// The next ring that the watch shows: its version and its epoch.
async fn next(rings: &mut Rings) -> (Version, Epoch) {
    let ring = soon(rings.next()).await.expect("it never ends");
    (ring.version, ring.value.epoch())
}

#[tokio::test]
async fn changes_are_shown() {
    let etcd = etcd();
    let (writer, reader) = (registry(&etcd), registry(&etcd));
    let mut rings = reader.watch_ring();
    let first = written(writer.perform(&swap_ring(None, &ring(1))).await);
    assert_eq!(next(&mut rings).await, (first, Epoch(1)));
    // The watch has to be open for the next one to come as an event; if it is not, it comes all the same.
    let second = written(writer.perform(&swap_ring(Some(first), &ring(2))).await);
    assert_eq!(next(&mut rings).await, (second, Epoch(2)));
}

#[tokio::test]
async fn a_ring_that_comes_later_is_shown() {
    let etcd = etcd();
    let (writer, reader) = (registry(&etcd), registry(&etcd));
    let mut rings = reader.watch_ring();
    let waiting = tokio::spawn(async move { next(&mut rings).await });
    let first = written(writer.perform(&swap_ring(None, &ring(1))).await);
    assert_eq!(soon(waiting).await.unwrap(), (first, Epoch(1)));
}

#[tokio::test]
async fn nothing_is_missed_while_etcd_is_away() {
    let mut etcd = etcd();
    let (writer, reader) = (registry(&etcd), registry(&etcd));
    let mut last = written(writer.perform(&swap_ring(None, &ring(1))).await);
    let mut rings = reader.watch_ring();
    assert_eq!(next(&mut rings).await, (last, Epoch(1)));
    for round in 0..2 {
        etcd.kill().unwrap();
        etcd.restart().unwrap();
        let writer = registry(&etcd);
        let mut expected = Vec::new();
        for epoch in 2..=4 {
            last = written(writer.perform(&swap_ring(Some(last), &ring(round * 10 + epoch))).await);
            expected.push((last, Epoch(round * 10 + epoch)));
        }
        // All of them, and not only the last one: it goes on where it was.
        for expected in expected {
            assert_eq!(next(&mut rings).await, expected);
        }
    }
    assert_eq!(reader.last_error(), None);
}

#[tokio::test]
async fn what_was_compacted_is_read_again() {
    let mut etcd = etcd();
    let (writer, reader) = (registry(&etcd), registry(&etcd));
    let mut last = written(writer.perform(&swap_ring(None, &ring(1))).await);
    let mut rings = reader.watch_ring();
    assert_eq!(next(&mut rings).await, (last, Epoch(1)));
    etcd.kill().unwrap();
    etcd.restart().unwrap();
    let writer = registry(&etcd);
    for epoch in 2..=4 {
        last = written(writer.perform(&swap_ring(Some(last), &ring(epoch))).await);
    }
    etcd.call("/v3/kv/compaction", &format!("{{\"revision\": {}}}", last.0)).unwrap();
    assert_eq!(next(&mut rings).await, (last, Epoch(4)));
    last = written(writer.perform(&swap_ring(Some(last), &ring(5))).await);
    assert_eq!(next(&mut rings).await, (last, Epoch(5)));
}
