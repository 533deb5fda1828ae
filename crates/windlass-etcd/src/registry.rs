//! The registry of one controller type: what an instance asks, performed in etcd.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use windlass_shard::{
    Answer, InstanceId, LastRing, Lease, Request, Ring, RingError, RingSpec, RingStatus, ServedSlots,
    SlotCount, Version, Versioned,
};

use crate::client::{Client, Repeat};
use crate::error::EtcdError;
use crate::follow;
use crate::keys::Keys;
use crate::presence::{Lister, Presence};
use crate::problems::{Operation, Problems};
use crate::record::{self, StoredEpoch, StoredLease, StoredRing, written};
use crate::transaction::{self, OPERATIONS_MAX, version_of};
use crate::wire::{KeyValue, TxnRequest};

/// The ring and the leases of one controller type, in etcd. Clones are the same registry.
#[derive(Clone, Debug)]
pub struct EtcdRegistry {
    register: Arc<Register>,
    presence: Arc<Presence>,
    served: Arc<Mutex<Served>>,
    listed_seconds: u32,
}

/// Who serves what.
#[derive(Debug, Default)]
struct Served {
    here: ServedSlots,
    /// What was last written of it.
    written: Option<ServedSlots>,
    /// What was read with the leases.
    by_instance: BTreeMap<InstanceId, ServedSlots>,
}

/// Where the registers of one controller type are, and what is wrong with them.
#[derive(Debug)]
pub(crate) struct Register {
    pub(crate) client: Arc<Client>,
    pub(crate) keys: Keys,
    pub(crate) ring_key: String,
    pub(crate) problems: Arc<Problems>,
    spec: RingSpec,
    count: SlotCount,
    last: LastRing,
}

impl EtcdRegistry {
    pub(crate) fn new(
        client: Arc<Client>,
        keys: Keys,
        spec: RingSpec,
        count: SlotCount,
        listed_seconds: u32,
    ) -> Self {
        let ring_key = keys.ring(&spec.controller_type);
        let problems = Arc::new(Problems::new(&spec.controller_type));
        let last = LastRing::default();
        let register = Arc::new(Register { client, keys, ring_key, problems, spec, count, last });
        EtcdRegistry { register, presence: Arc::new(Presence::new()), served: Arc::default(), listed_seconds }
    }

    /// Performs a request of an instance. It never fails: what goes wrong is [`Answer::Unknown`], within the deadline of
    /// the connection, and [`EtcdRegistry::last_error`] says what it is.
    pub fn perform<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Answer> {
        async move {
            let (operation, answer) = self.ask(request).await;
            let problems = &self.register.problems;
            match answer {
                Ok(answer) => {
                    problems.clear(operation);
                    answer
                }
                Err(error) => {
                    problems.note(operation, &error);
                    Answer::Unknown
                }
            }
        }
        .boxed()
    }

    async fn ask(&self, request: &Request) -> (Operation, Result<Answer, EtcdError>) {
        let register = &*self.register;
        match request {
            Request::ReadRing => (Operation::ReadRing, register.read_ring().await),
            Request::ReadLeases(ids) => {
                (Operation::ReadLeases, self.read_leases(ids).await.map(Answer::Leases))
            }
            Request::SwapRing { expected, ring } => {
                (Operation::SwapRing, register.swap_ring(*expected, ring).await)
            }
            Request::SwapLease { id, expected, lease } => {
                (Operation::SwapLease, self.swap_lease(id, *expected, *lease).await)
            }
        }
    }

    async fn swap_lease(
        &self,
        id: &InstanceId,
        expected: Option<Version>,
        lease: Lease,
    ) -> Result<Answer, EtcdError> {
        // Only the living renew a lease as alive: that of another is only ever ended.
        let news = self.served_slots().news().filter(|_| lease.alive);
        let answer = self.register.swap_lease(id, expected, lease, news.as_ref()).await?;
        match answer {
            Answer::Swapped(_) if lease.alive => {
                if news.is_some() {
                    self.served_slots().written = news;
                }
                self.presence.renewed(id, lease, || self.lister());
            }
            Answer::Swapped(_) => self.presence.ended(id),
            _ => {}
        }
        Ok(answer)
    }

    async fn read_leases(
        &self,
        ids: &[InstanceId],
    ) -> Result<Vec<(InstanceId, Option<Versioned<Lease>>)>, EtcdError> {
        let read = self.register.read_leases(ids).await?;
        let living = |lease: &Option<Versioned<Lease>>| lease.as_ref().is_some_and(|lease| lease.value.alive);
        let served = read.iter().map(|(id, lease, served)| {
            (id.clone(), if living(lease) { served.clone() } else { ServedSlots::default() })
        });
        self.served_slots().by_instance = served.collect();
        Ok(read.into_iter().map(|(id, lease, _)| (id, lease)).collect())
    }

    fn served_slots(&self) -> MutexGuard<'_, Served> {
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says which slots this instance serves, for others to see from its next renewal on.
    pub fn serve(&self, served: ServedSlots) {
        self.served_slots().here = served;
    }

    /// The slots that living instances said to serve when their leases were last read.
    pub fn served(&self) -> BTreeMap<InstanceId, ServedSlots> {
        self.served_slots().by_instance.clone()
    }

    fn lister(&self) -> Lister {
        let Register { client, keys, problems, spec, .. } = &*self.register;
        Lister {
            client: client.clone(),
            keys: keys.clone(),
            controller_type: spec.controller_type.clone(),
            problems: problems.clone(),
            seconds: self.listed_seconds,
        }
    }

