//! The connections of a peer: no more than a given number at a time, so that those who only hold theirs open cannot use up
//! its files.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::stream::{self, Stream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::transport::server::{Connected, TcpConnectInfo};

/// One of a limited number of connections.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    _slot: OwnedSemaphorePermit,
}

/// Accepts connections. Those beyond the limit are closed at once.
pub(super) fn accept(listener: TcpListener, most: usize) -> impl Stream<Item = io::Result<Connection>> {
    let slots = Arc::new(Semaphore::new(most));
    stream::unfold((listener, slots), |(listener, slots)| async move {
        loop {
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => return Some((Err(error), (listener, slots))),
            };
            let Ok(slot) = slots.clone().try_acquire_owned() else {
                tracing::warn!("too many connections, closing new ones");
                continue;
            };
            // Without it, small messages wait for each other.
            let connection = stream.set_nodelay(true).map(|()| Connection { stream, _slot: slot });
            return Some((connection, (listener, slots)));
        }
    })
}

impl Connected for Connection {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> TcpConnectInfo {
        self.stream.connect_info()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use futures::StreamExt;

    use super::*;

    #[tokio::test]
    async fn no_more_are_open_than_there_may_be() {
        use tokio::io::AsyncReadExt;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let accepted = accept(listener, 2);
        tokio::pin!(accepted);
        let mut clients = Vec::new();
        for _ in 0..3 {
            clients.push(TcpStream::connect(address).await.unwrap());
        }
        let (first, _second) = (accepted.next().await.unwrap(), accepted.next().await.unwrap());
        // No one is let in while the third is closed.
        let mut third = clients.pop().unwrap();
        let mut byte = [0];
        tokio::select! {
            read = third.read(&mut byte) => assert!(matches!(read, Ok(0) | Err(_))),
            _ = accepted.next() => panic!("there is no room"),
        }
        drop(first);
        let _fourth = TcpStream::connect(address).await.unwrap();
        assert!(accepted.next().await.unwrap().is_ok());
    }
}
