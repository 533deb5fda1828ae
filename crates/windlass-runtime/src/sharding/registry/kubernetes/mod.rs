//! The Kubernetes API as registry: a `ControllerRing` for the ring, and a Lease for each instance.

mod lease;
mod ring;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use futures::stream::BoxStream;
use tokio::time::timeout;
use windlass::KindInfo;
use windlass::model::{Body, PatchKind, Reason, Request as ApiRequest, Response, Verb};
use windlass_shard::{
    Answer, Epoch, InstanceId, LastRing, Lease, Request, Ring, RingSpec, ServedSlots, Timing, Version,
    Versioned,
};

use crate::api::Api;
use crate::operations::clock;

use super::{Registries, Registry};
pub(crate) use lease::served_slots;
pub use lease::{LEASE_RING_LABEL, lease_name};
pub use ring::ring_resource;

/// More leases than this are read by one list and not one by one.
const READ_ONE_BY_ONE: usize = 3;

/// The registers of all rings in one cluster.
pub(crate) struct KubernetesRegistry {
    api: Api,
    namespace: String,
    timing: Timing,
}

impl KubernetesRegistry {
    /// Rings are cluster-scoped; leases are in this namespace.
    pub(crate) fn new(api: Api, namespace: &str, timing: Timing) -> Self {
        KubernetesRegistry { api, namespace: namespace.to_owned(), timing }
    }
}

impl Registries for KubernetesRegistry {
    fn of_ring(&self, spec: &RingSpec) -> Arc<dyn Registry> {
        let spec = RingSpec { lease_namespace: Some(self.namespace.clone()), ..spec.clone() };
        Arc::new(RingRegistry {
            api: self.api.clone(),
            namespace: self.namespace.clone(),
            timing: self.timing,
            spec,
            last: Arc::default(),
            served: Mutex::default(),
            last_error: Mutex::default(),
        })
    }
}

/// Who serves what.
#[derive(Default)]
struct Served {
    /// What is written with the next renewal.
    here: ServedSlots,
    /// What was read with the leases.
    by_instance: BTreeMap<InstanceId, ServedSlots>,
    /// When the leases that were read had been renewed, for people who look at the ring.
    renewed: BTreeMap<InstanceId, String>,
}

/// The registers of one ring.
struct RingRegistry {
    api: Api,
    namespace: String,
    timing: Timing,
    spec: RingSpec,
    last: Arc<LastRing>,
    served: Mutex<Served>,
    last_error: Mutex<Option<String>>,
}

impl Registry for RingRegistry {
    fn perform<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            let limit = Duration::from_millis(self.timing.request_ms);
            let answered = timeout(limit, self.answer(request)).await;
            let silent = || Err(format!("the API server did not answer within {limit:?}"));
            let (answer, error) = match answered.unwrap_or_else(|_| silent()) {
                Ok(answer) => (answer, None),
                Err(error) => (Answer::Unknown, Some(error)),
            };
            self.note(error);
            answer
        })
    }

    fn watch_ring(&self) -> BoxStream<'static, Versioned<Arc<Ring>>> {
        ring::watch(self.api.clone(), self.spec.clone(), Arc::clone(&self.last))
    }

    fn last_error(&self) -> Option<String> {
        self.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn serve(&self, served: ServedSlots) {
        self.served_slots().here = served;
    }

    fn served(&self) -> BTreeMap<InstanceId, ServedSlots> {
        self.served_slots().by_instance.clone()
    }

    fn name(&self) -> String {
        format!("the Kubernetes API (leases in namespace {})", self.namespace)
    }
}

impl RingRegistry {
    async fn answer(&self, request: &Request) -> Result<Answer, String> {
        match request {
            Request::ReadRing => match self.read_ring().await? {
                Some(ring) => Ok(Answer::Ring(Some(ring))),
                None => self.no_ring().await,
            },
            Request::ReadLeases(ids) => Ok(Answer::Leases(self.read_leases(ids).await?)),
            Request::SwapLease { id, expected, lease } => self.swap_lease(id, *expected, *lease).await,
            Request::SwapRing { expected: Some(expected), ring } => self.write_ring(*expected, ring).await,
            Request::SwapRing { expected: None, ring } => self.found_ring(ring).await,
        }
    }

