//! Making sure that no other process has the name of this instance.
//!
//! The protocol rests on it: a process takes over the slots of an earlier one of its name as soon as the requests of that one
//! can no longer arrive, and for that the earlier one must be gone.

use std::time::Duration;

use tokio::sync::watch;
use windlass_shard::{Answer, InstanceId, Request, Timing, Version};

use super::registry::Registry;
use super::shard::Shard;

/// Waits until no living process renews the lease of this instance. What is loaded for a restart has to wait about as long.
pub(super) async fn until_name_is_free(
    shard: &Shard,
    registry: &dyn Registry,
    stopping: &mut watch::Receiver<bool>,
) {
    let id = shard.instance().id().clone();
    let observation = observation(shard.timing);
    let observing = async {
        let mut seen = lease_version(shard, registry, &id).await;
        while let Some(version) = seen {
            tokio::time::sleep(observation).await;
            seen = lease_version(shard, registry, &id).await;
            if seen.is_none() || seen == Some(version) {
                return;
            }
            let error = format!(
                "another process runs as instance {id}: give each a name of its own, such as that of its pod"
            );
            tracing::error!(ring = shard.spec.controller_type, instance = %id, "{error}");
            shard.set_registry_error(Some(error));
        }
    };
    tokio::select! {
        () = observing => {}
        _ = stopping.wait_for(|stopping| *stopping) => {}
    }
}

/// A process that lives renews its lease in this time.
fn observation(timing: Timing) -> Duration {
    Duration::from_millis(timing.request_ms.max(3 * timing.retry_ms))
}

/// The version of the instance's lease; none if it has ended, or never was. What cannot be read is asked again.
async fn lease_version(shard: &Shard, registry: &dyn Registry, id: &InstanceId) -> Option<Version> {
    loop {
        let answer = registry.perform(&Request::ReadLeases(vec![id.clone()])).await;
        shard.set_registry_error(registry.last_error());
        if let Answer::Leases(leases) = answer {
            let lease = leases.into_iter().find(|(known, _)| known == id)?.1?;
            return lease.value.alive.then_some(lease.version);
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}
