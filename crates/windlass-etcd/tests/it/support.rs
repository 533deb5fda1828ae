//! Connections, rings and requests for tests.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use conformance::etcd::Etcd;
use serde_json::json;
use windlass_etcd::{EtcdConnection, EtcdOptions, EtcdRegistry};
use windlass_shard::{
    Answer, Incarnation, InstanceId, KeyField, Lease, Request, Ring, RingSpec, SlotCount, Version, Versioned,
};

pub(crate) const TYPE: &str = "virtualmachine";

pub(crate) fn etcd() -> Etcd {
    Etcd::start(&[]).expect("an etcd")
}

pub(crate) fn options(addresses: &[String]) -> EtcdOptions {
    EtcdOptions::new(addresses.to_vec())
}

pub(crate) fn connection(options: &EtcdOptions) -> EtcdConnection {
    EtcdConnection::open(options).expect("options that make sense")
}

pub(crate) fn registry_of(connection: &EtcdConnection) -> EtcdRegistry {
    connection
        .registry(&RingSpec::new(TYPE, slots().get() as u64, KeyField::Uid))
        .expect("a name that makes sense")
}

/// A registry with a connection of its own, as another process has it.
pub(crate) fn registry(etcd: &Etcd) -> EtcdRegistry {
    registry_of(&connection(&options(&[etcd.address()])))
}

pub(crate) fn slots() -> SlotCount {
    SlotCount::new(16).expect("a power of two")
}

pub(crate) fn id(name: &str) -> InstanceId {
    InstanceId::new(name)
}

pub(crate) fn lease(incarnation: u64, alive: bool) -> Lease {
    Lease { incarnation: Incarnation(incarnation), alive }
}

pub(crate) fn swap_lease(name: &str, expected: Option<Version>, lease: Lease) -> Request {
    Request::SwapLease { id: id(name), expected, lease }
}

pub(crate) fn swap_ring(expected: Option<Version>, ring: &Arc<Ring>) -> Request {
    Request::SwapRing { expected, ring: ring.clone() }
}

/// A ring with one member, which owns all slots at this epoch.
pub(crate) fn ring(epoch: u64) -> Arc<Ring> {
    let status = json!({
        "instances": [{ "instanceId": "a", "incarnation": 1 }],
        "slots": [{ "from": 0, "to": 15, "owner": 0, "epoch": epoch, "phase": "Owned", "clean": true }],
    });
    let status = serde_json::from_value(status).expect("a status");
    Arc::new(Ring::from_status(&status, slots()).expect("it makes sense").expect("it has a member"))
}

/// The version of what was written.
pub(crate) fn written(answer: Answer) -> Version {
    match answer {
        Answer::Swapped(version) => version,
        other => panic!("it is not written: {other:?}"),
    }
}

/// The ring that was read.
pub(crate) fn ring_in(answer: Answer) -> Option<Versioned<Arc<Ring>>> {
    match answer {
        Answer::Ring(ring) => ring,
        other => panic!("not a ring: {other:?}"),
    }
}

/// What happens within a time that is ample.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), what).await.expect("it happens soon")
}

/// Asks until the answer is this one.
pub(crate) async fn until<T, Asked: Future<Output = T>>(
    ask: impl Fn() -> Asked,
    is_it: impl Fn(&T) -> bool,
) -> T {
    soon(async {
        loop {
            let answer = ask().await;
            if is_it(&answer) {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
}
