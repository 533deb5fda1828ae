//! All managers of a cluster, and which of them live.

use std::time::{Duration, Instant};

use futures::StreamExt;
use serde::Serialize;
use windlass::model::Timestamp;

use super::error::ManagerError;
use super::heartbeat::{Heartbeats, is_gone};
use super::kinds::{ControllerManager, ControllerStatus};
use super::objects::{HeartbeatLease, Objects};
use crate::Api;
use crate::operations::clock;

/// Maximum number of concurrent requests.
const AT_ONCE: usize = 8;
/// How long a Lease lasts that is missing.
const DEFAULT_DURATION: Duration = Duration::from_secs(15);

/// Reads all managers, again and again. Which of them live is decided by their Leases, not by their status: at the first
/// read by when each was renewed according to its holder's clock, from then on by how long this process has not seen it
/// change.
pub struct Overview {
    objects: Objects,
    namespace: Option<String>,
    heartbeats: Heartbeats,
}

/// A manager.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ManagerRow {
    /// Its id.
    pub id: String,
    /// The name of its type.
    #[serde(rename = "type")]
    pub manager_type: String,
    /// Whether it lives.
    pub alive: bool,
    /// When its Lease was last renewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_healthprobe_at: Option<String>,
    /// Namespace and name of its Lease.
    pub lease: String,
    /// Which process holds the Lease; empty if none does.
    pub holder: String,
    /// Its controllers.
    pub controllers: Vec<ControllerStatus>,
}

impl Overview {
    /// The managers of a cluster. Their Leases are in `namespace` or, without it, where the status of each says.
    pub fn new(api: Api, namespace: Option<&str>) -> Self {
        Overview {
            objects: Objects(api),
            namespace: namespace.map(str::to_owned),
            heartbeats: Heartbeats::default(),
        }
    }

    /// All managers, by id.
    ///
    /// # Errors
    /// When they cannot be read, because their kinds are not installed for example.
    pub async fn read(&mut self) -> Result<Vec<ManagerRow>, ManagerError> {
        let managers = self.objects.managers().await?;
        // Made before the stream: a closure within it could not be sent to another thread.
        let reads: Vec<_> = managers.into_iter().map(|manager| self.with_lease(manager)).collect();
        let read: Vec<_> = futures::stream::iter(reads).buffered(AT_ONCE).collect().await;
        let read: Vec<_> = read.into_iter().collect::<Result<_, ManagerError>>()?;
        let mut rows: Vec<ManagerRow> =
            read.into_iter().map(|(manager, lease)| self.row(manager, lease)).collect();
        rows.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(rows)
    }

    async fn with_lease(
        &self,
        manager: ControllerManager,
    ) -> Result<(ControllerManager, Option<HeartbeatLease>), ManagerError> {
        let (namespace, name) = self.lease_of(&manager);
        // A manager that never ran has none.
        if namespace.is_empty() {
            return Ok((manager, None));
        }
        let lease = self.objects.lease(&namespace, &name).await;
        let lease = lease.map_err(|status| {
            ManagerError::request(&format!("read the Lease {namespace}/{name}"), &status)
        })?;
        Ok((manager, lease))
    }

    fn lease_of(&self, manager: &ControllerManager) -> (String, String) {
        let status = &manager.status;
        let namespace = self.namespace.as_ref().unwrap_or(&status.lease_namespace).clone();
        let name = if status.lease.is_empty() { &manager.id } else { &status.lease };
        (namespace, name.clone())
    }

    fn row(&mut self, manager: ControllerManager, lease: Option<HeartbeatLease>) -> ManagerRow {
        let (namespace, name) = self.lease_of(&manager);
        let alive = lease.as_ref().is_some_and(|lease| {
            let age = age(lease.renewed_at.as_deref(), clock::now());
            let unchanged = self.heartbeats.unchanged_for(&manager.id, &lease.version, age, Instant::now());
            !is_gone(Some(lease), unchanged, DEFAULT_DURATION)
        });
        let last = lease.as_ref().and_then(|lease| lease.renewed_at.clone());
        ManagerRow {
            alive,
            last_healthprobe_at: last.or(manager.status.last_healthprobe_at),
            lease: if namespace.is_empty() { String::new() } else { format!("{namespace}/{name}") },
            holder: lease.map(|lease| lease.holder).unwrap_or_default(),
            id: manager.id,
            manager_type: manager.spec.controller_manager_type,
            controllers: manager.status.controllers,
        }
    }
}

/// How long ago a time was; no time at all if it is in the future.
fn age(time: Option<&str>, now: Timestamp) -> Duration {
    let Some(time) = time.and_then(Timestamp::parse) else { return Duration::MAX };
    let micros = now.unix_micros() - time.unix_micros();
    Duration::from_micros(u64::try_from(micros).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn age_of_a_renewal() {
        let now = Timestamp::parse("2026-01-01T00:00:10Z").expect("a time");
        for (time, seconds) in [
            (Some("2026-01-01T00:00:04.000000Z"), 6),
            (Some("2026-01-01T00:00:10Z"), 0),
            (Some("2026-01-01T00:00:11Z"), 0),
            (Some("no time"), u64::MAX),
            (None, u64::MAX),
        ] {
            assert_eq!(age(time, now).as_secs(), seconds, "{time:?}");
        }
    }
}
