//! What a sharded controller counts: its slots, and the objects in them.

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::labels::ControllerLabel;

/// The families of series of all sharded controllers of a process.
#[derive(Default)]
pub(super) struct Shards {
    owned: Family<ControllerLabel, Gauge>,
    served: Family<ControllerLabel, Gauge>,
    tracked: Family<ControllerLabel, Gauge>,
    objects: Family<ControllerLabel, Gauge>,
    unowned: Family<ControllerLabel, Gauge>,
    doubly_owned: Family<ControllerLabel, Gauge>,
}

/// The gauges of one controller.
#[derive(Clone)]
pub(crate) struct ShardMetrics {
    owned: Gauge,
    served: Gauge,
    tracked: Gauge,
    objects: Gauge,
    unowned: Gauge,
    doubly_owned: Gauge,
}

impl Shards {
    pub(super) fn register(&self, registry: &mut Registry) {
        let owned = "Slots that this instance owns";
        registry.register("windlass_shard_slots_owned", owned, self.owned.clone());
        let served = "Slots whose objects this instance reconciles";
        registry.register("windlass_shard_slots_served", served, self.served.clone());
        let tracked = "Objects of all instances that this one knows of";
        registry.register("windlass_shard_objects_tracked", tracked, self.tracked.clone());
        let objects = "Objects that this instance owns";
        registry.register("windlass_shard_objects_owned", objects, self.objects.clone());
        let unowned = "Objects that no instance serves for longer than a lease; 0 where others audit";
        registry.register("windlass_objects_unowned", unowned, self.unowned.clone());
        let doubly = "Objects that two instances serve for longer than a lease; 0 where others audit";
        registry.register("windlass_objects_doubly_owned", doubly, self.doubly_owned.clone());
    }

    pub(super) fn of(&self, controller: &str) -> ShardMetrics {
        let label = ControllerLabel { controller: controller.to_owned() };
        ShardMetrics {
            owned: self.owned.get_or_create(&label).clone(),
            served: self.served.get_or_create(&label).clone(),
            tracked: self.tracked.get_or_create(&label).clone(),
            objects: self.objects.get_or_create(&label).clone(),
            unowned: self.unowned.get_or_create(&label).clone(),
            doubly_owned: self.doubly_owned.get_or_create(&label).clone(),
        }
    }
}

impl ShardMetrics {
    /// Sets all of them: slots that are owned and served, objects that are known and owned.
    pub(crate) fn set(&self, owned: usize, served: usize, tracked: usize, objects: usize) {
        let gauges = [
            (&self.owned, owned),
            (&self.served, served),
            (&self.tracked, tracked),
            (&self.objects, objects),
        ];
        gauges.into_iter().for_each(|(gauge, value)| set(gauge, value));
    }

    /// What the coverage audit has found.
    pub(crate) fn set_coverage(&self, unowned: usize, doubly_owned: usize) {
        set(&self.unowned, unowned);
        set(&self.doubly_owned, doubly_owned);
    }
}

fn set(gauge: &Gauge, value: usize) {
    gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
}
