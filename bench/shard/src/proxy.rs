//! A proxy that counts what an API server sends to those who watch or list ConfigMaps.
//!
//! It speaks plain HTTP/1.1 to its clients, and TLS to the server. A client sends no request before it has the whole answer
//! to the one before, so all that comes belongs to the last request.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use anyhow::{Context, Result};
use conformance::access::Access;
use conformance::process::Folder;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;

/// What was counted.
#[derive(Default)]
struct Counted {
    bytes: AtomicU64,
    requests: AtomicU64,
}

/// A running proxy.
pub(crate) struct Proxy {
    counted: Arc<Counted>,
    folder: Folder,
    _runtime: tokio::runtime::Runtime,
}

impl Proxy {
    /// Starts one in front of a server.
    pub(crate) fn start(access: &Access) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let upstream: SocketAddr = access.url.trim_start_matches("https://").parse().context("an address")?;
        let connector = connector(access)?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let (address, counted) = (listener.local_addr()?, Arc::new(Counted::default()));
        let counter = counted.clone();
        runtime.spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (connector, counter) = (connector.clone(), counter.clone());
                // A connection that fails is one that its client opens again.
                tokio::spawn(async move { pass(client, upstream, connector, counter).await.ok() });
            }
        });
        let folder = Folder::new("bench-proxy")?;
        std::fs::write(folder.path().join("kubeconfig"), kubeconfig(address, &access.token))?;
        Ok(Proxy { counted, folder, _runtime: runtime })
    }

    /// A kubeconfig that leads through it.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// The bytes that were counted up to now.
    pub(crate) fn bytes(&self) -> u64 {
        self.counted.bytes.load(Ordering::Relaxed)
    }

    /// Number of lists and watches that were asked for up to now.
    pub(crate) fn requests(&self) -> u64 {
        self.counted.requests.load(Ordering::Relaxed)
    }
}

fn connector(access: &Access) -> Result<TlsConnector> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(access.ca_pem.as_bytes()) {
        roots.add(certificate.context("the authority's certificate is not PEM")?)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(TlsConnector::from(Arc::new(tls.with_root_certificates(roots).with_no_client_auth())))
}

fn kubeconfig(address: SocketAddr, token: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: bench\n\
         clusters:\n- name: bench\n  cluster:\n    server: http://{address}\n\
         users:\n- name: bench\n  user:\n    token: {token}\n\
         contexts:\n- name: bench\n  context:\n    cluster: bench\n    user: bench\n"
    )
}

/// Passes on what comes over a connection, in both directions, until one of them ends.
async fn pass(
    client: TcpStream,
    upstream: SocketAddr,
    connector: TlsConnector,
    counter: Arc<Counted>,
) -> Result<()> {
    let server = TcpStream::connect(upstream).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let server = connector.connect(ServerName::try_from("127.0.0.1")?, server).await?;
    let (from_server, to_server) = tokio::io::split(server);
    let (from_client, to_client) = client.into_split();
    let counts = AtomicBool::new(false);
    tokio::select! {
        ended = requests(from_client, to_server, &counts, &counter) => ended,
        ended = answers(from_server, to_client, &counts, &counter) => ended,
    }
}

/// Passes on requests one by one, and notes whether the answer to each is to be counted.
async fn requests(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    counts: &AtomicBool,
    counter: &Counted,
) -> Result<()> {
    let mut buffer = Vec::new();
    loop {
        let Some(head) = head_length(&buffer) else {
            if from.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
            continue;
        };
        let text = String::from_utf8_lossy(&buffer[..head]).into_owned();
        let length = head + body_length(&text);
        while buffer.len() < length {
            if from.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        }
        let is_counted = reads_children(&text);
        counts.store(is_counted, Ordering::Relaxed);
        counter.requests.fetch_add(u64::from(is_counted), Ordering::Relaxed);
        to.write_all(&buffer[..length]).await?;
        to.flush().await?;
        buffer.drain(..length);
    }
}

async fn answers(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    counts: &AtomicBool,
    counter: &Counted,
) -> Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = from.read(&mut buffer).await?;
        if count == 0 {
            return Ok(());
        }
        if counts.load(Ordering::Relaxed) {
            counter.bytes.fetch_add(count as u64, Ordering::Relaxed);
        }
        to.write_all(&buffer[..count]).await?;
    }
}

/// The length of a head with the empty line at its end, if it is all there.
fn head_length(buffer: &[u8]) -> Option<usize> {
    buffer.windows(4).position(|four| four == b"\r\n\r\n").map(|place| place + 4)
}

fn body_length(head: &str) -> usize {
    let lengths = head.lines().filter_map(|line| line.split_once(':'));
    let mut lengths = lengths.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    lengths.next().and_then(|(_, length)| length.trim().parse().ok()).unwrap_or(0)
}

/// Whether a request lists or watches ConfigMaps.
fn reads_children(head: &str) -> bool {
    let mut words = head.split_whitespace();
    let (method, target) = (words.next(), words.next().unwrap_or_default());
    let path = target.split('?').next().unwrap_or_default();
    method == Some("GET") && path.ends_with("/configmaps")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watches_and_lists_of_children_are_counted() {
        for (request, expected) in [
            ("GET /api/v1/configmaps?watch=true HTTP/1.1\r\n", true),
            ("GET /api/v1/namespaces/default/configmaps HTTP/1.1\r\n", true),
            ("GET /api/v1/namespaces/default/configmaps/a HTTP/1.1\r\n", false),
            ("POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\n", false),
            ("GET /apis/example.windlass.dev/v1/pairs?watch=true HTTP/1.1\r\n", false),
        ] {
            assert_eq!(reads_children(request), expected, "{request}");
        }
    }

    #[test]
    fn requests_are_cut_where_they_end() {
        let request = "PATCH /a HTTP/1.1\r\nHost: b\r\nContent-Length: 3\r\n\r\nabcGET";
        let head = head_length(request.as_bytes()).unwrap();
        assert_eq!(&request[head + body_length(&request[..head])..], "GET");
        assert_eq!(head_length(b"GET / HTTP/1.1\r\n"), None);
    }
}
