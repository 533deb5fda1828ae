//! The protocol itself, over etcd: instances that share slots, and one that dies.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::{FutureExt, StreamExt};
use tokio::sync::watch;
use tokio::time::Instant;
use windlass_etcd::EtcdRegistry;
use windlass_shard::{Command, Instance, InstanceId, Millis, Next, Slot, Timing};

use crate::support::{etcd, registry, slots, soon};

const TIMING: Timing =
    Timing { lease_ms: 3_000, renew_ms: 2_000, request_ms: 500, retry_ms: 200, drift_ms: 50, settle_ms: 50 };

/// An instance that is driven, and the slots that it may act on.
struct Process {
    task: tokio::task::JoinHandle<()>,
    acting: watch::Receiver<BTreeSet<usize>>,
}

impl Process {
    fn start(name: &str, registry: EtcdRegistry) -> Self {
        let (publish, acting) = watch::channel(BTreeSet::new());
        Process { task: tokio::spawn(drive(InstanceId::new(name), registry, publish)), acting }
    }

    /// Waits until it may act on this number of slots.
    async fn acts_on(&mut self, number: usize) -> BTreeSet<usize> {
        let acting = self.acting.wait_for(|slots| slots.len() == number);
        soon(acting).await.expect("it runs").clone()
    }
}

/// What a runtime does, with objects that take no time.
async fn drive(id: InstanceId, registry: EtcdRegistry, publish: watch::Sender<BTreeSet<usize>>) {
    let start = Instant::now();
    let now = || Millis(start.elapsed().as_millis() as u64);
    let mut instance = Instance::new(id, slots(), TIMING, now());
    let mut rings = registry.watch_ring();
    loop {
        let next = instance.next(now());
        for command in instance.take_commands() {
            match command {
                Command::Load(slot, epoch) => instance.loaded(slot, epoch),
                Command::Drain(slot, epoch) => instance.drained(slot, epoch),
                Command::Start(..) | Command::Drop(..) => {}
            }
        }
        publish.send_replace(acting(&instance, now()));
        match next {
            Next::Ask(request) => instance.answered(registry.perform(&request).await, now()),
            Next::Finished => return,
            Next::WaitUntil(time) => {
                let wake = tokio::time::sleep_until(start + Duration::from_millis(time.0));
                futures::select! {
                    ring = rings.next().fuse() => instance.observed_ring(ring.expect("it never ends"), now()),
                    () = wake.fuse() => {}
                }
            }
        }
    }
}

fn acting(instance: &Instance, now: Millis) -> BTreeSet<usize> {
    (0..slots().get()).filter(|slot| instance.permit(Slot::new(*slot), now).is_some()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_instances_share_the_slots_and_one_takes_over() {
    let etcd = etcd();
    let mut a = Process::start("a", registry(&etcd));
    a.acts_on(16).await;
    let mut b = Process::start("b", registry(&etcd));
    let of_b = b.acts_on(8).await;
    let of_a = a.acts_on(8).await;
    assert_eq!(of_a.union(&of_b).count(), 16);

    a.task.abort();
    assert_eq!(b.acts_on(16).await.len(), 16);
    b.task.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_go_on_after_a_restart_of_etcd() {
    let mut etcd = etcd();
    let mut a = Process::start("a", registry(&etcd));
    a.acts_on(16).await;
    etcd.kill().unwrap();
    // Without renewals, nothing may be sent any more.
    a.acts_on(0).await;
    etcd.restart().unwrap();
    a.acts_on(16).await;
    a.task.abort();
}
