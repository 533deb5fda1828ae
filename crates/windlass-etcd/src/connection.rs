//! A connection to etcd, which the registries of all controller types of a process share.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_shard::{Incarnation, InstanceId, RingSpec, ServedSlots, SlotCount, Version};

use crate::client::Client;
use crate::error::EtcdError;
use crate::keys::{Keys, check_controller_type, rest_of};
use crate::options::EtcdOptions;
use crate::record::{StoredInstance, StoredRing, read};
use crate::registry::EtcdRegistry;
use crate::transaction::version_of;
use crate::wire::KeyValue;

/// A connection to etcd. Clones share it.
#[derive(Clone, Debug)]
pub struct EtcdConnection {
    client: Arc<Client>,
    keys: Keys,
    listed_seconds: u32,
}

/// A ring that is stored in etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingEntry {
    /// Whose ring it is.
    pub controller_type: String,
    /// Its version.
    pub version: Version,
    /// The ring, or why its value cannot be read. It is not checked further.
    pub stored: Result<StoredRing, EtcdError>,
}

/// An instance in the list of those that are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceEntry {
    /// Its name.
    pub id: InstanceId,
    /// Which of its lives this is; none if somebody has edited the entry.
    pub incarnation: Option<Incarnation>,
    /// The slots that it serves, as of its last renewal; none if somebody has edited that.
    pub served: Option<ServedSlots>,
}

impl EtcdConnection {
    /// Prepares a connection. It is made when it is first used, and again whenever it was lost.
    ///
    /// # Errors
    /// The address or the certificates make no sense. That etcd cannot be reached is no error here.
    pub fn open(options: &EtcdOptions) -> Result<Self, EtcdError> {
        Ok(EtcdConnection {
            client: Arc::new(Client::new(options)?),
            keys: Keys::new(&options.prefix),
            listed_seconds: options.listed_seconds,
        })
    }

    /// The registry of a ring. All of its instances must have the same spec.
    ///
    /// # Errors
    /// The controller type is empty, or has a slash; or there cannot be this number of slots.
    pub fn registry(&self, spec: &RingSpec) -> Result<EtcdRegistry, EtcdError> {
        check_controller_type(&spec.controller_type)?;
        let slots = SlotCount::new(spec.slots)?;
        Ok(EtcdRegistry::new(
            self.client.clone(),
            self.keys.clone(),
            spec.clone(),
            slots,
            self.listed_seconds,
        ))
    }

    /// All rings, in the order of their controller types.
    ///
    /// # Errors
    /// etcd cannot be asked. A ring that cannot be read is in the list, with its error.
    pub async fn list(&self) -> Result<Vec<RingEntry>, EtcdError> {
        let prefix = self.keys.rings();
        let entry = |stored: KeyValue| RingEntry {
            controller_type: rest_of(&stored.key, &prefix),
            version: version_of(stored.mod_revision),
            stored: StoredRing::read(&String::from_utf8_lossy(&stored.key), &stored.value),
        };
        Ok(self.client.get_all(&prefix).await?.kvs.into_iter().map(entry).collect())
    }

    /// The instances of a controller type that have renewed their leases lately, in the order of their names.
    ///
    /// It is for display. One that is not listed may still act for a while, and one that is listed may be gone.
    ///
    /// # Errors
    /// etcd cannot be asked.
    pub async fn instances(&self, controller_type: &str) -> Result<Vec<InstanceEntry>, EtcdError> {
        check_controller_type(controller_type)?;
        let of_served = self.keys.all_served(controller_type);
        let served = self.client.get_all(&of_served).await?.kvs.into_iter();
        let served: BTreeMap<String, Option<ServedSlots>> = served
            .map(|stored| {
                (rest_of(&stored.key, &of_served), String::from_utf8_lossy(&stored.value).parse().ok())
            })
            .collect();
        let prefix = self.keys.controllers(controller_type);
        let entry = |stored: KeyValue| {
            let name = rest_of(&stored.key, &prefix);
            InstanceEntry {
                id: InstanceId::new(&name),
                incarnation: read::<StoredInstance>("", &stored.value).ok().map(|entry| entry.incarnation),
                served: served.get(&name).cloned().flatten(),
            }
        };
        Ok(self.client.get_all(&prefix).await?.kvs.into_iter().map(entry).collect())
    }

    /// The version of etcd, and what is wrong with it if something is. This finds out whether it can be reached.
    ///
    /// # Errors
    /// It cannot, or denies access.
    pub async fn version(&self) -> Result<String, EtcdError> {
        let status = self.client.status().await?;
        let problems =
            if status.errors.is_empty() { String::new() } else { format!(" ({})", status.errors.join(", ")) };
        Ok(format!("{}{problems}", status.version))
    }

    /// What this is, for messages: `etcd at HOST:PORT`.
    pub fn name(&self) -> String {
        format!("etcd at {}", self.client.endpoints.addresses())
    }
}
