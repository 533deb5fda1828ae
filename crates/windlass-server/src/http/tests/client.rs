//! A server, and a client that sends requests as the model writes them.

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use windlass_model::Request;
use windlass_model::http::{Written, write, write_watch};
use windlass_model::watch::WatchOptions;

use crate::{FeatureGates, Server, ServerOptions, TlsSource};

/// A server in memory, on loopback.
pub(crate) struct Connected {
    server: Server,
}

/// What comes back: HTTP/1.0 has no chunks, so the body is what follows, until the end.
pub(crate) struct Incoming {
    pub(crate) code: u16,
    body: BufReader<TcpStream>,
}

impl Connected {
    pub(crate) async fn start(gates: FeatureGates) -> Self {
        let options = ServerOptions { tls: TlsSource::Off, gates, ..ServerOptions::default() };
        Connected { server: Server::start(options).await.expect("a server on a free port") }
    }

    /// Sends a request, and returns the code and the body of the response.
    pub(crate) async fn request(&self, request: &Request) -> (u16, Value) {
        let mut incoming = self.send(&write(request)).await;
        let mut body = Vec::new();
        incoming.body.read_to_end(&mut body).await.unwrap();
        (incoming.code, serde_json::from_slice(&body).unwrap())
    }

    /// Begins a watch.
    pub(crate) async fn watch(&self, request: &Request, options: &WatchOptions) -> Incoming {
        self.send(&write_watch(request, options)).await
    }

    async fn send(&self, written: &Written) -> Incoming {
        let Written { method, target, content_type, body } = written;
        let token = self.server.kubeconfig().token.clone().unwrap_or_default();
        let (content_type, length) = (content_type.unwrap_or("application/json"), body.len());
        let text = format!(
            "{method} {target} HTTP/1.0\r\nAuthorization: Bearer {token}\r\nAccept: application/json\r\n\
             Content-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        let mut stream = TcpStream::connect(self.server.address()).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut incoming = Incoming { code: 0, body: BufReader::new(stream) };
        let status = incoming.line().await;
        incoming.code = status.split(' ').nth(1).unwrap().parse().unwrap();
        while !incoming.line().await.trim().is_empty() {}
        incoming
    }
}

impl Incoming {
    async fn line(&mut self) -> String {
        let mut line = String::new();
        self.body.read_line(&mut line).await.unwrap();
        line
    }

    /// The next event of a watch.
    pub(crate) async fn event(&mut self) -> Value {
        let line = self.line().await;
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("no event: {line:?}"))
    }
}
