//! A client of etcd: calls with deadlines, which go to the next member when one fails.

use std::future::Future;

use futures::StreamExt;
use futures::stream;
use tokio::time::{Instant, timeout_at};
use tonic::{Request, Response, Status, Streaming};

use crate::endpoints::{Endpoints, Session, share_of};
use crate::error::{Blames, EtcdError, Failure};
use crate::history::History;
use crate::keys::end_of;
use crate::options::EtcdOptions;
use crate::wire::kv_client::KvClient;
use crate::wire::lease_client::LeaseClient;
use crate::wire::maintenance_client::MaintenanceClient;
use crate::wire::watch_client::WatchClient;
use crate::wire::watch_request::RequestUnion;
use crate::wire::{
    LeaseGrantRequest, LeaseKeepAliveRequest, LeaseRevokeRequest, RangeRequest, RangeResponse, StatusRequest,
    StatusResponse, TxnRequest, TxnResponse, WatchCreateRequest, WatchRequest, WatchResponse,
};

/// The largest answer that is taken: many rings at once.
const ANSWER_MAX_BYTES: usize = 64 << 20;

/// Calls etcd.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) endpoints: Endpoints,
    history: History,
}

/// Whether a request that may have been performed may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// It reads, or doing it twice does no harm.
    Freely,
    /// The second one would be refused because of the first.
    Never,
}

impl Client {
    pub(crate) fn new(options: &EtcdOptions) -> Result<Self, EtcdError> {
        Ok(Client { endpoints: Endpoints::new(options)?, history: History::default() })
    }

    /// Reads one key, linearizably.
    pub(crate) async fn get(&self, key: &str) -> Result<RangeResponse, EtcdError> {
        self.range(range(key.as_bytes(), Vec::new())).await
    }

    /// Reads all keys that begin like this, linearizably.
    pub(crate) async fn get_all(&self, prefix: &str) -> Result<RangeResponse, EtcdError> {
        self.range(range(prefix.as_bytes(), end_of(prefix))).await
    }

    async fn range(&self, request: RangeRequest) -> Result<RangeResponse, EtcdError> {
        let known = self.history.revision()?;
        let send = |session: Session, request| async move { kv(&session).range(request).await };
        let answer = self.call(request, Repeat::Freely, send).await?;
        self.history.check(known, answer.header.as_ref())?;
        Ok(answer)
    }

    /// Performs a transaction.
    pub(crate) async fn txn(&self, request: TxnRequest, repeat: Repeat) -> Result<TxnResponse, EtcdError> {
        let known = self.history.revision()?;
        let send = |session: Session, request| async move { kv(&session).txn(request).await };
        let answer = self.call(request, repeat, send).await?;
        self.history.check(known, answer.header.as_ref())?;
        Ok(answer)
    }

    /// Makes a lease for this time; returns its number.
    pub(crate) async fn grant_lease(&self, seconds: u32) -> Result<i64, EtcdError> {
        let request = LeaseGrantRequest { ttl: i64::from(seconds), id: 0 };
        let send = |session: Session, request| async move { lease(&session).lease_grant(request).await };
        // A lease that was granted twice ends by itself.
        let granted = self.call(request, Repeat::Freely, send).await?;
        if granted.error.is_empty() {
            Ok(granted.id)
        } else {
            Err(EtcdError::Answer { problem: granted.error })
        }
    }

    /// Prolongs a lease; returns whether it is still there.
    pub(crate) async fn keep_lease_alive(&self, id: i64) -> Result<bool, EtcdError> {
        let send = |session: Session, request: Request<LeaseKeepAliveRequest>| async move {
            let answers = lease(&session).lease_keep_alive(request.map(|once| stream::iter([once]))).await?;
            let answer = answers.into_inner().message().await?;
            answer.map(Response::new).ok_or_else(|| Status::unavailable("the stream ended without an answer"))
        };
        let answer = self.call(LeaseKeepAliveRequest { id }, Repeat::Freely, send).await?;
        // Of a lease that has ended, no error is reported, but a time that is none.
        Ok(answer.ttl > 0)
    }

    /// Ends a lease, and deletes its keys.
    pub(crate) async fn revoke_lease(&self, id: i64) -> Result<(), EtcdError> {
        let send = |session: Session, request| async move { lease(&session).lease_revoke(request).await };
        self.call(LeaseRevokeRequest { id }, Repeat::Freely, send).await.map(|_| ())
    }

