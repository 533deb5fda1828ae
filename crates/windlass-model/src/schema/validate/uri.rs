//! URIs as Go's `url.ParseRequestURI` reads them.

/// Whether a text is an absolute URI or an absolute path.
pub(super) fn is_request_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|byte| byte.is_ascii_control()) {
        return false;
    }
    if text == "*" {
        return true;
    }
    let Some((has_scheme, rest)) = split_scheme(text) else { return false };
    let rest = rest.split_once('?').map_or(rest, |(front, _)| front);
    if !rest.starts_with('/') {
        // `mailto:a@b`: what follows the scheme is opaque.
        return has_scheme;
    }
    match rest.strip_prefix("//").filter(|_| has_scheme) {
        Some(authority_and_path) => {
            let end = authority_and_path.find('/').unwrap_or(authority_and_path.len());
            let (authority, path) = authority_and_path.split_at_checked(end).unwrap_or(("", ""));
            is_authority(authority) && is_escaped(path)
        }
        None => is_escaped(rest),
    }
}

/// Whether there is a scheme, and what follows it; `None` for a colon with nothing before it.
fn split_scheme(text: &str) -> Option<(bool, &str)> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return None,
            b':' => return Some((true, text.get(at + 1..)?)),
            _ => break,
        }
    }
    Some((false, text))
}

fn is_authority(authority: &str) -> bool {
    let (user, host) =
        authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    let user_valid = user.is_none_or(|user| {
        user.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte))
            && is_escaped(user)
    });
    user_valid && is_host(host)
}

fn is_host(host: &str) -> bool {
    let is_port = |port: &str| {
        port.is_empty()
            || port.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if let Some(rest) = host.strip_prefix('[') {
        return rest.rsplit_once(']').is_some_and(|(address, port)| is_port(port) && is_host_text(address));
    }
    let port = host.rfind(':').and_then(|at| host.get(at..)).unwrap_or("");
    is_port(port) && is_host_text(host)
}

fn is_host_text(host: &str) -> bool {
    let allowed = |byte: u8| {
        byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"-_.~!$&'()*+,;=:[]<>\"%".contains(&byte)
    };
    // What has a plain form must be written in it.
    let escape = |after: &str| after.starts_with("25") || after.starts_with(|first: char| first > '7');
    host.bytes().all(allowed) && is_escaped(host) && host.split('%').skip(1).all(escape)
}

/// Whether every percent sign starts an escape.
fn is_escaped(text: &str) -> bool {
    text.split('%').skip(1).all(|after| {
        let code = after.as_bytes().get(..2).unwrap_or(b"");
        code.len() == 2 && code.iter().all(u8::is_ascii_hexdigit)
    })
}
