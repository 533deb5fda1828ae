//! Settings of sharding: which instance this is, the slots, the times, and where the registers are.

use std::sync::Arc;

use windlass::model::names::is_dns1123_subdomain;
use windlass_shard::{InstanceId, InvalidSlotCount, KeyField, SlotCount, Timing, TimingError};

use super::registry::Registries;

/// How a process shares the objects of its controllers with others.
///
/// ```
/// use windlass_runtime::sharding::ShardSettings;
///
/// // The name of the pod of a StatefulSet: a process that restarts under it keeps its slots.
/// let settings = ShardSettings::new("web-app-0").lease_seconds(6);
/// assert!(settings.check().is_ok());
/// assert!(ShardSettings::new("Web App").check().is_err());
/// ```
#[derive(Clone)]
pub struct ShardSettings {
    pub(crate) instance: String,
    pub(crate) namespace: Option<String>,
    pub(crate) slots: u64,
    pub(crate) key: KeyField,
    pub(crate) timing: Timing,
    pub(crate) leave: bool,
    pub(crate) registries: Option<Arc<dyn Registries>>,
    #[cfg(feature = "model")]
    pub(crate) broken: Option<windlass_shard::Mutation>,
}

/// With these settings, no object could have an owner, or one could have two.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShardSettingsError {
    /// The name of the instance cannot be part of the name of a Lease.
    #[error(
        "the instance {name:?} cannot be named so: {why}. Use the name of the pod; no other process may have it"
    )]
    Instance {
        /// The name.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// The number of slots.
    #[error(transparent)]
    Slots(#[from] InvalidSlotCount),
    /// The times.
    #[error(transparent)]
    Timing(#[from] TimingError),
    /// With a leader, one process has all objects.
    #[error("a controller is either sharded or has a leader: choose one of sharding and leader election")]
    WithLeader,
}

impl ShardSettings {
    /// The instance of this name. **No other process may have the name** while this one runs. Pods of a StatefulSet have
    /// such names.
    pub fn new(instance: &str) -> Self {
        ShardSettings {
            instance: instance.to_owned(),
            namespace: None,
            slots: SlotCount::DEFAULT.get() as u64,
            key: KeyField::default(),
            timing: Timing::default(),
            leave: false,
            registries: None,
            #[cfg(feature = "model")]
            broken: None,
        }
    }

    /// The namespace of the leases. Default: that of the kubeconfig's context or, in a pod, of the pod.
    #[must_use]
    pub fn in_namespace(self, namespace: &str) -> Self {
        ShardSettings { namespace: Some(namespace.to_owned()), ..self }
    }

    /// Number of slots of new rings; an existing ring must have the same. Default: 4096.
    #[must_use]
    pub fn slots(self, slots: u64) -> Self {
        ShardSettings { slots, ..self }
    }

    /// What the slot of an object is computed from. Default: its uid.
    #[must_use]
    pub fn key(self, key: KeyField) -> Self {
        ShardSettings { key, ..self }
    }

    /// The times of the protocol. Default: those of [`Timing`].
    #[must_use]
    pub fn timing(self, timing: Timing) -> Self {
        ShardSettings { timing, ..self }
    }

    /// Times that fit a lease of this many seconds: it acts for two thirds of it without a renewal, and a request may take
    /// the other third, so that others wait no longer than the lease. Default: 15.
    #[must_use]
    pub fn lease_seconds(self, seconds: u64) -> Self {
        let lease_ms = seconds.saturating_mul(1_000);
        let third = lease_ms / 3;
        let timing = Timing {
            lease_ms,
            renew_ms: lease_ms - third,
            request_ms: third,
            retry_ms: (third / 2).min(2_000),
            drift_ms: lease_ms / 100,
            ..Timing::default()
        };
        self.timing(timing)
    }

    /// Whether to hand over all slots when the process is stopped. Default: no, as it will start again under its name, and
    /// then has them at once. Without it, others take the slots of a process that does not come back when its lease is
    /// over.
    #[must_use]
    pub fn leave_when_stopped(self, leave: bool) -> Self {
        ShardSettings { leave, ..self }
    }

    /// Where the registers are. Default: the Kubernetes API.
    #[must_use]
    pub fn registries(self, registries: impl Registries) -> Self {
        ShardSettings { registries: Some(Arc::new(registries)), ..self }
    }

    /// Whether these settings can work.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn check(&self) -> Result<(), ShardSettingsError> {
        let wrong = is_dns1123_subdomain(&self.instance);
        if !wrong.is_empty() {
            return Err(ShardSettingsError::Instance { name: self.instance.clone(), why: wrong.join("; ") });
        }
        SlotCount::new(self.slots)?;
        Ok(self.timing.check()?)
    }

    /// The same with a rule of the protocol that is broken on purpose, if any.
    #[cfg(feature = "model")]
    pub(crate) fn breaking(self, broken: Option<windlass_shard::Mutation>) -> Self {
        ShardSettings { broken, ..self }
    }

    pub(crate) fn id(&self) -> InstanceId {
        InstanceId::new(&self.instance)
    }
}
