//! A server that is reached over the network.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::wire::{Address, Connection, Rest};
use super::{Events, Session};
use crate::access::Access;
use crate::exchange::{Answer, Sent};

const PAUSE: Duration = Duration::from_millis(50);

/// A server, and who asks it.
pub struct HttpTarget {
    name: String,
    token: String,
    address: Address,
}

impl HttpTarget {
    /// A target for what can be reached so.
    ///
    /// # Errors
    /// If the address or the certificate makes no sense.
    pub fn new(name: &str, access: &Access) -> Result<Self> {
        Ok(HttpTarget { name: name.to_owned(), token: access.token.clone(), address: Address::of(access)? })
    }

    /// A new conversation.
    pub fn session(&self) -> HttpSession {
        HttpSession { token: self.token.clone(), address: self.address.clone(), connection: None }
    }

    /// The answer to a GET.
    ///
    /// # Errors
    /// If there is none.
    pub fn get(&self, path: &str) -> Result<Answer> {
        let sent = Sent { method: "GET".to_owned(), path: path.to_owned(), ..Sent::default() };
        self.session().send(&sent).with_context(|| format!("GET {path} from {}", self.name))
    }
}

/// A conversation over one connection, and one more for each watch.
pub struct HttpSession {
    token: String,
    address: Address,
    connection: Option<Connection>,
}

impl HttpSession {
    /// With the administrator's token, unless the script says who asks.
    fn authorized(&self, sent: &Sent) -> Sent {
        let mut sent = sent.clone();
        match sent.headers.iter().position(|(name, _)| name.eq_ignore_ascii_case("Authorization")) {
            // A script that wants to be nobody says so with an empty header.
            Some(place) if sent.headers[place].1.is_empty() => {
                sent.headers.remove(place);
            }
            Some(_) => {}
            None => sent.headers.push(("Authorization".to_owned(), format!("Bearer {}", self.token))),
        }
        sent
    }
}

impl Session for HttpSession {
    fn send(&mut self, sent: &Sent) -> Result<Answer> {
        let sent = self.authorized(sent);
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open(&self.address)?,
        };
        let (mut answer, mut rest) = connection.send(&sent)?;
        while let Some(bytes) = connection.read_some(&mut rest)? {
            answer.body.extend(bytes);
        }
        let closes = answer.header("Connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
        if rest == Rest::Bytes(0) && !closes {
            self.connection = Some(connection);
        }
        Ok(answer)
    }

    fn watch(&mut self, sent: &Sent) -> Result<(Answer, Option<Box<dyn Events>>)> {
        let mut connection = Connection::open(&self.address)?;
        let (mut answer, mut rest) = connection.send(&self.authorized(sent))?;
        if answer.code == 200 {
            let events = HttpEvents { connection, rest, come: Vec::new(), read: 0 };
            return Ok((answer, Some(Box::new(events))));
        }
        while let Some(bytes) = connection.read_some(&mut rest)? {
            answer.body.extend(bytes);
        }
        Ok((answer, None))
    }

    fn pause(&mut self) {
        thread::sleep(PAUSE);
    }
}

/// Events as lines of JSON.
struct HttpEvents {
    connection: Connection,
    rest: Rest,
    /// What has come, of which the first bytes are read already.
    come: Vec<u8>,
    read: usize,
}

impl HttpEvents {
    /// The next line; `None` at the end.
    fn line(&mut self) -> Result<Option<&[u8]>> {
        let mut searched = self.read;
        loop {
            if let Some(length) = self.come[searched..].iter().position(|byte| *byte == b'\n') {
                let (start, end) = (self.read, searched + length);
                self.read = end + 1;
                return Ok(Some(&self.come[start..end]));
            }
            self.come.drain(..self.read);
            self.read = 0;
            searched = self.come.len();
            match self.connection.read_some(&mut self.rest)? {
                Some(bytes) => self.come.extend(bytes),
                None => return Ok(None),
            }
        }
    }
}

impl Events for HttpEvents {
    fn next(&mut self) -> Result<Option<Value>> {
        let line = self.line()?;
        line.map(|line| serde_json::from_slice(line).context("an event is not JSON")).transpose()
    }

    fn skip(&mut self) -> Result<()> {
        self.line()?.map(drop).context("the watch is over")
    }
}
