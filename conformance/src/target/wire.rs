//! HTTP/1.1 over TLS as the scripts need it: whatever they say goes out as it stands.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::access::Access;
use crate::exchange::{Answer, Sent};

/// A server that says nothing for so long has forgotten us.
const SILENCE_MAX: Duration = Duration::from_secs(90);

/// Where to connect to, and whom to trust there.
#[derive(Clone)]
pub(super) struct Address {
    port: u16,
    tls: Arc<ClientConfig>,
}

impl Address {
    pub(super) fn of(access: &Access) -> Result<Self> {
        let port = access.url.strip_prefix("https://127.0.0.1:").and_then(|port| port.parse().ok());
        let port = port.with_context(|| format!("{} is not on the loopback interface", access.url))?;
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(access.ca_pem.as_bytes()) {
            roots.add(certificate.context("the authority's certificate is not PEM")?)?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let tls = Arc::new(tls.with_root_certificates(roots).with_no_client_auth());
        Ok(Address { port, tls })
    }
}

/// A connection that is used for one request after the other.
pub(super) struct Connection {
    stream: BufReader<StreamOwned<ClientConnection, TcpStream>>,
}

/// How much of an answer's body is still to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// So many bytes.
    Bytes(usize),
    /// Chunks, each with its length; so many bytes are left of the one at hand.
    Chunks(usize),
    /// All until the server closes the connection.
    UntilClosed,
}

impl Connection {
    pub(super) fn open(address: &Address) -> Result<Self> {
        let socket = TcpStream::connect((Ipv4Addr::LOCALHOST, address.port)).context("cannot connect")?;
        socket.set_read_timeout(Some(SILENCE_MAX))?;
        socket.set_nodelay(true)?;
        let name = ServerName::try_from("127.0.0.1").context("an address is a name")?;
        let tls = ClientConnection::new(address.tls.clone(), name)?;
        Ok(Connection { stream: BufReader::new(StreamOwned::new(tls, socket)) })
    }

    /// Sends a request and reads the head of its answer.
    pub(super) fn send(&mut self, sent: &Sent) -> Result<(Answer, Rest)> {
        let mut head = format!("{} {} HTTP/1.1\r\nHost: 127.0.0.1\r\n", sent.method, sent.path);
        for (name, value) in &sent.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !sent.body.is_empty() || matches!(sent.method.as_str(), "POST" | "PUT" | "PATCH") {
            head.push_str(&format!("Content-Length: {}\r\n", sent.body.len()));
        }
        head.push_str("\r\n");
        // In one piece, as clients do: otherwise the server is woken twice.
        let mut message = head.into_bytes();
        message.extend_from_slice(&sent.body);
        let stream = self.stream.get_mut();
        // A server may answer and close before it has read all: then what it says counts, not this.
        let _ = stream.write_all(&message).and_then(|()| stream.flush());
        let answer = self.read_head()?;
        let rest = rest_of(&sent.method, &answer);
        Ok((answer, rest))
    }

    fn read_head(&mut self) -> Result<Answer> {
        let first = self.read_line()?.context("the server closed the connection")?;
        let code = first.split(' ').nth(1).and_then(|code| code.parse().ok());
        let mut answer =
            Answer { code: code.with_context(|| format!("not HTTP: {first}"))?, ..Answer::default() };
        while let Some(line) = self.read_line()?.filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').with_context(|| format!("not a header: {line}"))?;
            answer.headers.push((name.trim().to_owned(), value.trim().to_owned()));
        }
        Ok(answer)
    }

    /// A line without its end; `None` at the end of the connection.
    fn read_line(&mut self) -> Result<Option<String>> {
        let mut line = Vec::new();
        let count = self.stream.read_until(b'\n', &mut line).context("the server says nothing")?;
        if count == 0 {
            return Ok(None);
        }
        Ok(Some(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned()))
    }

    /// Reads some more of a body; `None` if that was all.
    pub(super) fn read_some(&mut self, rest: &mut Rest) -> Result<Option<Vec<u8>>> {
        if *rest == Rest::Chunks(0) {
            let Some(line) = self.read_line()? else { return Ok(None) };
            let size = usize::from_str_radix(line.trim(), 16);
            let size = size.with_context(|| format!("not the length of a chunk: {line}"))?;
            if size == 0 {
                self.read_line()?;
                *rest = Rest::Bytes(0);
                return Ok(None);
            }
            *rest = Rest::Chunks(size);
        }
        let wanted = match *rest {
            Rest::Bytes(0) => return Ok(None),
            Rest::Bytes(left) | Rest::Chunks(left) => left.min(64 * 1024),
            Rest::UntilClosed => 64 * 1024,
        };
        let mut bytes = vec![0; wanted];
        let count = match self.stream.read(&mut bytes) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::UnexpectedEof && *rest == Rest::UntilClosed => 0,
            Err(error) => return Err(error).context("the server says nothing"),
        };
        bytes.truncate(count);
        match rest {
            Rest::UntilClosed => return Ok((count > 0).then_some(bytes)),
            _ if count == 0 => bail!("the server closed the connection in the middle of an answer"),
            Rest::Bytes(left) => *left -= count,
            Rest::Chunks(left) => {
                *left -= count;
                if *left == 0 {
                    self.read_line()?;
                }
            }
        }
        Ok(Some(bytes))
    }
}

fn rest_of(method: &str, answer: &Answer) -> Rest {
    if method == "HEAD" || answer.code == 204 || answer.code == 304 {
        return Rest::Bytes(0);
    }
    if answer.header("Transfer-Encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
        return Rest::Chunks(0);
    }
    match answer.header("Content-Length").and_then(|length| length.parse().ok()) {
        Some(length) => Rest::Bytes(length),
        None => Rest::UntilClosed,
    }
}
