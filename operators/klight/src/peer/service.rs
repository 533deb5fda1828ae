//! The gRPC services of a peer: each call is handed to the node, and each failure becomes a status.

use std::pin::Pin;
use std::sync::Arc;

use futures::Stream;
use futures::stream;
use tonic::metadata::MetadataMap;
use tonic::{Code, Request, Response, Status};

use super::block::{Block, BlockKind};
use super::chain::Refusal;
use super::join::{JoinError, WelcomeError};
use super::node::{KeepError, Node};
use super::seat::Seat;
use super::spread::PersistError;
use crate::wire::health::health_check_response::ServingStatus;
use crate::wire::health::health_server::Health;
use crate::wire::health::{HealthCheckRequest, HealthCheckResponse};
use crate::wire::messages::lightpeer_server::Lightpeer;
use crate::wire::messages::{
    ConnectRequest, EmptyQueryRequest, JoinRequest, JoinResponse, Lightblock, NewBlockResponse,
    PersistRequest, PersistResponse, QueryResponse,
};
use crate::wire::{CallError, JoinAbout, check_network, contact_meant, is_meant_for, network_said};

type Answers<Message> = Pin<Box<dyn Stream<Item = Result<Message, Status>> + Send>>;

/// The peer, as the server sees it.
#[derive(Clone, Debug)]
pub(super) struct Service {
    pub(super) seat: Arc<Seat>,
}

impl Service {
    /// The node that is to answer. Refuses what is meant for a peer that had this address before, or for this one before it left a
    /// network.
    fn meant<Message>(&self, request: &Request<Message>) -> Result<Arc<Node>, Status> {
        let node = self.seat.node();
        let name = &node.own.name;
        if is_meant_for(request.metadata(), name) {
            return Ok(node);
        }
        Err(Status::not_found(format!("this is meant for another peer; the one at this address is {name}")))
    }
}

#[tonic::async_trait]
impl Lightpeer for Service {
    type ConnectNewPeerStream = Answers<Lightblock>;
    type QueryStream = Answers<QueryResponse>;

    async fn join_network(&self, request: Request<JoinRequest>) -> Result<Response<JoinResponse>, Status> {
        self.meant(&request)?;
        let metadata = request.metadata();
        let (network, contact_name) = (network(metadata)?, contact_meant(metadata));
        let about = JoinAbout { network, contact_name, own_name: None };
        let contact = request.into_inner().address;
        let seat = self.seat.clone();
        // The caller may be gone before it is done; a join must not stop halfway.
        let joined = finish(async move {
            let joined = seat.join(&contact, &about).await.map_err(|error| join_status(&error))?;
            let what = if joined { "joined" } else { "already a member of" };
            Ok(match (contact.as_str(), &about.network) {
                ("", Some(network)) => format!("{what} the network {network}"),
                _ => format!("{what} the network of {contact}"),
            })
        });
        let mut response = Response::new(JoinResponse { result: joined.await? });
        self.seat.node().identity().write(response.metadata_mut());
        Ok(response)
    }

    async fn connect_new_peer(
        &self,
        request: Request<ConnectRequest>,
    ) -> Result<Response<Self::ConnectNewPeerStream>, Status> {
        let node = self.meant(&request)?;
        let network = network(request.metadata())?;
        let welcome = node.welcome(request.into_inner().peer, network.as_deref());
        let blocks = welcome.await.map_err(|error| welcome_status(&error))?;
        Ok(Response::new(Box::pin(stream::iter(blocks.into_iter().map(|block| Ok(block.to_wire()))))))
    }

    async fn persist(&self, request: Request<PersistRequest>) -> Result<Response<PersistResponse>, Status> {
        let payload = request.into_inner().payload;
        let node = self.seat.node();
        let id = finish(async move { node.persist(payload).await.map_err(|error| persist_status(&error)) })
            .await?;
        Ok(Response::new(PersistResponse { response: id }))
    }

    async fn query(
        &self,
        _request: Request<EmptyQueryRequest>,
    ) -> Result<Response<Self::QueryStream>, Status> {
        let blocks: Vec<Arc<Block>> = {
            let node = self.seat.node();
            let state = node.state();
            state.chain.blocks().filter(|block| block.kind == BlockKind::Client).cloned().collect()
        };
        let answers = blocks.into_iter().map(|block| Ok(QueryResponse { payload: block.payload.clone() }));
        Ok(Response::new(Box::pin(stream::iter(answers))))
    }

