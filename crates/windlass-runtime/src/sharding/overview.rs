//! A ring as people want to see it: who is alive, who owns how much, and what moves why.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde_json::Value;
use windlass::model::{Body, Reason, Request, ResourceId, Timestamp, Verb, object};
use windlass_shard::{Incarnation, Ring, RingSpec, RingStatus, ServedSlots, SlotCount, runs};

use crate::api::Api;
use crate::operations::clock;

use super::registry::{LEASE_RING_LABEL, lease_name, ring_resource, served_slots};

/// A ring, at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RingOverview {
    /// The controller whose objects these are.
    pub controller_type: String,
    /// Number of slots.
    pub slots: u64,
    /// What the slot of an object is computed from: `uid` or `namespace`.
    pub key: Value,
    /// The epoch of the last change of hands.
    pub epoch: u64,
    /// Who computes what moves; none if no one has to.
    pub lock_holder: Option<String>,
    /// The members, in the order in which they joined.
    pub instances: Vec<InstanceOverview>,
    /// What is on its way.
    pub moves: Vec<MoveOverview>,
    /// Why nothing else is known of it; none if it can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A member of a ring.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InstanceOverview {
    /// Its name.
    pub id: String,
    /// The incarnation that owns its slots.
    pub incarnation: u64,
    /// Whether its lease is held by that incarnation, and was renewed lately.
    pub alive: bool,
    /// When its lease was last renewed.
    pub last_renewal: Option<String>,
    /// Whether it hands over its slots in order to go.
    pub leaving: bool,
    /// Number of slots that it owns.
    pub owned: usize,
    /// Which ones: `0-1023,2048`.
    pub owned_slots: String,
    /// How many it said to serve when it renewed its lease; none if that is not known.
    pub served: Option<usize>,
    /// How many of them are on their way to another.
    pub draining: usize,
    /// How many are on their way to it.
    pub gaining: usize,
}

/// Neighbouring slots that are on their way from one owner to another.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MoveOverview {
    /// The first slot.
    pub from_slot: usize,
    /// The last slot.
    pub to_slot: usize,
    /// Who owns them.
    pub from: String,
    /// Who gets them.
    pub to: String,
    /// Why they move.
    pub why: String,
}

/// The sign of life of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseOverview {
    /// Which incarnation holds it; none if no one does.
    pub incarnation: Option<Incarnation>,
    /// When it was last renewed.
    pub renewed: Option<String>,
    /// Whether that was within its duration.
    pub fresh: bool,
    /// The slots that it then said to serve, if that is known.
    pub served: Option<ServedSlots>,
}

/// Why a ring cannot be shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OverviewError {
    /// The kind is not there.
    #[error("the cluster has no rings: their definition is not installed")]
    NoDefinition,
    /// The cluster cannot be read.
    #[error("the rings cannot be read: {0}")]
    Api(String),
    /// A ring that somebody has edited.
    #[error("the ring {ring} cannot be read: {message}")]
    Unreadable {
        /// Its name.
        ring: String,
        /// What makes no sense.
        message: String,
    },
}

impl RingOverview {
    /// What a ring and the leases of its members say.
    ///
    /// # Errors
    /// What makes no sense in the ring.
    pub fn new(
        spec: &RingSpec,
        status: &RingStatus,
        leases: &BTreeMap<String, LeaseOverview>,
    ) -> Result<Self, OverviewError> {
        let unreadable =
            |message: String| OverviewError::Unreadable { ring: spec.controller_type.clone(), message };
        let count = SlotCount::new(spec.slots).map_err(|error| unreadable(error.to_string()))?;
        let ring = Ring::from_status(status, count).map_err(|error| unreadable(error.to_string()))?;
        let ring = ring.as_ref();
        Ok(RingOverview {
            controller_type: spec.controller_type.clone(),
            slots: spec.slots,
            key: serde_json::json!(spec.key),
            epoch: ring.map_or(0, |ring| ring.epoch().0),
            lock_holder: ring.and_then(|ring| Some(ring.lock_holder()?.to_string())),
            instances: ring.map_or_else(Vec::new, |ring| instances(ring, leases)),
            moves: ring.map_or_else(Vec::new, moves),
            error: None,
        })
    }

