//! What each path answers.

use std::net::IpAddr;

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HOST};
use http::uri::Authority;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;

use super::{Check, Health};
use crate::operations::metrics::{self, Metrics};

const PLAIN: &str = "text/plain; charset=utf-8";

/// The answer to a request of `from`. Reading a body is never needed.
pub(super) fn answer<Body>(
    request: &Request<Body>,
    from: IpAddr,
    metrics: &Metrics,
    health: &dyn Health,
) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut refused =
            text(StatusCode::METHOD_NOT_ALLOWED, PLAIN, "only GET and HEAD are served\n".to_owned());
        refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refused;
    }
    let verbose = request.uri().query().is_some_and(asks_for_all);
    match request.uri().path() {
        "/metrics" => text(StatusCode::OK, metrics::CONTENT_TYPE, metrics.text()),
        "/readyz" => report("readyz", &health.readiness(), verbose),
        "/livez" => report("livez", &health.liveness(), verbose),
        "/healthz" => report("healthz", &health.liveness(), verbose),
        path => {
            if let Some(document) = health.document(path) {
                if !is_local(request, from) {
                    let why = "this shows what objects hold, so only this machine is answered, under a name of its own: use \
                               kubectl port-forward, or ask localhost\n";
                    return text(StatusCode::FORBIDDEN, PLAIN, why.to_owned());
                }
                return text(StatusCode::OK, "application/json", document);
            }
            let known = "/metrics, /healthz, /livez, /readyz and /debug/recordings";
            text(StatusCode::NOT_FOUND, PLAIN, format!("there is nothing at {path}, only {known}\n"))
        }
    }
}

/// Whether somebody on this machine asks, and means it: a page of somebody else's could have a browser ask under its own name.
fn is_local<Body>(request: &Request<Body>, from: IpAddr) -> bool {
    let is_own_name = |host: &str| {
        let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
        address.map_or(host == "localhost", |address| address.is_loopback())
    };
    let is_meant = match (request.headers().get(HOST), request.uri().host()) {
        (Some(said), _) => said
            .to_str()
            .is_ok_and(|said| said.parse::<Authority>().is_ok_and(|host| is_own_name(host.host()))),
        (None, Some(host)) => is_own_name(host),
        // No browser leaves it out.
        (None, None) => true,
    };
    from.is_loopback() && is_meant
}

/// Whether a query has `verbose` in it, with or without a value, as with kube-apiserver.
fn asks_for_all(query: &str) -> bool {
    query.split('&').any(|pair| pair.split('=').next() == Some("verbose"))
}

/// `ok`, or what is wrong; with all checks if they are asked for. The shape is that of kube-apiserver.
fn report(endpoint: &str, checks: &[Check], verbose: bool) -> Response<Full<Bytes>> {
    let fails = checks.iter().any(|check| check.problem.is_some());
    if !fails && !verbose {
        return text(StatusCode::OK, PLAIN, "ok".to_owned());
    }
    let mut lines = String::new();
    for Check { name, problem } in checks {
        match problem {
            None if verbose => lines += &format!("[+]{name} ok\n"),
            None => {}
            Some(problem) => lines += &format!("[-]{name} failed: {problem}\n"),
        }
    }
    let (code, outcome) =
        if fails { (StatusCode::SERVICE_UNAVAILABLE, "failed") } else { (StatusCode::OK, "passed") };
    text(code, PLAIN, format!("{lines}{endpoint} check {outcome}\n"))
}

fn text(code: StatusCode, content_type: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_for_this_machine_alone() {
        let local = |host: &str, from: &str| {
            let request = Request::builder().uri("/debug/recordings").header(HOST, host).body(()).unwrap();
            is_local(&request, from.parse().unwrap())
        };
        for host in ["localhost:8080", "localhost", "127.0.0.1:8080", "[::1]:8080"] {
            assert!(local(host, "127.0.0.1") && local(host, "::1"), "{host}");
            assert!(!local(host, "10.0.0.7"), "{host}");
        }
        for host in ["evil.example.com", "10.0.0.7:8080", "", "localhost.example.com:80"] {
            assert!(!local(host, "127.0.0.1"), "{host}");
        }
    }
}