    async fn notify_new_block(
        &self,
        request: Request<Lightblock>,
    ) -> Result<Response<NewBlockResponse>, Status> {
        let node = self.meant(&request)?;
        let network = network(request.metadata())?;
        let refuse = |problem| Status::invalid_argument(format!("this is {problem}"));
        let block = Block::from_wire(request.into_inner()).map_err(refuse)?;
        let is_new = node.hear(block, network.as_deref()).await.map_err(|error| keep_status(&error))?;
        let response = if is_new { "added" } else { "known" };
        Ok(Response::new(NewBlockResponse { response: response.to_owned() }))
    }
}

#[tonic::async_trait]
impl Health for Service {
    type WatchStream = Answers<HealthCheckResponse>;

    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        if !is_known(&request) {
            let service = request.into_inner().service;
            return Err(Status::not_found(format!("there is no service {service:?}; ask without a name")));
        }
        let mut response = Response::new(health(self.seat.is_serving()));
        self.seat.node().identity().write(response.metadata_mut());
        Ok(response)
    }

    async fn watch(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        if !is_known(&request) {
            let unknown = HealthCheckResponse { status: ServingStatus::ServiceUnknown.into() };
            // The protocol wants the call to stay open, as the service might come.
            return Ok(Response::new(Box::pin(futures::StreamExt::chain(
                stream::iter([Ok(unknown)]),
                stream::pending(),
            ))));
        }
        let stopping = self.seat.stopping.subscribe();
        let now = health(self.seat.is_serving());
        let later = stream::once(async move {
            let mut stopping = stopping;
            let _ = stopping.wait_for(|stopping| *stopping).await;
            Ok(health(false))
        });
        Ok(Response::new(Box::pin(futures::StreamExt::chain(stream::iter([Ok(now)]), later))))
    }
}

/// The network that a call is about.
fn network(metadata: &MetadataMap) -> Result<Option<String>, Status> {
    let said = network_said(metadata);
    said.as_deref().map_or(Ok(()), check_network).map_err(Status::invalid_argument)?;
    Ok(said)
}

/// The server as a whole, or its one service.
fn is_known(request: &Request<HealthCheckRequest>) -> bool {
    let known = ["", crate::wire::messages::lightpeer_server::SERVICE_NAME];
    known.contains(&request.get_ref().service.as_str())
}

fn health(serving: bool) -> HealthCheckResponse {
    let status = if serving { ServingStatus::Serving } else { ServingStatus::NotServing };
    HealthCheckResponse { status: status.into() }
}

/// Runs to the end, even if the caller no longer waits for it.
async fn finish<Output: Send + 'static>(
    work: impl Future<Output = Result<Output, Status>> + Send + 'static,
) -> Result<Output, Status> {
    tokio::spawn(work).await.unwrap_or_else(|error| Err(Status::internal(error.to_string())))
}

fn join_status(error: &JoinError) -> Status {
    let code = match error {
        JoinError::OtherNetwork { network, .. } => {
            return CallError::other_network(network, error.to_string());
        }
        JoinError::Address(_) | JoinError::Itself(_) | JoinError::Network(_) => Code::InvalidArgument,
        // Not `Unavailable`, which would say that this peer is not there.
        JoinError::Contact(_) | JoinError::Nonsense { .. } => Code::FailedPrecondition,
        JoinError::BlocksWouldBeLost { .. } => Code::Aborted,
        JoinError::Keep(error) => return keep_status(error),
    };
    Status::new(code, error.to_string())
}

fn welcome_status(error: &WelcomeError) -> Status {
    let code = match error {
        WelcomeError::Description(_) | WelcomeError::Itself(_) => Code::InvalidArgument,
        WelcomeError::Keep(error) => return keep_status(error),
    };
    Status::new(code, error.to_string())
}

fn persist_status(error: &PersistError) -> Status {
    let code = match error {
        PersistError::Keep(error) => keep_code(error),
        PersistError::NotReplicated { .. } => Code::Unavailable,
    };
    Status::new(code, error.to_string())
}

fn keep_status(error: &KeepError) -> Status {
    match error {
        KeepError::OtherNetwork { own, .. } => CallError::other_network(own, error.to_string()),
        _ => Status::new(keep_code(error), error.to_string()),
    }
}

fn keep_code(error: &KeepError) -> Code {
    match error {
        KeepError::Refused(Refusal::Unlinked { .. }) => Code::FailedPrecondition,
        KeepError::Refused(Refusal::Conflict { .. }) => Code::AlreadyExists,
        KeepError::Refused(Refusal::Large { .. }) => Code::InvalidArgument,
        KeepError::Refused(Refusal::Full { .. }) => Code::ResourceExhausted,
        KeepError::Journal(_) => Code::Internal,
        KeepError::OtherNetwork { .. } => Code::PermissionDenied,
        // As for all that is meant for a peer that was at this address before.
        KeepError::Left => Code::NotFound,
    }
}