    /// A ring of which only the name can be shown.
    pub fn unreadable(controller_type: &str, error: &dyn fmt::Display) -> Self {
        RingOverview {
            controller_type: controller_type.to_owned(),
            slots: 0,
            key: Value::Null,
            epoch: 0,
            lock_holder: None,
            instances: Vec::new(),
            moves: Vec::new(),
            error: Some(error.to_string()),
        }
    }
}

fn instances(ring: &Ring, leases: &BTreeMap<String, LeaseOverview>) -> Vec<InstanceOverview> {
    let overview = |(place, member): (usize, &windlass_shard::Member)| {
        let lease = leases.get(member.id.as_str());
        let alive = lease.is_some_and(|lease| lease.fresh && lease.incarnation == Some(member.incarnation));
        let owned = || ring.slots().filter(|(_, slot)| slot.owner == place);
        InstanceOverview {
            id: member.id.to_string(),
            incarnation: member.incarnation.0,
            alive,
            last_renewal: lease.and_then(|lease| lease.renewed.clone()),
            leaving: member.leaving,
            owned: owned().count(),
            owned_slots: owned().map(|(slot, _)| slot).collect::<ServedSlots>().to_string(),
            served: lease.filter(|_| alive).and_then(|lease| Some(lease.served.as_ref()?.iter().count())),
            draining: owned().filter(|(_, slot)| slot.draining_to.is_some()).count(),
            gaining: ring.slots().filter(|(_, slot)| slot.draining_to == Some(place)).count(),
        }
    };
    ring.members().iter().enumerate().map(overview).collect()
}

fn moves(ring: &Ring) -> Vec<MoveOverview> {
    let mut by_way: BTreeMap<(usize, usize), Vec<windlass_shard::Slot>> = BTreeMap::new();
    for (slot, ownership) in ring.slots() {
        if let Some(to) = ownership.draining_to {
            by_way.entry((ownership.owner, to)).or_default().push(slot);
        }
    }
    let name = |place: usize| ring.members()[place].id.to_string();
    let of_way = |((from, to), slots): ((usize, usize), Vec<windlass_shard::Slot>)| {
        let why = why(ring, from, to);
        runs(slots).into_iter().map(move |run| MoveOverview {
            from_slot: run.from.index(),
            to_slot: run.to.index(),
            from: name(from),
            to: name(to),
            why: why.clone(),
        })
    };
    by_way.into_iter().flat_map(of_way).collect()
}

fn why(ring: &Ring, from: usize, to: usize) -> String {
    let members = ring.members();
    if members[from].leaving {
        return format!("{} leaves", members[from].id);
    }
    let owns = |place: usize| ring.slots().filter(|(_, slot)| slot.owner == place).count();
    if owns(to) < owns(from) / 2 { format!("{} joined", members[to].id) } else { "balance".to_owned() }
}

/// All rings of a cluster, or one, by their names. Among all, one that makes no sense is in the list with its error.
///
/// # Errors
/// When the cluster cannot be read, or the one ring makes no sense.
pub async fn ring_overviews(
    api: &Api,
    name: Option<&str>,
    namespace: Option<&str>,
) -> Result<Vec<RingOverview>, OverviewError> {
    let rings = list(api, Request::new(Verb::List, ring_resource())).await?;
    let leases = ResourceId::new("coordination.k8s.io", "v1", "leases");
    let mut request = Request::new(Verb::List, leases).in_namespace(namespace.unwrap_or_default());
    request.options.label_selector = Some(LEASE_RING_LABEL.to_owned());
    let leases = list(api, request).await?;
    let wanted = rings.iter().filter(|ring| name.is_none_or(|name| object::name(ring) == name));
    let read = |ring: &std::sync::Arc<Value>| match overview(ring, &leases) {
        Err(error) if name.is_none() => Ok(RingOverview::unreadable(object::name(ring), &error)),
        read => read,
    };
    wanted.map(read).collect()
}

async fn list(api: &Api, request: Request) -> Result<Vec<std::sync::Arc<Value>>, OverviewError> {
    let response = api.perform(&request).await;
    match (response.body, request.resource == ring_resource()) {
        (Body::List(list), _) => Ok(list.items),
        (Body::Status(status), true) if status.reason == Some(Reason::NotFound) => {
            Err(OverviewError::NoDefinition)
        }
        (Body::Status(status), _) => Err(OverviewError::Api(status.message)),
        _ => Err(OverviewError::Api("the answer is no list".to_owned())),
    }
}