    /// How the member that is used is.
    pub(crate) async fn status(&self) -> Result<StatusResponse, EtcdError> {
        let send = |session: Session, request| async move {
            MaintenanceClient::new(session.channel.clone()).status(request).await
        };
        self.call(StatusRequest {}, Repeat::Freely, send).await
    }

    /// Begins to watch a key from a revision on. The first message has been read, which says whether it began.
    pub(crate) async fn watch(&self, key: &str, revision: i64) -> Result<Watch, EtcdError> {
        self.history.revision()?;
        let create = WatchCreateRequest {
            key: key.as_bytes().to_vec(),
            start_revision: revision,
            progress_notify: true,
            ..WatchCreateRequest::default()
        };
        let request = WatchRequest { request_union: Some(RequestUnion::CreateRequest(create)) };
        let send = |session: Session, request: Request<WatchRequest>| async move {
            // etcd ends the watch when there is nothing more to ask.
            let request = request.map(|create| stream::iter([create]).chain(stream::pending()));
            let mut client =
                WatchClient::new(session.channel.clone()).max_decoding_message_size(ANSWER_MAX_BYTES);
            let mut messages = client.watch(request).await?.into_inner();
            let first = messages.message().await?;
            let first = first.ok_or_else(|| Status::unavailable("the watch ended before it began"))?;
            Ok(Response::new(Watch { session, messages, first: Some(first) }))
        };
        let watch = self.call(request, Repeat::Freely, send).await?;
        let header = watch.first.as_ref().and_then(|first| first.header.as_ref());
        self.history.check_cluster(header)?;
        Ok(watch)
    }

    /// The next message of a watch. An error ends it.
    pub(crate) async fn next(&self, watch: &mut Watch) -> Result<WatchResponse, EtcdError> {
        if let Some(first) = watch.first.take() {
            return Ok(first);
        }
        let message = watch.messages.message().await;
        let message = message.and_then(|next| next.ok_or_else(|| Status::unavailable("the watch ended")));
        message.map_err(|status| self.failed(&watch.session, &status).error)
    }

    /// Makes the connection of a watch again before the next call, with another token.
    pub(crate) fn reconnect(&self, watch: &Watch) {
        self.endpoints.retire(&watch.session, Blames::Session);
    }

    async fn call<Message, Answer, Sent>(
        &self,
        message: Message,
        repeat: Repeat,
        send: impl Fn(Session, Request<Message>) -> Sent,
    ) -> Result<Answer, EtcdError>
    where
        Message: Clone,
        Sent: Future<Output = Result<Response<Answer>, Status>>,
    {
        let end = Instant::now() + self.endpoints.deadline;
        // Each member gets a try, and one more is for a connection that has been lost since it was last used.
        let mut tries = self.endpoints.count() + 1;
        loop {
            let session = self.endpoints.session(end).await?;
            tries -= 1;
            let limit = if repeat == Repeat::Freely { share_of(end, tries) } else { end };
            let request = session.request(message.clone());
            let failure = match timeout_at(limit, send(session.clone(), request)).await {
                Ok(Ok(answer)) => return Ok(answer.into_inner()),
                Ok(Err(status)) => self.failed(&session, &status),
                Err(_) => self.too_late(&session),
            };
            let may_repeat = failure.is_undone || (repeat == Repeat::Freely && failure.is_transient());
            if tries == 0 || !may_repeat {
                return Err(failure.error);
            }
        }
    }

    fn failed(&self, session: &Session, status: &Status) -> Failure {
        let failure = Failure::from_status(&session.address, &self.endpoints.prefix, status);
        self.endpoints.retire(session, failure.blames);
        failure
    }

    fn too_late(&self, session: &Session) -> Failure {
        let failure = Failure::deadline(&session.address, self.endpoints.deadline);
        self.endpoints.retire(session, failure.blames);
        failure
    }
}

/// A watch that began, or was refused: see its first message.
#[derive(Debug)]
pub(crate) struct Watch {
    session: Session,
    messages: Streaming<WatchResponse>,
    first: Option<WatchResponse>,
}

fn kv(session: &Session) -> KvClient<tonic::transport::Channel> {
    KvClient::new(session.channel.clone()).max_decoding_message_size(ANSWER_MAX_BYTES)
}

fn lease(session: &Session) -> LeaseClient<tonic::transport::Channel> {
    LeaseClient::new(session.channel.clone())
}

fn range(key: &[u8], range_end: Vec<u8>) -> RangeRequest {
    // Not serializable: the answer is as new as the question.
    RangeRequest { key: key.to_vec(), range_end, revision: 0, serializable: false }
}
