//! A write whose answer is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use conformance::etcd::Etcd;
use tokio::io::copy;
use tokio::net::{TcpListener, TcpStream};
use windlass_shard::{Answer, Request};

use crate::support::{
    connection, etcd, lease, options, registry, registry_of, ring, ring_in, soon, swap_lease, swap_ring,
    written,
};

/// Stands between a client and etcd, and cuts the connection in place of the next answer when that is wanted.
struct Proxy {
    address: String,
    cuts: Arc<AtomicBool>,
}

impl Proxy {
    async fn start(etcd: &Etcd) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let (cuts, target) = (Arc::new(AtomicBool::new(false)), etcd.address());
        let cut = cuts.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(forward(client, target.clone(), cut.clone()));
            }
        });
        Proxy { address, cuts }
    }

    fn cut_at_next_answer(&self) {
        self.cuts.store(true, Ordering::SeqCst);
    }
}

async fn forward(client: TcpStream, target: String, cuts: Arc<AtomicBool>) {
    let server = TcpStream::connect(target).await.expect("an etcd");
    let (mut from_client, mut to_client) = client.into_split();
    let (from_server, mut to_server) = server.into_split();
    let asks = async { copy(&mut from_client, &mut to_server).await.map(|_| ()) };
    let answers = async {
        let mut bytes = vec![0; 1 << 16];
        loop {
            from_server.readable().await?;
            match from_server.try_read(&mut bytes) {
                Ok(0) => return Ok(()),
                // What comes first may be an acknowledgement of the transport and no answer yet; an answer has a name.
                Ok(size) if is_answer(&bytes[..size]) && cuts.swap(false, Ordering::SeqCst) => return Ok(()),
                Ok(size) => tokio::io::AsyncWriteExt::write_all(&mut to_client, &bytes[..size]).await?,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    };
    // The end of either direction is the end of the connection.
    tokio::select! {
        _ = asks => {}
        _ = answers => {}
    }
}

/// Whether there is a frame of HTTP/2 with data in it.
fn is_answer(mut frames: &[u8]) -> bool {
    while let [a, b, c, kind, rest @ ..] = frames {
        if *kind == 0 {
            return true;
        }
        let length = usize::from(*a) << 16 | usize::from(*b) << 8 | usize::from(*c);
        frames = rest.get(5 + length..).unwrap_or_default();
    }
    false
}

#[tokio::test]
async fn it_is_not_sent_again_and_the_answer_is_unknown() {
    let etcd = etcd();
    let (proxy, direct) = (Proxy::start(&etcd).await, registry(&etcd));
    let through = registry_of(&connection(&options(&[proxy.address.clone(), etcd.address()])));
    assert_eq!(ring_in(through.perform(&Request::ReadRing).await), None);

    proxy.cut_at_next_answer();
    let answer = soon(through.perform(&swap_ring(None, &ring(1)))).await;
    // It is written. To say that it was refused would be wrong.
    assert_eq!(answer, Answer::Unknown);
    let read = ring_in(direct.perform(&Request::ReadRing).await).expect("a ring");
    assert_eq!(ring_in(through.perform(&Request::ReadRing).await), Some(read));
}

#[tokio::test]
async fn a_read_is_sent_again() {
    let etcd = etcd();
    let proxy = Proxy::start(&etcd).await;
    let through = registry_of(&connection(&options(std::slice::from_ref(&proxy.address))));
    let version = written(through.perform(&swap_ring(None, &ring(1))).await);
    proxy.cut_at_next_answer();
    let read = ring_in(soon(through.perform(&Request::ReadRing)).await);
    assert_eq!(read.map(|ring| ring.version), Some(version));
    written(through.perform(&swap_lease("a", None, lease(1, true))).await);
}