    /// The ring as it is, and then after each change, in the order of versions. The stream never ends: after a failure it
    /// goes on where it was, or with the newest ring if etcd no longer knows what was in between. A deletion is not
    /// reported; [`Request::ReadRing`] shows it.
    pub fn watch_ring(&self) -> BoxStream<'static, Versioned<Arc<Ring>>> {
        follow::rings(self.register.clone())
    }

    /// What is wrong now, and what to do about it; none if all is well.
    pub fn last_error(&self) -> Option<String> {
        self.register.problems.last_error()
    }

    /// What this registry is, for messages: `etcd at HOST:PORT`.
    pub fn name(&self) -> String {
        format!("etcd at {}", self.register.client.endpoints.addresses())
    }
}

impl Served {
    /// What has changed since it was written.
    fn news(&self) -> Option<ServedSlots> {
        (self.written.as_ref() != Some(&self.here)).then(|| self.here.clone())
    }
}

/// A lease as it was read, and what its instance serves.
type ReadLease = (InstanceId, Option<Versioned<Lease>>, ServedSlots);

impl Register {
    /// The ring in a value. It must be able to come after the last ring that was seen.
    pub(crate) fn ring(&self, stored: &KeyValue) -> Result<Versioned<Arc<Ring>>, EtcdError> {
        let ring = StoredRing::read(&self.ring_key, &stored.value)?;
        let ring = ring.ring(&self.ring_key, &self.spec, self.count)?;
        let ring = Versioned::new(version_of(stored.mod_revision), Arc::new(ring));
        let refuse =
            |error: RingError| EtcdError::Value { key: self.ring_key.clone(), problem: error.to_string() };
        self.last.accept(&ring).map_err(refuse)?;
        Ok(ring)
    }

    async fn read_ring(&self) -> Result<Answer, EtcdError> {
        let answer = self.client.get(&self.ring_key).await?;
        match answer.kvs.first() {
            Some(stored) => Ok(Answer::Ring(Some(self.ring(stored)?))),
            None => self.no_ring().await,
        }
    }

    /// There is no ring. Its epoch is still there if there was one.
    async fn no_ring(&self) -> Result<Answer, EtcdError> {
        self.last.gone();
        let key = self.keys.epoch(&self.spec.controller_type);
        let answer = self.client.get(&key).await?;
        let Some(stored) = answer.kvs.first() else { return Ok(Answer::Ring(None)) };
        let StoredEpoch { epoch } = record::read(&key, &stored.value)?;
        Ok(Answer::RingGone(epoch))
    }

    async fn read_leases(&self, ids: &[InstanceId]) -> Result<Vec<ReadLease>, EtcdError> {
        let mut leases = Vec::with_capacity(ids.len());
        // Leases are registers of their own: not all of them have to be read at one revision.
        for ids in ids.chunks(OPERATIONS_MAX / 2) {
            let of_lease = ids.iter().map(|id| self.lease_key(id));
            let keys: Vec<String> = of_lease.chain(ids.iter().map(|id| self.served_key(id))).collect();
            let request = transaction::read(keys.iter().cloned());
            let answer = self.client.txn(request, Repeat::Freely).await?;
            let mut found = transaction::found(answer, keys.len())?;
            let served = found.split_off(ids.len());
            for (((id, key), stored), served) in ids.iter().zip(&keys).zip(found).zip(served) {
                let read = |value: &[u8]| StoredLease::read(key, value);
                let lease = stored.map(|stored| {
                    read(&stored.value).map(|lease| Versioned::new(version_of(stored.mod_revision), lease))
                });
                // It is only for an audit: what makes no sense is nothing.
                let served = served.and_then(|stored| String::from_utf8_lossy(&stored.value).parse().ok());
                leases.push((id.clone(), lease.transpose()?, served.unwrap_or_default()));
            }
        }
        Ok(leases)
    }

    async fn swap_ring(&self, expected: Option<Version>, ring: &Ring) -> Result<Answer, EtcdError> {
        let status: RingStatus = ring.to_status();
        let value = written(&StoredRing { spec: self.spec.clone(), status });
        let mut request = transaction::swap(&self.ring_key, expected, value);
        let epoch = written(&StoredEpoch { epoch: ring.epoch() });
        request.success.push(transaction::put(&self.keys.epoch(&self.spec.controller_type), epoch, 0));
        self.swap(request).await
    }

    async fn swap_lease(
        &self,
        id: &InstanceId,
        expected: Option<Version>,
        lease: Lease,
        served: Option<&ServedSlots>,
    ) -> Result<Answer, EtcdError> {
        let value = written(&StoredLease::from(lease));
        let mut request = transaction::swap(&self.lease_key(id), expected, value);
        if !lease.alive {
            let listed = self.keys.controller(&self.spec.controller_type, id);
            let gone = [listed, self.served_key(id)];
            request.success.extend(gone.iter().map(|key| transaction::delete(key)));
        }
        if let Some(served) = served {
            request.success.push(transaction::put(&self.served_key(id), served.to_string().into_bytes(), 0));
        }
        self.swap(request).await
    }

    /// Performs a swap once. If its answer is lost, it is not known whether it was performed, and a second one would be
    /// refused because of the first.
    async fn swap(&self, request: TxnRequest) -> Result<Answer, EtcdError> {
        let answer = self.client.txn(request, Repeat::Never).await?;
        if !answer.succeeded {
            return Ok(Answer::Conflict);
        }
        // What a transaction writes has its revision.
        let revision = answer.header.map(|header| header.revision);
        let nonsense = || EtcdError::Answer { problem: "a write without a revision".to_owned() };
        revision.map(|revision| Answer::Swapped(version_of(revision))).ok_or_else(nonsense)
    }

    fn served_key(&self, id: &InstanceId) -> String {
        self.keys.served(&self.spec.controller_type, id)
    }

    fn lease_key(&self, id: &InstanceId) -> String {
        self.keys.lease(&self.spec.controller_type, id)
    }
}
