//! Hands what three watches see to the auditor.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ApiResource, DynamicObject};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::watch;
use tokio::task::JoinSet;
use windlass_etcd::EtcdRegistry;
use windlass_shard::SlotCount;

use crate::audit::{Auditor, Deletion, Findings, Observation};
use crate::follow::{Clock, Event, Seen, follow};
use crate::observe;
use crate::setup::{NAMESPACE, ring_resource};
use crate::task::Task;

/// Watches parents, children and the ring, and has the auditor look at all of it.
pub struct Witness {
    auditor: Arc<Mutex<Auditor>>,
    changed: watch::Receiver<()>,
    // Dropped, it ends the watches.
    _tasks: JoinSet<()>,
}

impl Witness {
    /// Starts to watch. A ring that is in etcd is watched there.
    pub fn start(client: &kube::Client, etcd: Option<EtcdRegistry>, clock: Clock, auditor: Auditor) -> Self {
        let resources = [ApiResource::erase::<Task>(&()), ApiResource::erase::<ConfigMap>(&())];
        let [parents, children] =
            resources.map(|resource| Api::namespaced_with(client.clone(), NAMESPACE, &resource));
        let rings = Api::all_with(client.clone(), &ring_resource());
        let auditor = Arc::new(Mutex::new(auditor));
        let (notify, changed) = watch::channel(());
        let mut tasks = JoinSet::new();
        for (api, read) in [
            (parents, Reader::Parents(BTreeMap::new())),
            (children, Reader::Children),
            (rings, Reader::Rings),
        ] {
            let (send, receive) = unbounded_channel();
            tasks.spawn(follow(api, clock, send));
            tasks.spawn(hand_over(receive, read, Arc::clone(&auditor), notify.clone()));
        }
        if let Some(etcd) = etcd {
            tasks.spawn(hand_over_rings(etcd, clock, Arc::clone(&auditor), notify));
        }
        Witness { auditor, changed, _tasks: tasks }
    }

    /// The auditor, as it stands.
    pub fn auditor(&self) -> MutexGuard<'_, Auditor> {
        self.auditor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the auditor has seen something that makes this true.
    pub async fn wait_until(&mut self, is_true: impl Fn(&Auditor) -> bool) {
        loop {
            self.changed.mark_unchanged();
            if is_true(&self.auditor()) {
                return;
            }
            if self.changed.changed().await.is_err() {
                return;
            }
        }
    }

    /// Ends the watches, and the audit.
    pub fn finish(self, at_ms: u64, slots: SlotCount) -> Findings {
        let auditor = std::mem::replace(&mut *self.auditor(), Auditor::new(0, slots));
        auditor.finish(at_ms)
    }
}

/// What a watch is of.
enum Reader {
    /// Parents, with the value that each had: their status changes, too.
    Parents(BTreeMap<String, u64>),
    Children,
    Rings,
}

async fn hand_over(
    mut events: UnboundedReceiver<Seen>,
    mut reader: Reader,
    auditor: Arc<Mutex<Auditor>>,
    notify: watch::Sender<()>,
) {
    while let Some((at_ms, event)) = events.recv().await {
        if let Some(observation) = reader.read(&event, at_ms) {
            auditor.lock().unwrap_or_else(PoisonError::into_inner).observe(&observation);
            notify.send_replace(());
        }
    }
}

async fn hand_over_rings(
    etcd: EtcdRegistry,
    clock: Clock,
    auditor: Arc<Mutex<Auditor>>,
    notify: watch::Sender<()>,
) {
    let mut rings = etcd.watch_ring();
    while let Some(ring) = rings.next().await {
        let Some(seen) = observe::ring_status(&ring.value.to_status(), ring.version.0, clock.now_ms()) else {
            continue;
        };
        auditor.lock().unwrap_or_else(PoisonError::into_inner).observe(&Observation::RingWritten(seen));
        notify.send_replace(());
    }
}

impl Reader {
    fn read(&mut self, event: &Event, at_ms: u64) -> Option<Observation> {
        match (event, self) {
            (Event::HistoryLost, _) => Some(Observation::HistoryLost),
            (Event::Stored(object), Reader::Parents(values)) => edited(values, object, at_ms),
            (Event::Stored(object), Reader::Children) => {
                is_child(object).then(|| Observation::Written(observe::write(object, at_ms)))
            }
            (Event::Stored(object), Reader::Rings) => {
                observe::ring(object, at_ms).map(Observation::RingWritten)
            }
            (Event::Deleted(child), Reader::Children) => {
                Some(Observation::Deleted(Deletion { at_ms, child: child.clone() }))
            }
            (Event::Deleted(_), _) => None,
        }
    }
}

/// Whether it is owned by a task. A namespace may have other ConfigMaps.
fn is_child(object: &DynamicObject) -> bool {
    let owners = object.metadata.owner_references.as_deref().unwrap_or_default();
    owners.iter().any(|owner| owner.kind == "Task")
}

fn edited(values: &mut BTreeMap<String, u64>, object: &DynamicObject, at_ms: u64) -> Option<Observation> {
    let edit = observe::edit(object, at_ms);
    let before = values.insert(edit.parent.clone(), edit.value);
    (before != Some(edit.value)).then_some(Observation::Edited(edit))
}
