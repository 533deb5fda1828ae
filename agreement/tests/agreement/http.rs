//! Plain HTTP/1.1 to a server on this machine: one connection per request.

use std::net::SocketAddr;

use anyhow::Result;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::AbortHandle;
use windlass_model::http::Written;

/// A request, with all that can be sent again.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) accept: Option<String>,
    pub(crate) content_type: Option<String>,
    pub(crate) body: Bytes,
}

/// An answer that was read to its end.
#[derive(Clone, Debug)]
pub(crate) struct Answered {
    pub(crate) code: StatusCode,
    pub(crate) content_type: String,
    pub(crate) body: Bytes,
}

/// A server, and what it wants to see before it answers.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    pub(crate) token: Option<String>,
}

impl From<Written> for Sent {
    fn from(written: Written) -> Self {
        Sent {
            method: written.method.parse().expect("the model writes methods that exist"),
            target: written.target,
            accept: Some("application/json".to_owned()),
            content_type: written.content_type.map(str::to_owned),
            body: written.body.into(),
        }
    }
}

impl Sent {
    /// A read.
    pub(crate) fn get(target: &str) -> Self {
        let target = target.to_owned();
        Sent { method: Method::GET, target, accept: None, content_type: None, body: Bytes::new() }
    }

    /// The target without its query.
    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    pub(crate) fn is_write(&self) -> bool {
        self.method != Method::GET
    }
}

impl Target {
    /// Sends a request and reads the whole answer.
    pub(crate) async fn ask(&self, sent: &Sent) -> Result<Answered> {
        let (response, _) = self.open(sent).await?;
        let (head, body) = response.into_parts();
        let content_type = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        Ok(Answered {
            code: head.status,
            content_type: content_type.unwrap_or("application/json").to_owned(),
            body: body.collect().await?.to_bytes(),
        })
    }

    /// Sends a request; the body of the answer is still to come. The handle breaks the connection.
    pub(crate) async fn open(&self, sent: &Sent) -> Result<(Response<Incoming>, AbortHandle)> {
        let stream = TcpStream::connect(self.address).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let connection = tokio::spawn(async move { drop(connection.await) });
        let mut request = Request::builder().method(&sent.method).uri(&sent.target);
        request = request.header(HOST, self.address.to_string());
        let token = self.token.as_ref().map(|token| format!("Bearer {token}"));
        for (name, value) in
            [(ACCEPT, &sent.accept), (CONTENT_TYPE, &sent.content_type), (AUTHORIZATION, &token)]
        {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        let response = sender.send_request(request.body(Full::new(sent.body.clone()))?).await?;
        Ok((response, connection.abort_handle()))
    }
}