    /// Logs an error when it is new, and when it is over.
    fn note(&self, error: Option<String>) {
        let mut known = self.last_error.lock().unwrap_or_else(PoisonError::into_inner);
        if *known == error {
            return;
        }
        let ring = &self.spec.controller_type;
        match &error {
            Some(error) => tracing::warn!(ring, %error, "the registry cannot be read or written"),
            None => tracing::info!(ring, "the registry can be read and written again"),
        }
        *known = error;
    }

    async fn read_ring(&self) -> Result<Option<Versioned<Arc<Ring>>>, String> {
        let response = self.api.perform(&ring::get(&self.spec)).await;
        let Some(object) = response.as_object() else { return ring::missing(&self.spec, &response) };
        let read = ring::from_object(&self.spec, &self.last, object);
        if let Err(error) = &read
            && let Some(report) = ring::report(&self.spec, object, error, clock::now())
        {
            // It is for people. Whether it succeeds changes nothing.
            self.api.perform(&report).await;
        }
        read
    }

    /// There is no ring. Leases say whether there was one.
    async fn no_ring(&self) -> Result<Answer, String> {
        self.last.gone();
        let epoch = self.list_leases().await?.into_iter().map(|(_, stored)| stored.epoch).max();
        let epoch = self.last.epoch().max(epoch.unwrap_or_default());
        Ok(if epoch == Epoch::default() { Answer::Ring(None) } else { Answer::RingGone(epoch) })
    }

    /// Writes the first ring. The object may be there already, without a status.
    async fn found_ring(&self, ring: &Ring) -> Result<Answer, String> {
        let created = self.api.perform(&ring::create(&self.spec)).await;
        if let Some(status) = created.failure()
            && status.reason != Some(Reason::AlreadyExists)
        {
            ring::missing(&self.spec, &created)?;
            return Err(status.message.clone());
        }
        let found = self.api.perform(&ring::get(&self.spec)).await;
        let Some(object) = found.as_object() else { return Ok(Answer::Conflict) };
        match ring::from_object(&self.spec, &self.last, object)? {
            Some(_) => Ok(Answer::Conflict),
            None => self.write_ring(version_of(object)?, ring).await,
        }
    }

    async fn write_ring(&self, expected: Version, ring: &Ring) -> Result<Answer, String> {
        let renewed = {
            let mut known = self.served_slots();
            known.renewed.retain(|id, _| ring.member(id).is_some());
            known.renewed.clone()
        };
        swapped(&self.api.perform(&ring::update(&self.spec, expected, ring, &renewed)).await)
    }

    async fn read_leases(
        &self,
        ids: &[InstanceId],
    ) -> Result<Vec<(InstanceId, Option<Versioned<Lease>>)>, String> {
        let stored: Vec<Option<lease::Stored>> = if ids.len() > READ_ONE_BY_ONE {
            let mut all: BTreeMap<String, lease::Stored> = self.list_leases().await?.into_iter().collect();
            ids.iter().map(|id| all.remove(&lease_name(&self.spec.controller_type, id))).collect()
        } else {
            let read = join_all(ids.iter().map(|id| self.read_lease(id))).await;
            read.into_iter().collect::<Result<_, _>>()?
        };
        let served = ids
            .iter()
            .zip(&stored)
            .filter_map(|(id, stored)| Some((id.clone(), stored.as_ref()?.served.clone())));
        let renewed = ids
            .iter()
            .zip(&stored)
            .filter_map(|(id, stored)| Some((id.clone(), stored.as_ref()?.renewed.clone()?)));
        let (served, renewed) = (served.collect(), renewed.collect::<Vec<_>>());
        let mut known = self.served_slots();
        known.by_instance = served;
        known.renewed.extend(renewed);
        drop(known);
        Ok(ids.iter().cloned().zip(stored.into_iter().map(|stored| Some(stored?.lease))).collect())
    }