fn overview(ring: &Value, leases: &[std::sync::Arc<Value>]) -> Result<RingOverview, OverviewError> {
    let unreadable = |error: serde_json::Error| OverviewError::Unreadable {
        ring: object::name(ring).to_owned(),
        message: error.to_string(),
    };
    let spec: RingSpec = serde_json::from_value(ring["spec"].clone()).map_err(unreadable)?;
    let status = Some(ring["status"].clone()).filter(|status| !status.is_null());
    let status: RingStatus =
        status.map_or_else(|| Ok(RingStatus::default()), serde_json::from_value).map_err(unreadable)?;
    let now = clock::now();
    let lease_of = |instance: &windlass_shard::InstanceStatus| {
        let name = lease_name(&spec.controller_type, &instance.instance_id);
        let is_its = |lease: &Value| {
            let namespace = spec.lease_namespace.as_deref();
            object::name(lease) == name && namespace.is_none_or(|known| object::namespace(lease) == known)
        };
        let lease = leases.iter().find(|lease| is_its(lease))?;
        Some((instance.instance_id.to_string(), lease_overview(lease, now)))
    };
    let of_members = status.instances.iter().filter_map(lease_of).collect();
    RingOverview::new(&spec, &status, &of_members)
}

/// By the clock of whoever looks: it is for people.
fn lease_overview(lease: &Value, now: Timestamp) -> LeaseOverview {
    let spec = &lease["spec"];
    let is_held = spec["holderIdentity"].as_str().is_some_and(|holder| !holder.is_empty());
    let renewed = spec["renewTime"].as_str();
    let seconds = spec["leaseDurationSeconds"].as_i64().unwrap_or_default();
    let until = renewed.and_then(Timestamp::parse).map(|renewed| renewed.plus_seconds(seconds));
    LeaseOverview {
        incarnation: spec["leaseTransitions"].as_u64().map(Incarnation).filter(|_| is_held),
        renewed: renewed.map(str::to_owned),
        fresh: until.is_some_and(|until| now <= until),
        served: served_slots(lease),
    }
}

#[cfg(test)]
mod tests {
    use windlass_shard::{Epoch, InstanceId, KeyField};

    use super::*;

    fn overview_of(ring: &Ring, alive: &[&str]) -> RingOverview {
        let spec = RingSpec::new("web", 8, KeyField::Uid);
        let served = "0-2".parse().ok();
        let lease = LeaseOverview { incarnation: Some(Incarnation(1)), renewed: None, fresh: true, served };
        let leases = alive.iter().map(|name| ((*name).to_owned(), lease.clone())).collect();
        RingOverview::new(&spec, &ring.to_status(), &leases).expect("it makes sense")
    }

    fn founded() -> Ring {
        let count = SlotCount::new(8).expect("a power of two");
        Ring::found(&InstanceId::new("a"), Incarnation(1), count, Epoch(1), true)
    }

    #[test]
    fn slots_move_since_somebody_joined() {
        let ring = founded().join(&InstanceId::new("b"), Incarnation(1)).rebalance(&[], None);
        let overview = overview_of(&ring, &["a"]);
        let shown: Vec<_> = overview
            .instances
            .iter()
            .map(|one| (one.id.as_str(), one.alive, one.owned, one.draining, one.gaining))
            .collect();
        assert_eq!(shown, [("a", true, 8, 4, 0), ("b", false, 0, 0, 4)]);
        let slots: Vec<_> =
            overview.instances.iter().map(|one| (one.owned_slots.as_str(), one.served)).collect();
        assert_eq!(slots, [("0-7", Some(3)), ("", None)]);
        let moved = &overview.moves[0];
        assert_eq!((moved.from_slot, moved.to_slot, moved.why.as_str()), (4, 7, "b joined"));
    }

    #[test]
    fn slots_move_since_somebody_leaves() {
        let joined = founded().join(&InstanceId::new("b"), Incarnation(1));
        let overview = overview_of(&joined.begin_leave(0).rebalance(&[], None), &["a", "b"]);
        assert_eq!((overview.moves.len(), overview.moves[0].why.as_str()), (1, "a leaves"));
        assert!(overview.instances[0].leaving);
    }

    #[test]
    fn ring_without_members_is_empty() {
        let spec = RingSpec::new("web", 8, KeyField::Uid);
        let overview = RingOverview::new(&spec, &RingStatus::default(), &BTreeMap::new()).expect("a ring");
        assert_eq!((overview.epoch, overview.instances.len()), (0, 0));
    }
}
