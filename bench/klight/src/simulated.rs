//! Peers that do nothing but answer: each listens on a port of its own and counts the joins that it is asked for.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use futures::Stream;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::Server;
use tonic::{Request, Response, Status};
use windlass_klight::wire::health::health_check_response::ServingStatus;
use windlass_klight::wire::health::health_server::{Health, HealthServer};
use windlass_klight::wire::health::{HealthCheckRequest, HealthCheckResponse};
use windlass_klight::wire::messages::lightpeer_server::{Lightpeer, LightpeerServer};
use windlass_klight::wire::messages::{
    ConnectRequest, EmptyQueryRequest, JoinRequest, JoinResponse, Lightblock, NewBlockResponse,
    PersistRequest, PersistResponse, QueryResponse,
};

type Answers<Message> = Pin<Box<dyn Stream<Item = Result<Message, Status>> + Send>>;

/// A peer; clones count together, and stop together.
#[derive(Clone, Default)]
pub(crate) struct Simulated {
    joins: Arc<AtomicUsize>,
    serving: Arc<Mutex<JoinSet<Result<(), tonic::transport::Error>>>>,
}

impl Simulated {
    /// Starts one on a free port of this machine.
    pub(crate) async fn listen(&self) -> Result<SocketAddr> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let serving = Server::builder()
            .add_service(LightpeerServer::new(self.clone()))
            .add_service(HealthServer::new(self.clone()))
            .serve_with_incoming(TcpListenerStream::new(listener));
        self.serving.lock().unwrap_or_else(PoisonError::into_inner).spawn(serving);
        Ok(address)
    }

    /// Stops all of them: their ports and connections are needed for the next ones.
    pub(crate) fn stop(&self) {
        self.serving.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }

    /// Number of joins that all of them were asked for.
    pub(crate) fn joins(&self) -> usize {
        self.joins.load(Ordering::Relaxed)
    }
}

#[tonic::async_trait]
impl Lightpeer for Simulated {
    type ConnectNewPeerStream = Answers<Lightblock>;
    type QueryStream = Answers<QueryResponse>;

    async fn join_network(&self, request: Request<JoinRequest>) -> Result<Response<JoinResponse>, Status> {
        let contact = request.into_inner().address;
        // Without a contact the call only names the network.
        if !contact.is_empty() {
            self.joins.fetch_add(1, Ordering::Relaxed);
        }
        Ok(Response::new(JoinResponse { result: format!("joined {contact}") }))
    }

    async fn connect_new_peer(
        &self,
        _request: Request<ConnectRequest>,
    ) -> Result<Response<Self::ConnectNewPeerStream>, Status> {
        Err(nothing_to_see())
    }

    async fn persist(&self, _request: Request<PersistRequest>) -> Result<Response<PersistResponse>, Status> {
        Err(nothing_to_see())
    }

    async fn query(
        &self,
        _request: Request<EmptyQueryRequest>,
    ) -> Result<Response<Self::QueryStream>, Status> {
        Err(nothing_to_see())
    }

    async fn notify_new_block(
        &self,
        _request: Request<Lightblock>,
    ) -> Result<Response<NewBlockResponse>, Status> {
        Err(nothing_to_see())
    }
}

fn nothing_to_see() -> Status {
    Status::unimplemented("a simulated peer keeps nothing")
}

#[tonic::async_trait]
impl Health for Simulated {
    type WatchStream = Answers<HealthCheckResponse>;

    async fn check(
        &self,
        _request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        Ok(Response::new(HealthCheckResponse { status: ServingStatus::Serving.into() }))
    }

    async fn watch(
        &self,
        _request: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        Err(nothing_to_see())
    }
}
