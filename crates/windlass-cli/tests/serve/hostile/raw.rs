//! A connection over which a test sends any bytes.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::eventually::TIMEOUT;
use crate::served::Served;

pub(super) struct Raw {
    stream: TcpStream,
    token: String,
    read: Vec<u8>,
}

impl Raw {
    pub(super) async fn connect(served: &Served) -> Raw {
        let (_, address) = served.url().split_once("://").expect("a URL");
        let stream = TcpStream::connect(address).await.expect("it listens");
        Raw { stream, token: token(served), read: Vec::new() }
    }

    /// The head of a request with a good token.
    pub(super) fn head(&self, method: &str, path: &str, extra: &str) -> String {
        let token = &self.token;
        format!("{method} {path} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {token}\r\n{extra}\r\n")
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    pub(super) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        assert!(self.try_send(bytes).await, "the server does not take it");
    }

    /// Says whether the server took it.
    pub(super) async fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        let sent = timeout(TIMEOUT, self.stream.write_all(bytes.as_ref())).await;
        sent.expect("the server takes it or hangs up").is_ok()
    }

    /// Sends no more, but still reads.
    pub(super) async fn close_half(&mut self) {
        let _ = self.stream.shutdown().await;
    }

    /// Code and body of the next answer that has a length.
    pub(super) async fn answer(&mut self) -> (u16, String) {
        self.try_answer().await.expect("an answer")
    }

    /// The next answer, or nothing if the server hangs up.
    pub(super) async fn try_answer(&mut self) -> Option<(u16, String)> {
        let head_end = loop {
            match self.read.windows(4).position(|window| window == b"\r\n\r\n") {
                Some(end) => break end + 4,
                None => self.read_more().await?,
            }
        };
        let head = String::from_utf8_lossy(&self.read[..head_end]).to_lowercase();
        let code = head.split(' ').nth(1)?.parse().ok()?;
        let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
        let length: usize = length.and_then(|length| length.parse().ok()).unwrap_or(0);
        while self.read.len() < head_end + length {
            self.read_more().await?;
        }
        let body = String::from_utf8_lossy(&self.read[head_end..head_end + length]).into_owned();
        self.read.drain(..head_end + length);
        Some((code, body))
    }

    async fn read_more(&mut self) -> Option<()> {
        let mut bytes = [0; 16 * 1024];
        let read = timeout(TIMEOUT, self.stream.read(&mut bytes)).await.expect("an answer in time");
        let read = read.ok().filter(|read| *read > 0)?;
        self.read.extend_from_slice(&bytes[..read]);
        Some(())
    }

    /// The next frame of HTTP/2: its kind, its flags and what is in it; nothing if the server hangs up.
    pub(super) async fn frame(&mut self) -> Option<(u8, u8, Vec<u8>)> {
        const HEAD_BYTES: usize = 9;
        loop {
            if let [high, middle, low, kind, flags, ..] = self.read[..] {
                let end = HEAD_BYTES + u32::from_be_bytes([0, high, middle, low]) as usize;
                if self.read.len() >= end {
                    let frame: Vec<u8> = self.read.drain(..end).skip(HEAD_BYTES).collect();
                    return Some((kind, flags, frame));
                }
            }
            self.read_more().await?;
        }
    }

    /// Everything up to the end.
    pub(super) async fn all(mut self) -> String {
        while self.read_more().await.is_some() {}
        String::from_utf8_lossy(&self.read).into_owned()
    }

    /// Waits until the server hangs up, and reads on until then.
    pub(super) async fn ends(mut self) {
        let mut bytes = [0; 16 * 1024];
        let end = async { while self.stream.read(&mut bytes).await.is_ok_and(|read| read > 0) {} };
        timeout(TIMEOUT, end).await.expect("the server hangs up");
    }
}

fn token(served: &Served) -> String {
    let text = std::fs::read_to_string(served.kubeconfig()).expect("a kubeconfig");
    let token = text.split("token:").nth(1).and_then(|rest| rest.lines().next()).expect("a token in it");
    token.trim().trim_matches('"').to_owned()
}
