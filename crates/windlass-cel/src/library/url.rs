//! URLs, parsed as Go's `net/url` parses them.

use std::collections::BTreeMap;
use std::fmt;

use super::{Arguments, Opaque, Outcome, Table};
use crate::error::EvalError;
use crate::value::{Key, Text, Value};

pub(super) const FUNCTIONS: Table = &[
    ("url", url),
    ("isURL", is_url),
    ("getScheme", scheme),
    ("getHost", host),
    ("getHostname", hostname),
    ("getPort", port),
    ("getEscapedPath", escaped_path),
    ("getQuery", query),
];

/// The parts of a URL that expressions can ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    text: String,
    scheme: String,
    host: String,
    path: String,
    query: String,
}

/// The part of a URL in which an escape stands. It decides which bytes may be escaped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Component {
    Path,
    Host,
    Zone,
    User,
    Query,
}

impl Url {
    /// An absolute URL or an absolute path. The error is worded as Go words it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let parse_error = |reason: String| format!("parse {text:?}: {reason}");
        // Kubernetes checks the text as a request URI, in which `#` starts no fragment.
        Self::parse_as(text, true).map_err(parse_error)?;
        let without_fragment = text.split_once('#').map_or(text, |(before, _)| before);
        Self::parse_as(without_fragment, false).map_err(parse_error)
    }

    /// A request URI that starts with two slashes is a path; elsewhere a host follows them.
    fn parse_as(text: &str, request: bool) -> Result<Self, String> {
        if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        if text.is_empty() {
            return Err("empty url".to_owned());
        }
        let mut url = Url {
            text: text.to_owned(),
            scheme: String::new(),
            host: String::new(),
            path: String::new(),
            query: String::new(),
        };
        if text == "*" {
            "*".clone_into(&mut url.path);
            return Ok(url);
        }
        let (scheme, rest) = split_scheme(text)?;
        url.scheme = scheme.to_ascii_lowercase();
        let (mut rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        query.clone_into(&mut url.query);
        if !rest.starts_with('/') {
            // A path without a root is opaque: `mailto:joe@example.com`.
            return if scheme.is_empty() { Err("invalid URI for request".to_owned()) } else { Ok(url) };
        }
        if (!scheme.is_empty() || !request && !rest.starts_with("///"))
            && let Some(after) = rest.strip_prefix("//")
        {
            let authority_end = after.find('/').unwrap_or(after.len());
            let (authority, path) = after.split_at(authority_end);
            url.host = parse_authority(authority)?;
            rest = path;
        }
        url.path = escape_path(rest)?;
        Ok(url)
    }

    fn hostname(&self) -> &str {
        let host = split_port(&self.host).0;
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn split_scheme(text: &str) -> Result<(&str, &str), String> {
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if index > 0 => {}
            b':' if index == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => return Ok((&text[..index], &text[index + 1..])),
            _ => return Ok(("", text)),
        }
    }
    Ok(("", text))
}

fn parse_authority(authority: &str) -> Result<String, String> {
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    let host = parse_host(host)?;
    if let Some(user) = user {
        let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
        if !user.bytes().all(valid) {
            return Err("net/url: invalid userinfo".to_owned());
        }
        unescape(user, Component::User)?;
    }
    Ok(host)
}

fn parse_host(host: &str) -> Result<String, String> {
    match host.rfind('[') {
        Some(0) => return parse_ip_literal(host),
        Some(_) => return Err("invalid IP-literal".to_owned()),
        None => {}
    }
    if let Some(colon) = host.rfind(':') {
        check_port(&host[colon..])?;
    }
    unescape(host, Component::Host)
}

fn parse_ip_literal(host: &str) -> Result<String, String> {
    let Some(end) = host.rfind(']') else { return Err("missing ']' in host".to_owned()) };
    check_port(&host[end + 1..])?;
    let inner = &host[1..end];
    let (address, zone) = inner.split_at(inner.find("%25").unwrap_or(inner.len()));
    let address = unescape(address, Component::Host)?;
    let zone = unescape(zone, Component::Zone)?;
    if address.parse::<std::net::Ipv6Addr>().is_err() {
        return Err(format!("invalid host: ParseAddr({:?}): unable to parse IP", format!("{address}{zone}")));
    }
    Ok(format!("[{address}{zone}]{}", &host[end + 1..]))
}

/// Nothing, or a colon and digits.
fn check_port(text: &str) -> Result<(), String> {
    let valid = match text.strip_prefix(':') {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_digit()),
        None => text.is_empty(),
    };
    if valid { Ok(()) } else { Err(format!("invalid port {text:?} after host")) }
}

fn split_port(host: &str) -> (&str, &str) {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (name, port),
        _ => (host, ""),
    }
}

