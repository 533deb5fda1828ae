//! A TCP proxy between one instance and one server, which can be cut.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::fault::Silence;

/// Whether bytes get through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Up,
    Down(Silence),
}

/// A proxy that listens on a port of its own. It ends when this is dropped.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    link: watch::Sender<Link>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Listens, and connects whoever comes with the server.
    ///
    /// # Errors
    /// If there is no free port.
    pub async fn start(server: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("no free port for a proxy")?;
        let address = listener.local_addr().context("a listener without an address")?;
        let (link, seen) = watch::channel(Link::Up);
        let task = tokio::spawn(accept(listener, server, seen));
        Ok(Proxy { address, link, task })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets nothing through any more.
    pub fn cut(&self, silence: Silence) {
        self.link.send_replace(Link::Down(silence));
    }

    /// Lets everything through again.
    pub fn heal(&self) {
        self.link.send_replace(Link::Up);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, server: SocketAddr, link: watch::Receiver<Link>) {
    while let Ok((client, _)) = listener.accept().await {
        tokio::spawn(connect(client, server, link.clone()));
    }
}

/// Serves one connection until one side closes it, or the link breaks loudly.
async fn connect(client: TcpStream, server: SocketAddr, mut link: watch::Receiver<Link>) {
    let at_first = *link.borrow_and_update();
    // Over a real network it would not have come: it waits, and has to come again.
    if at_first != Link::Up {
        _ = link.wait_for(|link| *link != at_first || at_first == Link::Down(Silence::Loud)).await;
        return;
    }
    let Ok(upstream) = TcpStream::connect(server).await else { return };
    for stream in [&client, &upstream] {
        // Requests are small, and must not wait for more.
        let _ = stream.set_nodelay(true);
    }
    let (client_read, client_write) = client.into_split();
    let (server_read, server_write) = upstream.into_split();
    let mut broken = link.clone();
    tokio::select! {
        () = pump(client_read, server_write, link.clone()) => {}
        () = pump(server_read, client_write, link) => {}
        _ = broken.wait_for(|link| *link == Link::Down(Silence::Loud)) => {}
    }
}

/// Passes bytes on. While the link is silently down it keeps them; if the sender is gone by then, they are lost.
async fn pump(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut link: watch::Receiver<Link>) {
    let mut kept = Vec::new();
    loop {
        let is_up = *link.borrow_and_update() == Link::Up;
        if is_up && !kept.is_empty() {
            if to.write_all(&kept).await.is_err() {
                return;
            }
            kept.clear();
        }
        tokio::select! {
            read = from.read_buf(&mut kept) => if !matches!(read, Ok(1..)) { return },
            changed = link.changed() => if changed.is_err() { return },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    /// A server that sends back whatever it gets.
    async fn echo() -> SocketAddr {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut read, mut write) = stream.split();
                    tokio::io::copy(&mut read, &mut write).await
                });
            }
        });
        address
    }

    async fn send(stream: &mut TcpStream, text: &str) -> std::io::Result<String> {
        stream.write_all(text.as_bytes()).await?;
        let mut bytes = vec![0; text.len()];
        stream.read_exact(&mut bytes).await?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    #[tokio::test]
    async fn bytes_get_through_both_ways() {
        let proxy = Proxy::start(echo().await).await.unwrap();
        let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
        assert_eq!(send(&mut stream, "hello").await.unwrap(), "hello");
        assert_eq!(send(&mut stream, "again").await.unwrap(), "again");
    }

    #[tokio::test]
    async fn loud_cut_breaks_connections_and_refuses_new_ones() {
        let proxy = Proxy::start(echo().await).await.unwrap();
        let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
        assert_eq!(send(&mut stream, "hello").await.unwrap(), "hello");
        proxy.cut(Silence::Loud);
        assert_eq!(stream.read(&mut [0]).await.unwrap_or_default(), 0);
        let mut another = TcpStream::connect(proxy.address()).await.unwrap();
        assert!(send(&mut another, "hello").await.is_err());
        proxy.heal();
        let mut third = TcpStream::connect(proxy.address()).await.unwrap();
        assert_eq!(send(&mut third, "hello").await.unwrap(), "hello");
    }

    #[tokio::test]
    async fn silent_cut_keeps_what_is_sent_until_it_heals() {
        let proxy = Proxy::start(echo().await).await.unwrap();
        let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
        assert_eq!(send(&mut stream, "hello").await.unwrap(), "hello");
        proxy.cut(Silence::Silent);
        let sent = send(&mut stream, "again");
        tokio::pin!(sent);
        assert!(timeout(Duration::from_millis(100), &mut sent).await.is_err(), "nothing comes through");
        proxy.heal();
        assert_eq!(sent.await.unwrap(), "again");
    }

    #[tokio::test]
    async fn what_a_client_that_is_gone_has_sent_is_lost() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let proxy = Proxy::start(listener.local_addr().unwrap()).await.unwrap();
        let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
        stream.write_all(b"early").await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        let mut bytes = vec![0; 5];
        server.read_exact(&mut bytes).await.unwrap();
        proxy.cut(Silence::Silent);
        stream.write_all(b"late").await.unwrap();
        drop(stream);
        // The connection ends, and nothing more has come over it.
        assert_eq!(server.read(&mut [0; 4]).await.unwrap_or_default(), 0);
    }
}
