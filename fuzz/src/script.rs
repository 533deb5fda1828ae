//! Scripts: requests as text, one after the other, parted by lines of `%%`.

use crate::request::RawRequest;

/// Maximum number of requests in a script. More would only be slow.
const MAX_REQUESTS: usize = 32;

/// Reads a script. Every input is valid: what makes no sense becomes a request that makes none.
pub(crate) fn read(script: &[u8]) -> Vec<RawRequest> {
    let mut requests = Vec::new();
    let mut lines: Vec<&[u8]> = Vec::new();
    for line in script.split(|byte| *byte == b'\n').chain([b"%%".as_slice()]) {
        if line == b"%%" {
            requests.push(read_request(&lines));
            lines.clear();
        } else {
            lines.push(line);
        }
    }
    requests.truncate(MAX_REQUESTS);
    requests
}

/// Reads `METHOD /path?query`, then headers, then an empty line, then the body.
fn read_request(lines: &[&[u8]]) -> RawRequest {
    let (head, body) = match lines.iter().position(|line| line.is_empty()) {
        Some(end) => (lines.get(..end).unwrap_or_default(), lines.get(end + 1..).unwrap_or_default()),
        None => (lines, &[][..]),
    };
    let mut head = head.iter().map(|line| String::from_utf8_lossy(line));
    let first = head.next().unwrap_or_default();
    let (method, address) = first.split_once(' ').unwrap_or((&first, ""));
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    let mut request = RawRequest {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        body: body.join(&b'\n'),
        ..RawRequest::default()
    };
    for header in head {
        let (name, value) = header.split_once(": ").unwrap_or((&header, ""));
        let value = Some(value.to_owned());
        match name {
            "Content-Type" => request.content_type = value,
            "Accept" => request.accept = value,
            "User-Agent" => request.user_agent = value,
            _ => {}
        }
    }
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_read() {
        let script =
            b"POST /api/v1/namespaces?dryRun=All\nContent-Type: application/json\n\n{\n\xff}\n%%\nGET";
        let post = RawRequest {
            method: "POST".to_owned(),
            path: "/api/v1/namespaces".to_owned(),
            query: "dryRun=All".to_owned(),
            content_type: Some("application/json".to_owned()),
            body: b"{\n\xff}".to_vec(),
            ..RawRequest::default()
        };
        let get = RawRequest { method: "GET".to_owned(), ..RawRequest::default() };
        assert_eq!(read(script), [post, get]);
        assert_eq!(read(&b"%%\n".repeat(1000)).len(), MAX_REQUESTS);
    }
}
