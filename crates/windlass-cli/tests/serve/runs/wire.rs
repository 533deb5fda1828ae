//! What stands between a process and a server: it counts what is written, and holds calls up.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Passes everything on to a server that speaks HTTP/1.1 in the clear.
#[derive(Clone)]
pub(super) struct Wire {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    open: watch::Sender<bool>,
}

impl Wire {
    /// A wire to a server; if it is not open, requests are written down and wait.
    pub(super) async fn to(server: SocketAddr, open: bool) -> Wire {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let wire = Wire { address, requests: Arc::default(), open: watch::Sender::new(open) };
        let carrying = wire.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carrying.clone().carry(client, server));
            }
        });
        wire
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets everything through from now on.
    pub(super) fn open(&self) {
        self.open.send_replace(true);
    }

    /// The first lines of all requests so far.
    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("lock is not poisoned").clone()
    }

    /// The requests that change something, but for leases and Events.
    pub(super) fn writes(&self) -> Vec<String> {
        let mut requests = self.requests();
        requests.retain(|line| {
            !line.starts_with("GET ")
                && !line.contains("/leases")
                && !line.contains("/events")
                && !line.contains("reviews")
        });
        requests
    }

    async fn carry(self, client: TcpStream, server: SocketAddr) {
        let Ok(server) = TcpStream::connect(server).await else { return };
        let (from_client, mut to_client) = client.into_split();
        let (mut from_server, to_server) = server.into_split();
        tokio::spawn(self.listen(from_client, to_server));
        let _ = copy(&mut from_server, &mut to_client).await;
    }

    /// A client sends the next request when it has the answer to the last, so each begins a piece of its own.
    async fn listen(self, mut from_client: OwnedReadHalf, mut to_server: OwnedWriteHalf) {
        let mut piece = vec![0; 64 * 1024];
        while let Ok(length @ 1..) = from_client.read(&mut piece).await {
            let text = String::from_utf8_lossy(&piece[..length]);
            let line = text.lines().next().unwrap_or_default();
            if line.ends_with(" HTTP/1.1") {
                self.requests.lock().expect("lock is not poisoned").push(line.to_owned());
            }
            let opened = self.open.subscribe().wait_for(|open| *open).await.is_ok();
            if !opened || to_server.write_all(&piece[..length]).await.is_err() {
                return;
            }
        }
    }
}
