//! What both controllers on kube-rs have in common: the objects that they write, and when they look again.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::controller::Action;
use kube::{Resource, ResourceExt};
use two_configmaps::{Pair, config_map};
use windlass::{Condition, MachineStatus};

/// Who writes.
pub(super) const MANAGER: &str = "pairs.example.windlass.dev";

/// What to do next when all is done.
pub(super) fn look_again(resync: Option<Duration>) -> Action {
    resync.map_or_else(Action::await_change, Action::requeue)
}

/// The two ConfigMaps of a pair, with their owner.
pub(super) fn config_maps(pair: &Pair) -> [ConfigMap; 2] {
    ["cm1", "cm2"].map(|suffix| {
        let mut map = config_map(suffix, pair);
        map.metadata.namespace = pair.namespace();
        map.metadata.owner_references = pair.controller_owner_ref(&()).map(|owner| vec![owner]);
        map
    })
}

/// The status of a pair that is as it should be. Its conditions have the time of the pair itself: with that of the
/// clock, a reconcile that has not seen the last status yet would write another, and so on without an end.
pub(super) fn status(pair: &Pair) -> MachineStatus {
    let generation = pair.metadata.generation.unwrap_or_default();
    let made = serde_json::to_value(pair.creation_timestamp()).unwrap_or_default();
    let conditions = ["FirstReady", "SecondReady", "Ready"].map(|kind| Condition {
        r#type: kind.to_owned(),
        status: "True".to_owned(),
        reason: "Done".to_owned(),
        message: String::new(),
        observed_generation: generation,
        last_transition_time: made.as_str().unwrap_or_default().to_owned(),
    });
    MachineStatus {
        observed_generation: Some(generation),
        conditions: conditions.to_vec(),
        ..MachineStatus::default()
    }
}
