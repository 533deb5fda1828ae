//! A stream that fails when the other side takes nothing for too long, and that reports when it sends something.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::http::activity::Activity;

/// A stream whose writes time out while the other side takes nothing.
pub(crate) struct StallTimeout<S> {
    stream: S,
    activity: Arc<Activity>,
    timeout: Duration,
    /// Runs while the other side takes nothing.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S> StallTimeout<S> {
    pub(crate) fn new(stream: S, timeout: Duration, activity: Arc<Activity>) -> Self {
        StallTimeout { stream, activity, timeout, waiting: None }
    }

    /// Passes on the result of a write, or fails if it has been pending for too long.
    fn check_timeout<T>(
        &mut self,
        context: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.waiting = None;
            return polled;
        }
        let timeout = self.timeout;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(timeout)));
        ready!(waiting.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client takes nothing")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for StallTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.activity.heard();
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for StallTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.check_timeout(context, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.check_timeout(context, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.check_timeout(context, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(context);
        self.check_timeout(context, polled)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn writes_fail_when_nothing_is_taken() {
        let (mut client, server) = duplex(4);
        let mut server = StallTimeout::new(server, Duration::from_secs(5), Activity::new());
        server.write_all(b"abcd").await.expect("there is room");
        let (written, read) = tokio::join!(server.write_all(b"efgh"), async {
            sleep(Duration::from_secs(4)).await;
            client.read_exact(&mut [0; 4]).await
        });
        assert!(written.is_ok() && read.is_ok(), "slow is not too slow");
        let error = server.write_all(b"ijkl").await.expect_err("nothing is read");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