    fn served_slots(&self) -> MutexGuard<'_, Served> {
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn read_lease(&self, id: &InstanceId) -> Result<Option<lease::Stored>, String> {
        let response = self.api.perform(&self.on_lease(Verb::Get, id)).await;
        match (response.as_object(), response.failure()) {
            (Some(object), _) => Ok(Some(lease::from_object(object)?)),
            (None, Some(status)) if status.reason == Some(Reason::NotFound) => Ok(None),
            _ => Err(message(&response)),
        }
    }

    /// All leases of the ring, by name.
    async fn list_leases(&self) -> Result<Vec<(String, lease::Stored)>, String> {
        let mut request = ApiRequest::new(Verb::List, lease::resource()).in_namespace(&self.namespace);
        request.options.label_selector = Some(format!("{LEASE_RING_LABEL}={}", self.spec.controller_type));
        let response = self.api.perform(&request).await;
        let Body::List(list) = &response.body else { return Err(message(&response)) };
        let read = |object: &Arc<serde_json::Value>| {
            Ok((windlass::model::object::name(object).to_owned(), lease::from_object(object)?))
        };
        list.items.iter().map(read).collect()
    }

    async fn swap_lease(
        &self,
        id: &InstanceId,
        expected: Option<Version>,
        lease: Lease,
    ) -> Result<Answer, String> {
        let (ring, namespace) = (&self.spec.controller_type, &self.namespace);
        let (epoch, now) = (self.last.epoch(), clock::now());
        // Only the living renew a lease as alive: that of another is only ever ended.
        let served = lease.alive.then(|| self.served_slots().here.clone());
        let written = lease::Written { ring, namespace, id, lease, epoch, served, timing: self.timing, now };
        let request = match expected {
            None => self.on_lease(Verb::Create, id).with_body(written.created()),
            Some(version) => {
                self.on_lease(Verb::Patch(PatchKind::Merge), id).with_body(written.patch(version))
            }
        };
        let response = self.api.perform(&request).await;
        if expected.is_none() && response.code == 404 {
            // A Lease that is created cannot be missing: its namespace is. No later read would say so.
            return Err(format!("the Lease of instance {id} cannot be created: {}", message(&response)));
        }
        swapped(&response)
    }

    fn on_lease(&self, verb: Verb, id: &InstanceId) -> ApiRequest {
        let request =
            ApiRequest::new(verb, lease::resource()).in_namespace(&self.namespace).as_manager(FIELD_MANAGER);
        if verb == Verb::Create {
            request
        } else {
            request.named(&lease_name(&self.spec.controller_type, id))
        }
    }
}

/// The field manager of what the protocol writes.
const FIELD_MANAGER: &str = "windlass-sharding";

/// The kind of rings.
pub(crate) fn ring_kind() -> KindInfo {
    KindInfo { resource: ring_resource(), kind: "ControllerRing".to_owned(), namespaced: false }
}

/// What the response to a compare-and-swap means.
fn swapped(response: &Response) -> Result<Answer, String> {
    match (response.as_object(), response.code) {
        (Some(object), _) => Ok(Answer::Swapped(version_of(object)?)),
        // What is gone is not of the expected version either.
        (None, 404 | 409) => Ok(Answer::Conflict),
        _ => Err(message(response)),
    }
}

fn version_of(object: &serde_json::Value) -> Result<Version, String> {
    let version = windlass::model::object::resource_version(object);
    let number = version.parse().map_err(|_| format!("the resource version {version:?} is no number"))?;
    Ok(Version(number))
}

fn message(response: &Response) -> String {
    response.failure().map_or_else(|| "the answer is no object".to_owned(), |status| status.message.clone())
}