/// Resolves escapes, and refuses those that the component does not allow.
fn unescape(text: &str, component: Component) -> Result<String, String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while let Some(byte) = bytes.get(index) {
        match byte {
            b'%' => {
                let shown = text.get(index..).map_or("%", |rest| rest.get(..3).unwrap_or(rest));
                let code = bytes
                    .get(index + 1..index + 3)
                    .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))
                    .and_then(|digits| std::str::from_utf8(digits).ok())
                    .and_then(|digits| u8::from_str_radix(digits, 16).ok())
                    .ok_or_else(|| format!("invalid URL escape {shown:?}"))?;
                // A host may escape only bytes beyond ASCII, and in a zone the percent sign.
                let forbidden = match component {
                    Component::Host => code < 0x80,
                    Component::Zone => code != b'%' && code != b' ' && needs_escape(code, Component::Host),
                    _ => false,
                };
                if forbidden {
                    return Err(format!("invalid URL escape {shown:?}"));
                }
                out.push(code);
                index += 3;
                continue;
            }
            b'+' if component == Component::Query => out.push(b' '),
            byte if matches!(component, Component::Host | Component::Zone)
                && byte.is_ascii()
                && needs_escape(*byte, component) =>
            {
                return Err(format!("invalid character {:?} in host name", char::from(*byte).to_string()));
            }
            byte => out.push(*byte),
        }
        index += 1;
    }
    Ok(String::from_utf8_lossy(&out).into_owned())
}

fn needs_escape(byte: u8, component: Component) -> bool {
    if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
        return false;
    }
    match component {
        Component::Host | Component::Zone => !b"!$&'()*+,;=:[]<>\"".contains(&byte),
        _ => !b"$&+,/:;=@".contains(&byte),
    }
}

/// The path as it is written if that is a valid escaping, else escaped.
fn escape_path(path: &str) -> Result<String, String> {
    unescape(path, Component::Path)?;
    let valid = |byte: u8| b"!$&'()*+,;=:@[]%".contains(&byte) || !needs_escape(byte, Component::Path);
    if path.bytes().all(valid) {
        return Ok(path.to_owned());
    }
    let mut escaped = String::with_capacity(path.len());
    for byte in unescape_bytes(path) {
        if needs_escape(byte, Component::Path) {
            escaped.push_str(&format!("%{byte:02X}"));
        } else {
            escaped.push(char::from(byte));
        }
    }
    Ok(escaped)
}

/// The bytes of a path whose escapes are known to be well-formed.
fn unescape_bytes(path: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len());
    let mut bytes = path.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digits: String = bytes.by_ref().take(2).map(char::from).collect();
        out.push(u8::from_str_radix(&digits, 16).unwrap_or(b'%'));
    }
    out
}

fn receiver(call: &mut Arguments<'_, '_>) -> Result<Url, EvalError> {
    call.budget.charge(1)?;
    match &*call.opaque(0)? {
        Opaque::Url(url) => Ok(url.clone()),
        _ => Err(EvalError::no_overload()),
    }
}

fn url<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let text = call.text(0)?;
    call.charge_walk(0)?;
    call.budget.work(text.len())?;
    Url::parse(&text).map(|url| Value::opaque(Opaque::Url(url))).map_err(|reason| {
        EvalError::failed(format!("URL parse error during conversion from string: {reason}"))
    })
}

fn is_url<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let text = call.text(0)?;
    call.budget.charge(1)?;
    call.budget.work(text.len())?;
    Ok(Value::Bool(Url::parse(&text).is_ok()))
}

fn scheme<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let url = receiver(call)?;
    call.made(url.scheme)
}

fn host<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let url = receiver(call)?;
    call.made(url.host)
}

fn hostname<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let url = receiver(call)?;
    call.made(url.hostname().to_owned())
}

fn port<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let url = receiver(call)?;
    call.made(split_port(&url.host).1.to_owned())
}

fn escaped_path<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let url = receiver(call)?;
    call.made(url.path)
}

fn query<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let url = receiver(call)?;
    let mut found: BTreeMap<String, Vec<Value<'a>>> = BTreeMap::new();
    // A pair with a semicolon or a broken escape is dropped, as Go does.
    for pair in url.query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if let (Ok(key), Ok(value)) = (unescape(key, Component::Query), unescape(value, Component::Query)) {
            call.budget.work(pair.len() + size_of::<Value<'_>>())?;
            found.entry(key).or_default().push(Value::text(value));
        }
    }
    let entries = found.into_iter().map(|(key, values)| {
        let key = Key::String(Text::Shared(key.into()));
        (key, Value::list(values))
    });
    Ok(Value::map(entries.collect()))
}
