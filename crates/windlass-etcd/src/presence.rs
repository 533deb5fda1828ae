//! The list of instances: a key for each that is there, which goes when its etcd lease is not renewed.
//!
//! It is for people and for programs that want to know who is there. No decision of the protocol reads it: see the crate.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use windlass_shard::{InstanceId, Lease};

use crate::client::{Client, Repeat};
use crate::error::EtcdError;
use crate::keys::Keys;
use crate::problems::{Operation, Problems};
use crate::record::{StoredInstance, StoredLease, written};
use crate::transaction::put_while;

/// Lists the instance of this process. It runs beside the registry, which never waits for it.
#[derive(Debug)]
pub(crate) struct Presence {
    wanted: watch::Sender<Option<Member>>,
}

/// An instance that has renewed its lease.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Member {
    id: InstanceId,
    lease: Lease,
}

/// An entry in the list, and the etcd lease that it ends with.
#[derive(Debug)]
struct Entry {
    member: Member,
    etcd_lease: i64,
    renewed: Instant,
}

/// Keeps the entry.
pub(crate) struct Lister {
    pub(crate) client: Arc<Client>,
    pub(crate) keys: Keys,
    pub(crate) controller_type: String,
    pub(crate) problems: Arc<Problems>,
    /// How long an entry lasts without a renewal, in seconds.
    pub(crate) seconds: u32,
}

impl Presence {
    pub(crate) fn new() -> Self {
        Presence { wanted: watch::Sender::new(None) }
    }

    /// The instance has renewed its lease. The first time, the task that lists it starts.
    pub(crate) fn renewed(&self, id: &InstanceId, lease: Lease, lister: impl FnOnce() -> Lister) {
        let member = Member { id: id.clone(), lease };
        if self.wanted.receiver_count() == 0 {
            let receiver = self.wanted.subscribe();
            tokio::spawn(lister().run(receiver));
        }
        self.wanted.send_replace(Some(member));
    }

    /// The lease of an instance has ended. The transaction that did that has taken it off the list.
    pub(crate) fn ended(&self, id: &InstanceId) {
        let is_own = self.wanted.borrow().as_ref().is_some_and(|member| member.id == *id);
        if is_own {
            self.wanted.send_replace(None);
        }
    }
}

impl Lister {
    async fn run(self, mut wanted: watch::Receiver<Option<Member>>) {
        let mut entry = None;
        while wanted.changed().await.is_ok() {
            let member = wanted.borrow_and_update().clone();
            match self.follow(&mut entry, member).await {
                Ok(()) => self.problems.clear(Operation::ListInstance),
                // The next renewal comes soon, and with it the next try.
                Err(error) => self.problems.note(Operation::ListInstance, &error),
            }
        }
    }

    /// Makes, prolongs or ends the entry.
    async fn follow(&self, entry: &mut Option<Entry>, wanted: Option<Member>) -> Result<(), EtcdError> {
        if let Some(known) = entry {
            if Some(&known.member) == wanted.as_ref() && self.prolong(known).await? {
                return Ok(());
            }
            // An entry that cannot be ended now ends by itself.
            self.client.revoke_lease(known.etcd_lease).await.ok();
            *entry = None;
        }
        if let Some(member) = wanted {
            *entry = self.announce(member).await?;
        }
        Ok(())
    }

    /// Prolongs the entry; returns whether it is still there.
    async fn prolong(&self, entry: &mut Entry) -> Result<bool, EtcdError> {
        // Renewals of the protocol are more frequent than those of the entry have to be.
        if entry.renewed.elapsed() < Duration::from_secs(self.seconds.into()) / 4 {
            return Ok(true);
        }
        // The time is taken before the request is sent, because the etcd lease may begin as early as that.
        let sent = Instant::now();
        let is_there = self.client.keep_lease_alive(entry.etcd_lease).await?;
        entry.renewed = sent;
        Ok(is_there)
    }

    /// Makes the entry, unless the incarnation has been ended meanwhile.
    async fn announce(&self, member: Member) -> Result<Option<Entry>, EtcdError> {
        let renewed = Instant::now();
        let etcd_lease = self.client.grant_lease(self.seconds).await?;
        let Lister { keys, controller_type, .. } = self;
        let register = keys.lease(controller_type, &member.id);
        let condition = (register.as_str(), written(&StoredLease::from(member.lease)));
        let value = written(&StoredInstance { incarnation: member.lease.incarnation });
        let request = put_while(condition, &keys.controller(controller_type, &member.id), value, etcd_lease);
        let answer = self.client.txn(request, Repeat::Freely).await?;
        if answer.succeeded {
            return Ok(Some(Entry { member, etcd_lease, renewed }));
        }
        self.client.revoke_lease(etcd_lease).await?;
        Ok(None)
    }
}
