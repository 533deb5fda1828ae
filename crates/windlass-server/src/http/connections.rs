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

use crate::http::activity::{Activity, Misuse, Patience};
use crate::http::api::Api;
use crate::http::stall::Impatient;

/// When the system has no more file handles, accepting again at once would only fail again.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// So long may requests that are being answered take when the server ends.
const LAST_ANSWERS: Duration = Duration::from_millis(700);

/// Accepts connections until the server ends; then lets those that are open finish.
pub(crate) async fn serve(listener: TcpListener, tls: Option<TlsAcceptor>, api: Arc<Api>) {
    let mut closing = api.closing.clone();
    let places = Arc::new(Semaphore::new(api.limits.connections));
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
                tracing::warn!(%error, "cannot accept a connection");
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let place = Arc::clone(&places).try_acquire_owned();
        // Said once each time, since whoever does this does it many times.
        if place.is_err() && !full {
            tracing::warn!(limit = api.limits.connections, "too many connections: further ones are closed");
        }
        full = place.is_err();
        let Ok(place) = place else { continue };
        let (api, tls) = (Arc::clone(&api), tls.clone());
        open.spawn(async move {
            let _place = place;
            let _counted = api.metrics.connection();
            if let Err(error) = connection(stream, tls, Arc::clone(&api)).await {
                tracing::debug!(%error, "a connection ended with an error");
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
        Some(_) if speaks_plainly(&stream, api.limits.header_patience).await? => refuse_plain(stream).await,
        Some(tls) => {
            let handshake = timeout(api.limits.header_patience, tls.accept(stream)).await;
            let late = |_| io::Error::new(io::ErrorKind::TimedOut, "the TLS handshake took too long");
            speak(handshake.map_err(late)??, api).await
        }
    }
}

/// Whether a client that should begin with TLS begins with a letter, as every request of plain HTTP does.
async fn speaks_plainly(stream: &TcpStream, patience: Duration) -> io::Result<bool> {
    let mut first = [0];
    let peeked = timeout(patience, stream.peek(&mut first)).await;
    let late = |_| io::Error::new(io::ErrorKind::TimedOut, "nothing came");
    Ok(peeked.map_err(late)?? == 1 && first[0].is_ascii_uppercase())
}

/// Says what is wrong, in the words of Go's server.
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
        .header_read_timeout(limits.idle_patience)
        .max_buf_size(limits.header_bytes.max(8192));
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams_per_connection)
        .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX))
        .keep_alive_interval(limits.stall_patience)
        .keep_alive_timeout(limits.stall_patience);
    let (answering, activity) = (Arc::clone(&api), Activity::new());
    let followed = Arc::clone(&activity);
    let service = service_fn(move |request| {
        let (api, open) = (Arc::clone(&answering), followed.request());
        async move { Ok::<_, Infallible>(api.answer(request).await.map(|body| open.answered(body))) }
    });
    let stream = TokioIo::new(Impatient::new(stream, limits.stall_patience, Arc::clone(&activity)));
    let connection = builder.serve_connection(stream, service);
    tokio::pin!(connection);
    let patience =
        Patience { begin: limits.header_patience, idle: limits.idle_patience, stall: limits.stall_patience };
    tokio::select! {
        ended = connection.as_mut() => return ended,
        misuse = activity.misuse(patience) => {
            if misuse == Misuse::Stalled {
                return Err("the client takes nothing".into());
            }
            connection.as_mut().graceful_shutdown();
            // A client that does not say goodbye is left without.
            return timeout(limits.header_patience, connection).await.unwrap_or(Ok(()));
        }
        () = closing.wait() => connection.as_mut().graceful_shutdown(),
    }
    connection.await
}
