//! Connections: accepted up to a bound, encrypted, and ended properly when the server ends.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::http::activity::{Activity, Misuse, Timeouts};
use crate::http::api::Api;
use crate::http::stall::StallTimeout;

/// Pause after a failed accept. When the system has no more file handles, an immediate retry would fail again.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Timeout of the last words to a client that is disconnected.
const GOODBYE: Duration = Duration::from_secs(1);
/// Timeout of requests in flight when the server shuts down.
const LAST_ANSWERS: Duration = Duration::from_millis(700);

/// Accepts connections until the server ends; then lets those that are open finish.
pub(crate) async fn serve(listener: TcpListener, tls: Option<TlsAcceptor>, api: Arc<Api>) {
    let mut closing = api.closing.clone();
    let slots = Arc::new(Semaphore::new(api.limits.connections));
    let mut open = JoinSet::new();
    let mut full = false;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = closing.wait() => break,
            Some(_) = open.join_next() => continue,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "accept failed");
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let slot = Arc::clone(&slots).try_acquire_owned();
        // Logged once per overload, not for each connection.
        if slot.is_err() && !full {
            tracing::warn!(limit = api.limits.connections, "too many connections, closing new ones");
        }
        full = slot.is_err();
        let Ok(slot) = slot else { continue };
        let (api, tls) = (Arc::clone(&api), tls.clone());
        open.spawn(async move {
            let _slot = slot;
            let _counted = api.metrics.connection();
            if let Err(error) = connection(stream, tls, Arc::clone(&api)).await {
                tracing::debug!(%error, "connection failed");
            }
        });
    }
    drop(listener);
    let _ = timeout(LAST_ANSWERS, async { while open.join_next().await.is_some() {} }).await;
    open.shutdown().await;
}

async fn connection(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    api: Arc<Api>,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    stream.set_nodelay(true)?;
    match tls {
        None => speak(stream, api).await,
        Some(_) if speaks_plainly(&stream, api.limits.header_timeout).await? => refuse_plain(stream).await,
        Some(tls) => {
            let handshake = timeout(api.limits.header_timeout, tls.accept(stream)).await;
            let late = |_| io::Error::new(io::ErrorKind::TimedOut, "the TLS handshake took too long");
            speak(handshake.map_err(late)??, api).await
        }
    }
}

/// Whether a client that should begin with TLS begins with a letter, as every request of plain HTTP does.
async fn speaks_plainly(stream: &TcpStream, header_timeout: Duration) -> io::Result<bool> {
    let mut first = [0];
    let peeked = timeout(header_timeout, stream.peek(&mut first)).await;
    let late = |_| io::Error::new(io::ErrorKind::TimedOut, "nothing came");
    Ok(peeked.map_err(late)?? == 1 && first[0].is_ascii_uppercase())
}

/// Answers plain HTTP on a TLS port, in the words of Go's server.
async fn refuse_plain(mut stream: TcpStream) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let answer = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
    stream.write_all(answer).await?;
    Ok(stream.shutdown().await?)
}

/// Answers the requests that come over a stream, until it or the server ends.
pub(crate) async fn speak(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    api: Arc<Api>,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let (limits, mut closing) = (&api.limits, api.closing.clone());
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle_timeout)
        .max_buf_size(limits.header_bytes.max(8192));
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams_per_connection)
        .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX))
        .keep_alive_interval(limits.stall_timeout)
        .keep_alive_timeout(limits.stall_timeout);
    let (answering, activity) = (Arc::clone(&api), Activity::new());
    let followed = Arc::clone(&activity);
    let service = service_fn(move |request| {
        let (api, open) = (Arc::clone(&answering), followed.request());
        async move { Ok::<_, Infallible>(api.answer(request).await.map(|body| open.answered(body))) }
    });
    let stream = TokioIo::new(StallTimeout::new(stream, limits.stall_timeout, Arc::clone(&activity)));
    let connection = builder.serve_connection(stream, service);
    tokio::pin!(connection);
    let timeouts =
        Timeouts { begin: limits.header_timeout, idle: limits.idle_timeout, stall: limits.stall_timeout };
    tokio::select! {
        ended = connection.as_mut() => return ended,
        misuse = activity.misuse(timeouts) => {
            if misuse == Misuse::Stalled {
                return Err("the client takes nothing".into());
            }
            connection.as_mut().graceful_shutdown();
            // A client that does not close its side is cut off: it has no request that is being answered.
            return timeout(GOODBYE, connection).await.unwrap_or(Ok(()));
        }
        () = closing.wait() => connection.as_mut().graceful_shutdown(),
    }
    connection.await
}
