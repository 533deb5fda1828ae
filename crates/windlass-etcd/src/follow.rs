//! Follows the ring: a watch that is made again for ever.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, BoxStream, StreamExt};
use windlass_shard::{Ring, Versioned};

use crate::client::Watch;
use crate::error::EtcdError;
use crate::problems::Operation;
use crate::registry::Register;
use crate::wire::event::EventType;
use crate::wire::{KeyValue, WatchResponse};

/// How long to wait after the first failure, and at most.
const BACKOFF_MIN: Duration = Duration::from_millis(100);
const BACKOFF_MAX: Duration = Duration::from_secs(5);

/// Where the stream is.
struct Follow {
    register: Arc<Register>,
    /// The first revision that was not seen yet; none if the ring is to be read.
    position: Option<i64>,
    watch: Option<Watch>,
    seen: VecDeque<Versioned<Arc<Ring>>>,
    backoff: Duration,
}

/// The ring as it is, and then after each change.
pub(crate) fn rings(register: Arc<Register>) -> BoxStream<'static, Versioned<Arc<Ring>>> {
    let follow =
        Follow { register, position: None, watch: None, seen: VecDeque::new(), backoff: BACKOFF_MIN };
    stream::unfold(follow, |mut follow| async move {
        let ring = follow.next().await;
        Some((ring, follow))
    })
    .boxed()
}

impl Follow {
    async fn next(&mut self) -> Versioned<Arc<Ring>> {
        loop {
            if let Some(ring) = self.seen.pop_front() {
                return ring;
            }
            if let Err(error) = self.step().await {
                self.register.problems.note(Operation::WatchRing, &error);
                self.watch = None;
                tokio::time::sleep(self.backoff).await;
                self.backoff = (self.backoff * 2).min(BACKOFF_MAX);
            }
        }
    }

    /// Reads the ring, begins to watch it, or takes the next message of the watch: whatever comes next.
    async fn step(&mut self) -> Result<(), EtcdError> {
        let Register { client, ring_key, .. } = &*self.register;
        match (&mut self.watch, self.position) {
            (Some(watch), _) => {
                let message = client.next(watch).await?;
                self.take(message)
            }
            (None, Some(position)) => {
                self.watch = Some(client.watch(ring_key, position).await?);
                Ok(())
            }
            (None, None) => {
                let answer = client.get(ring_key).await?;
                self.position = answer.header.map(|header| header.revision + 1);
                answer.kvs.iter().for_each(|stored| self.see(stored));
                Ok(())
            }
        }
    }

    fn take(&mut self, message: WatchResponse) -> Result<(), EtcdError> {
        if message.canceled {
            return self.end(&message);
        }
        self.register.problems.clear(Operation::WatchRing);
        self.backoff = BACKOFF_MIN;
        for event in &message.events {
            if let (EventType::Put, Some(stored)) = (event.r#type(), &event.kv) {
                self.see(stored);
            }
        }
        let last =
            message.events.iter().filter_map(|event| event.kv.as_ref()).map(|kv| kv.mod_revision).max();
        // Without events, the message says up to which revision there are none, unless it only says that the watch began.
        let idle = message.header.filter(|_| !message.created).map(|header| header.revision);
        if let Some(last) = last.or(idle) {
            self.position = self.position.max(Some(last + 1));
        }
        Ok(())
    }

    /// etcd has ended the watch.
    fn end(&mut self, message: &WatchResponse) -> Result<(), EtcdError> {
        let watch = self.watch.take();
        if message.compact_revision > 0 {
            // What happened since then is no longer known; only what came of it.
            self.position = None;
            return Ok(());
        }
        // The reason may be a token that is no longer valid, which is no error of the call here.
        watch.iter().for_each(|watch| self.register.client.reconnect(watch));
        let problem = format!("the end of a watch: {}", message.cancel_reason);
        Err(EtcdError::Answer { problem })
    }

    /// A ring that cannot be used is reported, and passed over: the next one may be right again.
    fn see(&mut self, stored: &KeyValue) {
        match self.register.ring(stored) {
            Ok(ring) => {
                self.register.problems.clear(Operation::ReadRing);
                self.seen.push_back(ring);
            }
            Err(error) => self.register.problems.note(Operation::ReadRing, &error),
        }
    }
}
