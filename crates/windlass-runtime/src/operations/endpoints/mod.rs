//! What can be asked of a running process over HTTP: its metrics, whether it lives, whether it is ready.
//!
//! Start with [`Endpoints::start`].

mod answers;
#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::metrics::Metrics;
use answers::answer;

/// Maximum number of open connections: probes and a few readers of metrics.
const CONNECTIONS: usize = 64;
/// Timeout of a client that sends nothing.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// When the system has no more file handles, accepting again at once would only fail again.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Timeout of the last responses when the process ends.
const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// The health of a process. Called for every request, so it should not take long.
pub trait Health: Send + Sync + 'static {
    /// What must be so for the process to be of use: its watches are synced, above all.
    fn readiness(&self) -> Vec<Check>;

    /// What must hold for the process to go on at all. If it fails, Kubernetes restarts the process.
    fn liveness(&self) -> Vec<Check> {
        Vec::new()
    }

    /// The JSON document at a further path, such as `/debug/recordings`; `None` if there is none. Only this machine gets it.
    fn document(&self, path: &str) -> Option<String> {
        let _ = path;
        None
    }
}

/// One thing that must be so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What it is, such as `watch configmaps in all namespaces`.
    pub name: String,
    /// What is wrong with it, and what to do, if something is.
    pub problem: Option<String>,
}

impl Check {
    /// All is well.
    pub fn good(name: impl Into<String>) -> Self {
        Check { name: name.into(), problem: None }
    }

    /// Something is wrong.
    pub fn bad(name: impl Into<String>, problem: impl Into<String>) -> Self {
        Check { name: name.into(), problem: Some(problem.into()) }
    }
}

/// The endpoints cannot be served.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot listen on {address} for metrics and health: choose another address, or port 0 for a free one"
)]
pub struct ListenError {
    /// Where.
    pub address: SocketAddr,
    /// What the system said.
    pub source: io::Error,
}

/// The endpoints of a running process. Dropping it leaves them open until the runtime ends; see
/// [`Endpoints::shutdown`].
pub struct Endpoints {
    address: SocketAddr,
    closing: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Endpoints {
    /// The default address: a free port on the loopback interface.
    pub fn default_address() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 0))
    }

    /// Serves `/metrics`, `/healthz`, `/livez`, `/readyz`, and what documents there are besides.
    ///
    /// # Errors
    /// When nothing can listen there.
    pub async fn start(
        address: SocketAddr,
        metrics: Metrics,
        health: Arc<dyn Health>,
    ) -> Result<Endpoints, ListenError> {
        let failed = |source| ListenError { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        let (closing, closed) = watch::channel(false);
        let source = Arc::new(Source { metrics, health });
        let task = tokio::spawn(serve(listener, source, closed));
        Ok(Endpoints { address: bound, closing, task })
    }

    /// Where they are.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets what is being answered finish, and closes them.
    pub async fn shutdown(self) {
        self.closing.send_replace(true);
        let _ = self.task.await;
    }
}

/// Where answers come from.
struct Source {
    metrics: Metrics,
    health: Arc<dyn Health>,
}

async fn serve(listener: TcpListener, source: Arc<Source>, mut closing: watch::Receiver<bool>) {
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    let mut open = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = closed(&mut closing) => break,
            Some(_) = open.join_next() => continue,
        };
        match accepted {
            Ok((stream, peer)) => {
                // One too many is closed at once: probes come again.
                let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else { continue };
                let (source, closing) = (Arc::clone(&source), closing.clone());
                open.spawn(async move {
                    let _permit = permit;
                    speak(stream, peer.ip(), source, closing).await;
                });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection for metrics and health");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    let _ = timeout(LAST_ANSWERS, async { while open.join_next().await.is_some() {} }).await;
    open.shutdown().await;
}

/// Answers what comes over a connection, until it or the process ends.
async fn speak(stream: TcpStream, from: IpAddr, source: Arc<Source>, mut closing: watch::Receiver<bool>) {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(IDLE_TIMEOUT);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(IDLE_TIMEOUT)
        .keep_alive_timeout(IDLE_TIMEOUT);
    let service = service_fn(move |request| {
        let response = answer(&request, from, &source.metrics, &*source.health);
        async move { Ok::<_, Infallible>(response) }
    });
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = closed(&mut closing) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection for metrics and health ended with an error");
    }
}

/// Waits until the endpoints are to be closed.
async fn closed(closing: &mut watch::Receiver<bool>) {
    // An error means that the sender was dropped. The endpoints then stay open, since they were not shut down.
    if closing.wait_for(|closing| *closing).await.is_err() {
        std::future::pending::<()>().await;
    }
}
