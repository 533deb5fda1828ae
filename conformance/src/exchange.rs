//! A request as it goes out, and an answer as it comes back.

use serde_json::Value;

/// A request, ready to be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// `GET`
    pub method: String,
    /// The path with its query, percent-encoded.
    pub path: String,
    /// All headers but those of the transport.
    pub headers: Vec<(String, String)>,
    /// The body; empty for none.
    pub body: Vec<u8>,
}

/// What a server answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub code: u16,
    /// The headers, in their order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Sent {
    /// The first header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }
}

impl Answer {
    /// The first header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// All headers of this name.
    pub fn headers_named(&self, name: &str) -> impl Iterator<Item = &str> {
        self.headers
            .iter()
            .filter(move |(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| &**value)
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as data, if it is JSON or says that it is YAML.
    pub fn value(&self) -> Option<Value> {
        let text = self.text();
        let yaml = self.header("Content-Type").is_some_and(|kind| kind.starts_with("application/yaml"));
        if yaml { serde_saphyr::from_str(&text).ok() } else { serde_json::from_str(&text).ok() }
    }
}

fn find<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
}
